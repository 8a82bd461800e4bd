/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The thread that writes the history.  The loop gives it batches and goes on; only this thread waits for the disk.
 * When the disk is slower than the batches come, those that do not fit are dropped and counted: they become a gap.
 */
#ifndef DAEMON_HISTORY_WRITER_H
#define DAEMON_HISTORY_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/history/archive.h"

struct baseline_view;
struct batch;
struct writer;

/* Batches that can wait, and their memory. */
#define WRITER_BATCHES 64
#define WRITER_BYTES (8u << 20)

enum writer_phase {
	WRITER_STARTING, /* the file is being opened */
	WRITER_WRITING,
	WRITER_FAILING, /* the last batch was not written; the next one is tried */
	WRITER_STOPPED, /* the file is of a newer version: nothing is written */
};

struct writer_status {
	enum writer_phase phase;
	char reason[ARCHIVE_REASON_MAX]; /* why it fails or stopped */
	char set_aside
		[ARCHIVE_REASON_MAX]; /* the last corrupt file's new name; empty: there was none */
	uint64_t written;	      /* batches */
	uint64_t lost, lost_records;  /* batches that were not written, and records in them */
	uint64_t waiting;	      /* batches */
	int64_t written_us; /* the end of the last one that was written, since 1970; 0: none */
	struct archive_state archive;
};

/* `directory` is copied.  Returns 0 or a negative errno. */
int writer_new(struct writer **writer, const char *directory, const struct archive_limits *limits);
/* Write what waits, and close the file. */
void writer_free(struct writer **writer);

/* Give a batch to the thread, which frees it.  False: there was no room, and it was dropped. */
bool writer_push(struct writer *writer, struct batch *batch);

void writer_set_limits(struct writer *writer, const struct archive_limits *limits);
void writer_get_status(struct writer *writer, struct writer_status *status);

/*
 * The marks of causes as they were within the last minute; NULL: there are none yet.  For any thread; the caller
 * releases it with baseline_view_release().
 */
struct baseline_view *writer_baseline(struct writer *writer);

/*
 * From any other thread: wait until the batch of that number, and all before it, were written or dropped.  -ETIMEDOUT:
 * not until `deadline_ns`, CLOCK_MONOTONIC.
 */
int writer_wait(struct writer *writer, uint64_t number, uint64_t deadline_ns);

#endif
