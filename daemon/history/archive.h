/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file of the history, for its one writer.  It blocks on the disk, so only the writer's thread calls it.
 *
 * Times come from the batches: this file reads no clock.
 */
#ifndef DAEMON_HISTORY_ARCHIVE_H
#define DAEMON_HISTORY_ARCHIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cleanup.h"

struct archive;
struct baseline;
struct batch;

#define ARCHIVE_FILE "history.db"
#define ARCHIVE_PATH_MAX 512
#define ARCHIVE_REASON_MAX 768

/* Incidents begin this long before their alert, and are kept for this many times the age of all others. */
#define ARCHIVE_INCIDENT_S 300
#define ARCHIVE_INCIDENT_AGES 4
#define ARCHIVE_INCIDENTS_MAX 100

struct archive_limits {
	uint64_t bytes; /* of the file and its log together, at least ARCHIVE_BYTES_MIN */
	int64_t age_s;	/* of what is kept */
};

#define ARCHIVE_BYTES_MIN (4u << 20)

struct archive_state {
	uint64_t file_bytes; /* of the file and its log */
	uint64_t used_bytes; /* of the pages in use */
	int64_t oldest_us; /* the first moment that was recorded and is kept, since 1970; 0: none is */
	int64_t level_s[4]; /* the oldest bucket of each resolution */
};

#define ARCHIVE_CORRUPT ".corrupt"
#define ARCHIVE_OLD ".old"

/*
 * Open or create the file in `directory`, which exists.  `set_aside` is the new name of a file that was corrupt or of
 * an older format, which ends in ARCHIVE_CORRUPT or ARCHIVE_OLD; empty: there was none.  Failures
 * fill `reason` (ARCHIVE_REASON_MAX bytes): -EPROTONOSUPPORT: the file is of a newer version, and stays as it is; or
 * another negative errno.  Free with archive_free().
 */
int archive_open(struct archive **archive, const char *directory,
		 const struct archive_limits *limits, char *set_aside, char *reason);
/* Close the file as one that is complete.  NULL-safe; sets *archive to NULL. */
void archive_free(struct archive **archive);
#define OWN_ARCHIVE CLEANUP(archive_free)

void archive_set_limits(struct archive *archive, const struct archive_limits *limits);

/*
 * Write a batch whole or not at all, and roll up what is complete.  -EBADMSG: the file is corrupt: free the archive and
 * open it again; or another negative errno, with the cause in `reason`.
 */
int archive_write(struct archive *archive, const struct batch *batch, char *reason);

/* Whether the last batch has moved what was recorded before, because the clock had been ahead. */
bool archive_has_moved(const struct archive *archive);

/*
 * Delete a little of what is too old or too much, which takes a few ms: after each batch, until it returns 0.  1: there
 * is more to delete; -EBADMSG as above; or another negative errno: try again after the next batch.
 */
int archive_tidy(struct archive *archive);

/*
 * Fill a baseline that has nothing yet with the time before `now_us`, since 1970.  It reads a row for each series of
 * drops and ten minutes of 26 hours, about a million per second.  -ENOMEM or another negative errno: the baseline then
 * lacks the rest.
 */
int archive_read_baseline(struct archive *archive, struct baseline *baseline, int64_t now_us);

/* False if the file was removed or replaced: free the archive and open it again. */
bool archive_is_there(const struct archive *archive);

void archive_state(const struct archive *archive, struct archive_state *state);

#endif
