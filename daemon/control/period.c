/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/control/period.h"

#include <errno.h>

#include "common/json.h"
#include "common/time.h"
#include "common/when.h"
#include "daemon/history/history.h"
#include "daemon/sources/coverage.h"
#include "daemon/sources/past.h"
#include "daemon/sources/sources.h"
#include "daemon/varlink/call.h"

/* ---- the parameters ----------------------------------------------------------------------- */

/* A moment of a parameter in us.  -EINVAL: it is not valid, and the call has ended. */
static int read_time(struct past *past, const char *name, int64_t otherwise, int64_t *us)
{
	const char *text = past_text(past, name);
	int64_t ns;

	*us = otherwise;
	if (!text)
		return 0;
	if (when_parse_rfc3339(text, &ns) < 0) {
		call_invalid_parameter(past->call, name);
		return -EINVAL;
	}
	*us = ns / 1000;
	return 0;
}

int period_read(struct past *past)
{
	int64_t now_us = (int64_t)(time_realtime() / 1000);
	int r = read_time(past, "since", READER_BEGINNING, &past->since_us);

	if (r == 0)
		r = read_time(past, "until", now_us, &past->until_us);
	if (r < 0)
		return r;
	if (past->since_us >= past->until_us) {
		call_invalid_parameter(past->call, past_text(past, "since") ? "since" : "until");
		return -EINVAL;
	}
	if (past->since_us >= now_us) {
		call_error(past->call, "io.netflowd.NotCovered",
			   json_pack("{s:s, s:o, s:o}", "reason", "this time is still to come",
				     "since", past_time(past->since_us), "until",
				     past_time(past->until_us)));
		return -EINVAL;
	}
	return 0;
}

/* ---- what is covered ---------------------------------------------------------------------- */

/* Newest first: what is missing now matters most. */
static json_t *gaps(const struct covered *asked)
{
	json_t *list = json_array();

	for (size_t i = 0; i < covered_kept(asked); i++) {
		const struct covered_gap *gap = covered_gap(asked, i);

		json_array_append_new(list,
				      json_pack("{s:o, s:o, s:s*}", "from", past_time(gap->from_us),
						"to", past_time(gap->to_us), "reason",
						gap->reason == READER_PAUSED ? "paused" : NULL));
	}
	return list;
}

static json_t *clock_steps(const struct reader_period *period)
{
	json_t *list = json_array();

	for (size_t i = 0; i < period->steps; i++)
		json_array_append_new(list, json_pack("{s:o, s:I}", "at",
						      past_time(period->step[i].at_us), "by_ns",
						      (json_int_t)(period->step[i].by_us * 1000)));
	return list;
}

/* Why the end of the period cannot be written; NULL: it can, or it is. */
static json_t *failing(const struct past *past)
{
	struct history_status status;

	history_get_status(past->sources->history, &status);
	if (status.writer.phase != WRITER_FAILING ||
	    (status.writer.written_us && past->until_us <= status.writer.written_us))
		return NULL;
	return json_string(status.writer.reason);
}

json_t *period_json(const struct past *past)
{
	const struct reader_period *period = &past->period;

	return json_pack(
		"{s:o, s:o, s:I, s:I, s:o, s:o, s:o, s:I, s:I, s:o, s:I, s:o, s:b, s:o*, s:I, s:o}",
		"since", past_time(period->since_us), "until", past_time(past->until_us),
		"asked_ns", (json_int_t)((past->until_us - period->since_us) * 1000),
		"asked_covered_ns", (json_int_t)(period->asked.covered_us * 1000), "begins",
		past_time(period->begun_us), "from", past_time(period->from_us), "to",
		past_time(period->to_us), "resolution_ns",
		(json_int_t)(period->step_s * (int64_t)TIME_NS_PER_SECOND), "covered_ns",
		(json_int_t)(period->counted.covered_us * 1000), "gaps", gaps(&period->asked),
		"gap_count", json_count(period->asked.gaps), "clock_steps", clock_steps(period),
		"damaged", past->damaged, "failing", failing(past), "weight",
		(json_int_t)(past->weight ? past->weight : 1), "coverage",
		coverage_json(&period->coverage));
}

/* An answer without rows would look like one that is exact. */
int period_refuse(struct call *call, const struct past *past)
{
	const struct reader_period *period = &past->period;
	OWN_JSON json_t *writing = failing(past);
	const char *reason = "the history is empty";

	if (period->after_us && !period->before_us)
		reason = "the history begins later, at `after`";
	else if (period->after_us)
		reason = "netflowd recorded nothing from `before` to `after`";
	else if (writing)
		reason = json_string_value(writing);
	else if (period->before_us)
		reason = "netflowd recorded nothing after `before`";
	return call_error(
		call, "io.netflowd.NotCovered",
		json_pack("{s:s, s:o*, s:o, s:o*, s:o*, s:O*}", "reason", reason, "since",
			  past->since_us == READER_BEGINNING ? NULL : past_time(past->since_us),
			  "until", past_time(past->until_us), "before",
			  period->before_us ? past_time(period->before_us) : NULL, "after",
			  period->after_us ? past_time(period->after_us) : NULL, "failing",
			  writing));
}
