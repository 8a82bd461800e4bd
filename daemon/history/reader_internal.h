/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of a reader: reader.c opens the file and plans what is read, reader_period.c says what time that is,
 * reader_sums.c adds up the counters, and reader_records.c finds records and incidents.
 */
#ifndef DAEMON_HISTORY_READER_INTERNAL_H
#define DAEMON_HISTORY_READER_INTERNAL_H

#include "daemon/history/database.h"
#include "daemon/history/plan.h"
#include "daemon/history/reader.h"

#define US INT64_C(1000000)

struct reader {
	sqlite3 *db;
	struct reader_request request;
	struct plan plan;
	const struct batch *live; /* of the request, if its numbers are of the period */
	int64_t incident;	  /* 0: none */
	bool damaged;		  /* see reader_is_damaged() */
};

/* The negative errno of the last call of SQLite that failed, see database_failure(). */
int reader_failure(struct reader *reader);

static inline int64_t earlier(int64_t one, int64_t other)
{
	return one < other ? one : other;
}

static inline int64_t later(int64_t one, int64_t other)
{
	return one > other ? one : other;
}

#endif
