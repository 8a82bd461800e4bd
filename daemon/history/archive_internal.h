/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by archive.c, which opens the file, and the files that write to it and delete from it. */
#ifndef DAEMON_HISTORY_ARCHIVE_INTERNAL_H
#define DAEMON_HISTORY_ARCHIVE_INTERNAL_H

#include <sqlite3.h>
#include <sys/types.h>

#include "daemon/history/archive.h"
#include "daemon/history/plan.h"

struct batch_record;

enum archive_statement {
	FIND_SERIES,
	ADD_SERIES,
	USE_SERIES,
	FIND_BUCKET,
	PUT_BUCKET,
	READ_BUCKETS,
	DELETE_BUCKETS,
	DELETE_RANGE,
	FIRST_OF_RANGE,
	DELETE_BUCKET,
	NEXT_BUCKET,
	LAST_BUCKET,
	SET_META,
	FIND_COVERAGE,
	ADD_COVERAGE,
	LAST_SPAN,
	LAST_ENDED,
	ADD_SPAN,
	EXTEND_SPAN,
	ADD_RECORD,
	DELETE_RECORDS,
	FIRST_RECORD,
	LAST_RECORD,
	FIND_INCIDENT,
	ADD_INCIDENT,
	OPEN_INCIDENT,
	COPY_BUCKETS,
	COPY_RECORDS,
	END_INCIDENT,
	OLDEST_INCIDENT,
	DELETE_INCIDENT_BUCKETS,
	DELETE_INCIDENT_RECORDS,
	DELETE_INCIDENT,
	DELETE_SPANS,
	DELETE_SERIES,
	DELETE_COVERAGE,
	ARCHIVE_STATEMENTS,
};

struct archive_bucket {
	int level, kind;
	int64_t time, series, weight;
};

struct archive {
	char path[ARCHIVE_PATH_MAX];
	sqlite3 *db;
	sqlite3_stmt *statement[ARCHIVE_STATEMENTS]; /* NULL: not prepared yet */
	struct archive_limits limits;
	struct plan_levels levels;
	uint64_t generation; /* of the rows of series */
	dev_t device;
	ino_t inode;
	int64_t begun_us;  /* of the first span; 0: there is none */
	int64_t time_s;	   /* of the last batch */
	int64_t expired_s; /* when nothing more was too old */
	/* Of the last batch: the boot of the host; the clock less CLOCK_BOOTTIME, and that. */
	int64_t boot, clock_us, up_us;
	int64_t present_us; /* by which things get old, see archive_clock.c; 0: not known */
	int log_pages;	    /* of the log, after the last transaction */
	bool shrinks;	    /* it was larger than it should be, and still is */
	bool moved;	    /* the last batch moved what was recorded before */
	bool first;	    /* nothing was written since it was opened */
	bool failed;	    /* it is corrupt */
};

/* Read begun_us: after spans came or went. */
void archive_read_begin(struct archive *archive);

sqlite3_stmt *archive_prepare(struct archive *archive, enum archive_statement which);
int archive_change(struct archive *archive, enum archive_statement which, int count,
		   const int64_t *number);
int archive_number(struct archive *archive, enum archive_statement which, int count,
		   const int64_t *number, int64_t *found, int64_t otherwise);
int archive_set_meta(struct archive *archive, const char *name, int level, int64_t value);
int archive_set_cut(struct archive *archive, int level, int64_t cut);

/* In a transaction: add to a bucket of the finest level, and to the coarser ones that are made from it already. */
int archive_add_bucket(struct archive *archive, const struct archive_bucket *bucket,
		       const uint8_t *bytes, size_t size);

/*
 * What the file knows of the host's clock; and before and after a batch, in its transaction: whether it was set, and
 * how much time has passed.
 */
int archive_read_clock(struct archive *archive);
int archive_before_batch(struct archive *archive, const struct batch *batch);
int archive_after_batch(struct archive *archive, const struct batch *batch);

/* In a transaction, results of SQLite: records, and the alerts among them that begin an incident. */
int archive_add_record(struct archive *archive, const struct batch *batch,
		       const struct batch_record *record);
int archive_begin_incident(struct archive *archive, const struct batch *batch,
			   const struct batch_record *record);
/*
 * Copy the minutes before each alert, as soon as everything that was counted before the alert is written.  `batch` is
 * the last one, and `time` its bucket.
 */
int archive_end_incidents(struct archive *archive, const struct batch *batch, int64_t time);
/* Delete incidents beyond their age, number and size. */
int archive_trim_incidents(struct archive *archive, int64_t now);

/*
 * Outside of a transaction: delete some of the oldest in any case, and give the log's room back.  -ENOSPC: there was
 * nothing to delete.
 */
int archive_make_room(struct archive *archive);
/* Move the log's pages to the file, and give its room back.  False: that was not possible. */
bool archive_empty_log(struct archive *archive);
/* Whether the file, not the disk, has no room for more. */
bool archive_at_bound(struct archive *archive);

#endif
