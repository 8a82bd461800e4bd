/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Questions to the file of the history: a connection that only reads, for one question, in a thread of its own.  The
 * writer goes on while it reads.  What the file does not have yet comes as a batch.
 */
#ifndef DAEMON_HISTORY_READER_H
#define DAEMON_HISTORY_READER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "common/cleanup.h"
#include "common/map.h"
#include "common/texts.h"
#include "daemon/core/coverage.h"
#include "daemon/history/covered.h"
#include "daemon/history/series_name.h"

struct batch;
struct reader;

/* What a question is about.  Times are us since 1970. */
struct reader_request {
	const char *directory;
	int64_t since_us, until_us; /* since_us: or READER_BEGINNING */
	const struct batch *live;   /* what came after the last batch; NULL: not asked for */
	uint64_t batch;		    /* the last batch; 0: none was sent */
	uint64_t deadline_ns;	    /* CLOCK_MONOTONIC; a question that takes longer fails */
	const atomic_bool *cancel;  /* true: it fails at once; NULL: it cannot be cancelled */
};

/* As `since_us`: from the beginning of the history. */
#define READER_BEGINNING INT64_MIN

/* The reason of a gap; READER_UNKNOWN: netflowd did not run, or could not write, or the clock was set. */
enum reader_gap { READER_UNKNOWN, READER_PAUSED };

/* Steps of the clock that are listed: the newest. */
#define READER_STEPS 16

struct reader_step {
	int64_t at_us, by_us; /* the time after it */
};

/* The time that an answer is about. */
struct reader_period {
	int64_t since_us; /* that was asked for; the beginning of the history if that was asked for */
	int64_t until_us; /* and what is later than the newest reading is still to come */
	int64_t begun_us; /* where the history begins; until_us if it has nothing */
	/* Of the buckets that count: from the first one's start, or the beginning of the history, to the last one's
	 * end. */
	int64_t from_us, to_us;
	int64_t step_s; /* the coarsest bucket at an end */
	struct reader_step
		step[READER_STEPS]; /* of the clock, from since_us to until_us, newest first */
	size_t steps;
	struct covered asked;	/* from since_us to until_us */
	struct covered counted; /* from from_us to to_us */
	/* If nothing of what was asked for is covered: where recorded time ends before it, and begins after it; 0:
	 * nowhere. */
	int64_t before_us, after_us;
	struct coverage coverage; /* what could not be seen in these times */
};

void reader_period_clear(struct reader_period *period);

/* Series of one name and their values, see series.h. */
struct reader_row {
	struct series_name name;
	uint64_t *value;
	uint32_t weight;
};

struct reader_rows {
	size_t width, count, room;
	struct reader_row *row;
	struct texts texts; /* of the names */
	struct map map;
};

void reader_rows_clear(struct reader_rows *rows);
#define OWN_READER_ROWS CLEANUP(reader_rows_clear)

/* The row of a name, whose texts are borrowed, new ones with zeros; NULL: no memory. */
struct reader_row *reader_rows_find(struct reader_rows *rows, const struct series_name *name);

/*
 * A record, or the text of an event, which is borrowed.  0 or a negative errno, which ends the question; -EBADMSG
 * leaves it out.
 */
typedef int (*reader_take)(int64_t time_us, const void *body, size_t size, void *userdata);

/*
 * Open the file as it is now.  -EAGAIN: it has newer batches than the request: make that again; -ENOENT: there is no
 * file; -ETIMEDOUT: the deadline passed; or another negative errno.  Free with reader_free().
 */
int reader_open(struct reader **reader, const struct reader_request *request);
void reader_free(struct reader **reader);
#define OWN_READER CLEANUP(reader_free)

/*
 * The period that the numbers of the request cover; `records`: that its records cover, which are deleted earlier.  The
 * caller clears it.
 */
int reader_period(struct reader *reader, bool records, struct reader_period *period);

/*
 * Leave the part of a series' name that its row has: series with equal parts are summed up.  False: the series is not
 * wanted.  `full`: there are READER_ROWS_MAX rows, and none of this part, so it must be one of few.
 */
typedef bool (*reader_project)(struct series_name *name, bool full, void *userdata);

/* Rows of an answer until they are joined further. */
#define READER_ROWS_MAX 8192

/* Where the numbers of series go. */
struct reader_sink {
	/*
	 * Called once for each series: set *place to what add() shall get for it, or to READER_NOWHERE.  `name` is
	 * borrowed, see series_name.h.  0 or a negative errno, which ends the question; -EBADMSG leaves out the series.
	 */
	int (*place)(const uint8_t *name, size_t size, size_t *place, void *userdata);
	/* A vector of the series.  0 or a negative errno, which ends the question; -EBADMSG leaves out the vector. */
	int (*add)(size_t place, uint32_t weight, const uint8_t *bytes, size_t size,
		   void *userdata);
	void *userdata;
};
#define READER_NOWHERE SIZE_MAX

/* Give all series of a kind to the sink. */
int reader_read(struct reader *reader, int kind, const struct reader_sink *sink);

/* The sums of all wanted series of a kind; `project` NULL: a row for each.  `rows` is empty before. */
int reader_sums(struct reader *reader, int kind, reader_project project, void *userdata,
		struct reader_rows *rows);

/* Give all records of a kind, the newest first. */
int reader_records(struct reader *reader, int kind, reader_take take, void *userdata);

/* Whether series, vectors or records were left out because they are not valid: the file was damaged. */
bool reader_is_damaged(const struct reader *reader);

/* ---- incidents ------------------------------------------------------------------ */

/* Append the incidents since the time of the request, oldest first. */
int reader_incidents(struct reader *reader, json_t *incidents);
/* From now on, numbers and records are those of this incident.  -ENODATA: there is none; *incident is set. */
int reader_use_incident(struct reader *reader, int64_t id, json_t **incident);

#endif
