/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "daemon/history/batch.h"
#include "daemon/history/reader_internal.h"

void reader_period_clear(struct reader_period *period)
{
	coverage_clear(&period->coverage);
	*period = (struct reader_period){0};
}

/* Where the history begins: the first moment that was recorded and is not deleted; `otherwise` if there is none. */
static int64_t beginning(const struct reader *reader, bool records, int64_t otherwise)
{
	const struct batch *live = reader->request.live;
	int64_t kept = reader->plan.oldest * US;
	int64_t begun = database_number(reader->db, "SELECT min(begun) FROM span WHERE kind = 0",
					INT64_MAX);

	if (live && live->from_us < begun)
		begun = live->from_us;
	if (begun == INT64_MAX)
		return otherwise;
	if (records)
		kept = later(kept, database_number(reader->db, DATABASE_RECORDS_FROM, 0));
	return later(begun, kept);
}

/* What is deleted is not covered, though its span may still be there. */
static void add_span(struct reader_period *period, int64_t from, int64_t to,
		     enum database_span kind)
{
	from = later(from, period->begun_us);
	if (kind == DATABASE_PAUSED) {
		covered_miss(&period->asked, from, to, READER_PAUSED);
		covered_miss(&period->counted, from, to, READER_PAUSED);
	} else {
		covered_add(&period->asked, from, to);
		covered_add(&period->counted, from, to);
	}
}

/* What the file does not have yet. */
static void add_live_spans(struct reader_period *period, const struct batch *live)
{
	int64_t from_us = live->from_us;

	for (size_t i = 0; i < live->gaps; i++) {
		add_span(period, from_us, live->gap[i].from_us, DATABASE_RECORDED);
		add_span(period, live->gap[i].from_us, live->gap[i].to_us, DATABASE_PAUSED);
		from_us = live->gap[i].to_us;
	}
	add_span(period, from_us, live->to_us, DATABASE_RECORDED);
}

static int read_spans(struct reader *reader, struct reader_period *period)
{
	OWN_STATEMENT sqlite3_stmt *spans = NULL;
	int result =
		sqlite3_prepare_v2(reader->db,
				   "SELECT begun, ended, kind FROM span"
				   " WHERE kind < 2 AND ended > ?1 AND begun < ?2 ORDER BY begun",
				   -1, &spans, NULL);

	if (result != SQLITE_OK)
		return reader_failure(reader);
	sqlite3_bind_int64(spans, 1, earlier(period->since_us, period->from_us));
	sqlite3_bind_int64(spans, 2, later(period->until_us, period->to_us));
	while ((result = sqlite3_step(spans)) == SQLITE_ROW)
		add_span(period, sqlite3_column_int64(spans, 0), sqlite3_column_int64(spans, 1),
			 (enum database_span)sqlite3_column_int(spans, 2));
	return result == SQLITE_DONE ? 0 : reader_failure(reader);
}

static int read_steps(struct reader *reader, struct reader_period *period)
{
	OWN_STATEMENT sqlite3_stmt *steps = NULL;
	int result = sqlite3_prepare_v2(
		reader->db,
		"SELECT begun, begun - ended FROM span WHERE kind = 3 AND begun >= ?1 AND begun <= ?2"
		" ORDER BY id DESC",
		-1, &steps, NULL);

	if (result != SQLITE_OK)
		return reader_failure(reader);
	sqlite3_bind_int64(steps, 1, period->since_us);
	sqlite3_bind_int64(steps, 2, period->until_us);
	while (period->steps < READER_STEPS && (result = sqlite3_step(steps)) == SQLITE_ROW)
		period->step[period->steps++] = (struct reader_step){
			sqlite3_column_int64(steps, 0), sqlite3_column_int64(steps, 1)};
	return result == SQLITE_DONE || result == SQLITE_ROW ? 0 : reader_failure(reader);
}

/* A host with thousands of spans has few texts. */
static int read_coverage(struct reader *reader, struct reader_period *period)
{
	OWN_STATEMENT sqlite3_stmt *texts = NULL;
	int result = sqlite3_prepare_v2(
		reader->db,
		"SELECT text FROM coverage WHERE id IN"
		" (SELECT coverage FROM span WHERE ended > ?1 AND begun < ?2) ORDER BY id",
		-1, &texts, NULL);
	int r = 0;

	if (result != SQLITE_OK)
		return reader_failure(reader);
	sqlite3_bind_int64(texts, 1, earlier(period->since_us, period->from_us));
	sqlite3_bind_int64(texts, 2, later(period->until_us, period->to_us));
	while (r == 0 && (result = sqlite3_step(texts)) == SQLITE_ROW)
		r = coverage_read(&period->coverage, (const char *)sqlite3_column_text(texts, 0));
	if (r < 0)
		return r;
	return result == SQLITE_DONE ? 0 : reader_failure(reader);
}

/* The buckets that count. */
static void choose_counted(const struct reader *reader, struct reader_period *period)
{
	const struct batch *live = reader->live;

	period->from_us = reader->plan.from * US;
	period->to_us = reader->plan.to * US;
	/* The bucket of now has not ended. */
	if (live)
		period->to_us = live->to_us;
	if (live && live->from_us < period->from_us && live->to_us > period->from_us &&
	    !reader->plan.count)
		period->from_us = live->from_us;
	/* Before that, the first bucket has nothing. */
	period->from_us = later(period->from_us, period->begun_us);
	period->to_us = later(period->to_us, period->from_us);
}

/* The recorded time around a period without any. */
static int read_around(struct reader *reader, struct reader_period *period)
{
	const struct batch *live = reader->request.live;
	OWN_STATEMENT sqlite3_stmt *around = NULL;

	if (sqlite3_prepare_v2(
		    reader->db,
		    "SELECT (SELECT max(ended) FROM span WHERE kind = 0 AND ended <= ?1),"
		    " (SELECT min(begun) FROM span WHERE kind = 0 AND begun >= ?2)",
		    -1, &around, NULL) != SQLITE_OK)
		return reader_failure(reader);
	sqlite3_bind_int64(around, 1, period->since_us);
	sqlite3_bind_int64(around, 2, period->until_us);
	if (sqlite3_step(around) != SQLITE_ROW)
		return reader_failure(reader);
	/* 0 if it is NULL. */
	period->before_us = sqlite3_column_int64(around, 0);
	period->after_us = sqlite3_column_int64(around, 1);
	if (live && live->from_us >= period->until_us &&
	    (!period->after_us || live->from_us < period->after_us))
		period->after_us = live->from_us;
	/* What was before is deleted, or a part of the span that was there goes on after it. */
	if (period->before_us <= period->begun_us)
		period->before_us = 0;
	if (!period->before_us && period->begun_us >= period->until_us)
		period->after_us = period->begun_us;
	return 0;
}

int reader_period(struct reader *reader, bool records, struct reader_period *period)
{
	const struct reader_request *request = &reader->request;
	const struct batch *live = request->live;
	int r;

	*period = (struct reader_period){.since_us = request->since_us,
					 .until_us = request->until_us,
					 .begun_us = beginning(reader, records, request->until_us),
					 .step_s = reader->plan.step};
	/* The live part can be of a reading that others had asked for a moment before. */
	if (live)
		period->until_us = earlier(period->until_us, live->to_us);
	if (request->since_us == READER_BEGINNING)
		period->since_us = earlier(period->begun_us, period->until_us);
	choose_counted(reader, period);
	covered_begin(&period->asked, period->since_us, period->until_us);
	covered_begin(&period->counted, period->from_us, period->to_us);
	r = read_spans(reader, period);
	if (r == 0)
		r = read_steps(reader, period);
	if (r == 0)
		r = read_coverage(reader, period);
	if (r == 0 && live) {
		add_live_spans(period, live);
		if (reader->live)
			r = coverage_add_gaps(&period->coverage, &live->coverage);
	}
	covered_end(&period->asked);
	covered_end(&period->counted);
	if (r == 0 && !period->asked.covered_us)
		r = read_around(reader, period);
	if (r < 0)
		reader_period_clear(period);
	return r;
}
