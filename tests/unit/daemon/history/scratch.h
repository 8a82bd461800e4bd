/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A directory of a test's own, in memory if there is one, and the batches of a scripted time. */
#ifndef TESTS_UNIT_DAEMON_HISTORY_SCRATCH_H
#define TESTS_UNIT_DAEMON_HISTORY_SCRATCH_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/history/archive.h"
#include "daemon/history/batch.h"
#include "daemon/history/reader.h"
#include "daemon/history/series.h"
#include "daemon/history/series_name.h"
#include "daemon/history/vector.h"
#include "daemon/rows/drop_row.h"
#include "tests/unit/test.h"

#define US INT64_C(1000000)

static char scratch[64];

static int make_scratch(void **state)
{
	(void)state;
	snprintf(scratch, sizeof(scratch), "%s/netflowd-test.XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	return mkdtemp(scratch) ? 0 : -1;
}

static int remove_scratch(void **state)
{
	DIR *directory = opendir(scratch);
	const struct dirent *entry;

	(void)state;
	while (directory && (entry = readdir(directory))) {
		char path[512];

		snprintf(path, sizeof(path), "%s/%s", scratch, entry->d_name);
		unlink(path);
	}
	if (directory)
		closedir(directory);
	return rmdir(scratch);
}

static const struct archive_limits week = {.bytes = 256u << 20, .age_s = 7 * 86400};

static struct archive *open_archive(const struct archive_limits *limits)
{
	char aside[ARCHIVE_REASON_MAX], reason[ARCHIVE_REASON_MAX] = "";
	struct archive *archive = NULL;
	int r = archive_open(&archive, scratch, limits, aside, reason);

	if (r < 0)
		fail_msg("%s: %s", strerror(-r), reason);
	assert_string_equal(aside, "");
	return archive;
}

/* An interval that ends at `to_s`. */
static struct batch *new_batch(int64_t from_s, int64_t to_s)
{
	static uint64_t number;
	struct batch *batch = NULL;

	assert_int_equal(batch_new(&batch), 0);
	batch->number = ++number;
	batch->from_us = from_s * US;
	batch->to_us = to_s * US;
	return batch;
}

static inline void add_drops(struct batch *batch, struct series *series, uint64_t packets)
{
	const uint64_t value[DROPS_VALUES] = {[DROPS_LAST_US] = (uint64_t)batch->to_us - 1,
					      [DROPS_PACKETS] = packets,
					      [DROPS_SEGMENTS] = 2 * packets,
					      [DROPS_BYTES] = 100 * packets};

	assert_int_equal(batch_add(batch, series, value), 0);
}

static void write_batch(struct archive *archive, struct batch *batch)
{
	char reason[ARCHIVE_REASON_MAX];
	int r = archive_write(archive, batch, reason);

	if (r < 0)
		fail_msg("%s: %s", strerror(-r), reason);
	batch_free(&batch);
	do
		r = archive_tidy(archive);
	while (r == 1);
	assert_int_equal(r, 0);
}

/* Drops of a reason, NULL: not known. */
static inline struct series *drops_of(const char *reason)
{
	struct series *series = series_new_drops(&(struct drop_row){.key.reason = reason});

	assert_non_null(series);
	return series;
}

static inline int place_drops(const uint8_t *name, size_t size, size_t *place, void *userdata)
{
	struct reader_rows *rows = userdata;
	struct drop_row drops = {0};

	assert_int_equal(series_name_decode_drops(&drops, name, size), 0);
	*place = (size_t)(reader_rows_find(rows, &(struct series_name){.probe = drops.key.reason}) -
			  rows->row);
	return 0;
}

static inline int count_drops(size_t place, uint32_t weight, const uint8_t *bytes, size_t size,
			      void *userdata)
{
	struct reader_rows *rows = userdata;

	rows->row[place].weight = weight;
	return vector_add(rows->row[place].value, rows->width, bytes, size);
}

/* Their sums, a row for each reason. */
static inline void read_drops(struct reader *reader, struct reader_rows *rows)
{
	const struct reader_sink sink = {place_drops, count_drops, rows};

	rows->width = DROPS_VALUES;
	assert_int_equal(reader_read(reader, HISTORY_DROPS, &sink), 0);
}

/* Of any body: the file does not look into it. */
static inline void add_record(struct batch *batch, int kind, int64_t time_us, const char *text)
{
	assert_int_equal(batch_add_record(batch, kind, time_us, text, strlen(text)), 0);
}

struct found_records {
	size_t count;
	char newest[64]; /* the beginning of its body */
};

static inline int find_record(int64_t time_us, const void *body, size_t size, void *userdata)
{
	struct found_records *found = userdata;

	(void)time_us;
	if (!found->count++)
		snprintf(found->newest, sizeof(found->newest), "%.*s", (int)size,
			 (const char *)body);
	return 0;
}

static inline struct found_records find_records(struct reader *reader, int kind)
{
	struct found_records found = {0};

	assert_int_equal(reader_records(reader, kind, find_record, &found), 0);
	return found;
}

static inline struct reader *open_reader(int64_t since_s, int64_t until_s)
{
	const struct reader_request request = {.directory = scratch,
					       .since_us = since_s * US,
					       .until_us = until_s * US,
					       .deadline_ns = UINT64_MAX};
	struct reader *reader = NULL;

	assert_int_equal(reader_open(&reader, &request), 0);
	return reader;
}

#endif
