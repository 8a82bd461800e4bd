/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A question about the past, of a method with `since` or `until`.  Each kind of rows says what to read; a thread of the
 * history reads it.
 */
#ifndef DAEMON_SOURCES_PAST_H
#define DAEMON_SOURCES_PAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "daemon/history/reader.h"
#include "daemon/sources/past_places.h"

struct call;
struct filter;
struct sources;

struct past {
	const struct sources *sources;
	struct call *call; /* for errors of parameters, in the loop */
	json_t *parameters;
	/* Since 1970.  since_us: READER_BEGINNING if it was not given; until_us: can be still to come. */
	int64_t since_us, until_us;
	size_t limit;		   /* of the rows */
	struct past_places places; /* of the parameters `device` and `netns` */
	/* Made in the thread. */
	json_t *head; /* members of the reply besides the rows */
	json_t *rows;
	struct reader_period period;
	bool records;	     /* the answer is made of records */
	bool without_period; /* the reply has none */
	bool damaged;	     /* see reader_is_damaged() */
	uint32_t weight;     /* the largest of a number in the reply */
	void *state;	     /* of the kind */
};

struct past_kind {
	const char *member;	/* the array of the rows */
	size_t rows_by_default; /* in a reply to a call without `more` */
	/* In the loop: make `state`.  NULL: nothing to do.  -EINVAL: the call has ended; or -ENOMEM. */
	int (*prepare)(struct past *past);
	/* In the thread: fill rows, and head. */
	int (*work)(struct reader *reader, struct past *past);
	/* Free `state`; NULL: nothing to do. */
	void (*clear)(void *state);
	bool records;  /* the rows are records */
	bool outlives; /* the rows: they stay longer than the counters of their time */
};

/* past_drops.c, past_latency.c …: what each method reads. */
extern const struct past_kind past_drops, past_latency;
extern const struct past_kind past_drop_records, past_latency_records, past_slots_records;
extern const struct past_kind past_alerts;

/*
 * Whether netflowd recorded in all of the time that was asked for, could answer `question` (of coverage) in it, and
 * `reader` has read all of it: without that, no sum over this time is exact.
 */
bool past_is_whole(const struct past *past, const struct reader *reader,
		   enum coverage_question question);

/* Whether a device is that of the question, and in its namespace, see past_place(). */
bool past_takes_place(const struct past *past, const struct device *device);
/*
 * A reader_project: the series of the devices that the question is about.  If there are too many, those that come later
 * have no device, and are of all others.
 */
bool past_project_device(struct series_name *name, bool full, void *past);

/* Add the rows, as far as the reply has room for them, and how many there are.  -ENOMEM. */
int past_put_rows(struct past *past, const struct reader_rows *rows,
		  json_t *(*to_json)(const struct reader_row *row));

/* A time of the history as a string. */
json_t *past_time(int64_t us);

/* A text of a parameter; NULL: it is absent. */
const char *past_text(const struct past *past, const char *name);

/* In the loop: what selects records, without the device and the namespace, whose names can be gone by now. */
int past_filter_read(const struct past *past, struct filter *filter);

/* Append the newest `limit` records of a kind to the array, oldest first; *matched is the number of all. */
int past_read_records(struct reader *reader, const struct past *past, int kind, size_t limit,
		      json_t *records, size_t *matched);

/* The rows and sums of drops, and the segments of all devices, as GetDrops and GetLatency have them. */
int past_read_drops(struct reader *reader, struct past *past);
int past_read_segments(struct reader *reader, struct past *past);

#endif
