/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Dropped packets of two recordings, by cause. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "cli/ask/field.h"
#include "cli/diff/diff.h"
#include "cli/diff/significance.h"
#include "cli/show/drop_lines.h"
#include "common/array.h"
#include "common/json.h"

struct compared_cause {
	char *key;
	json_t *row;
	uint64_t packets[2];
	double per_second[2];
	struct significance difference;
};

struct compared_causes {
	struct compared_cause *at;
	size_t count, room;
	double seconds[2];
	bool reasons; /* both recordings have them */
};

static void causes_free(struct compared_causes *causes)
{
	for (size_t i = 0; i < causes->count; i++) {
		free(causes->at[i].key);
		json_decref(causes->at[i].row);
	}
	free(causes->at);
}
#define OWN_CAUSES CLEANUP(causes_free)

/* ---- the rows -------------------------------------------------------------------------------- */

/* The function: two kernels have other offsets in it, and addresses without a name mean nothing to the other one. */
static json_t *function_of(const json_t *row)
{
	const char *location = field_text_or(row, "location", "0x");
	const char *function = field_text_or(row, "function", NULL);

	if (function)
		return json_string(function);
	return strncmp(location, "0x", 2) ? json_stringn(location, strcspn(location, "+")) : NULL;
}

/* As the table of drops shows it, but it does not matter whether the kernel or netflowd named it. */
static json_t *reason_of(const json_t *row)
{
	OWN_JSON json_t *copy = json_copy((json_t *)row);
	OWN_FREE char *reason = NULL;

	json_object_del(copy, "inferred");
	reason = drop_lines_reason(copy);
	return json_string(reason ? reason : "?");
}

/* What identifies the cause of a row. */
static json_t *cause_of(const struct compared_causes *causes, const json_t *row)
{
	return json_pack("{s:o*, s:o*, s:s*, s:s*, s:s}", "reason",
			 causes->reasons ? reason_of(row) : NULL, "function", function_of(row),
			 "device", field_text_or(row, "device", NULL), "protocol",
			 field_text_or(row, "protocol", NULL), "class", field_text(row, "class"));
}

/* The cause with this row, which is stolen.  NULL: out of memory. */
static struct compared_cause *find_cause(struct compared_causes *causes, json_t *row)
{
	OWN_FREE char *key = row ? json_dumps(row, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
	OWN_JSON json_t *owned = row;

	for (size_t i = 0; key && i < causes->count; i++)
		if (!strcmp(causes->at[i].key, key))
			return &causes->at[i];
	if (!key || ARRAY_GROW(causes->at, causes->count, causes->room) < 0)
		return NULL;
	causes->at[causes->count] =
		(struct compared_cause){.key = TAKE_PTR(key), .row = TAKE_PTR(owned)};
	return &causes->at[causes->count++];
}

static int add_rows(struct compared_causes *causes, const struct diff_side *side, size_t which)
{
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(side->drops, "rows"), i, row)
	{
		struct compared_cause *cause = find_cause(causes, cause_of(causes, row));

		if (!cause)
			return -ENOMEM;
		cause->packets[which] += field_count_or(row, "packets", 0);
	}
	return 0;
}

/* ---- the comparison -------------------------------------------------------------------------- */

static int compare(struct compared_causes *causes)
{
	OWN_FREE struct significance **results = calloc(causes->count + 1, sizeof(*results));

	if (!results)
		return -ENOMEM;
	for (size_t i = 0; i < causes->count; i++) {
		struct compared_cause *cause = &causes->at[i];

		for (size_t side = 0; side < 2; side++)
			cause->per_second[side] =
				(double)cause->packets[side] / causes->seconds[side];
		cause->difference = significance_rates(cause->packets[0], causes->seconds[0],
						       cause->packets[1], causes->seconds[1]);
		results[i] = &cause->difference;
	}
	return significance_correct(results, causes->count);
}

static double change(const struct compared_cause *cause)
{
	return fabs(cause->per_second[1] - cause->per_second[0]);
}

/* Significant ones first, then by the change in packets per second. */
static int by_change(const void *a, const void *b)
{
	const struct compared_cause *one = a, *other = b;
	bool significant = significance_mark(&one->difference);

	if (significant != !!significance_mark(&other->difference))
		return significant ? -1 : 1;
	return ORDER(change(other), change(one));
}

static const char *mark_of(const struct compared_cause *cause)
{
	int mark = significance_mark(&cause->difference);

	if (mark > 0)
		return cause->packets[0] ? "more" : "new";
	if (mark < 0)
		return cause->packets[1] ? "fewer" : "gone";
	return NULL;
}

static json_t *numbers(const struct compared_cause *cause, size_t side)
{
	return json_pack("{s:I, s:f}", "packets", json_count(cause->packets[side]), "per_second",
			 cause->per_second[side]);
}

static int add_numbers(const struct compared_cause *cause)
{
	const char *mark = mark_of(cause);

	if (mark && json_object_set_new(cause->row, "mark", json_string(mark)))
		return -ENOMEM;
	for (size_t side = 0; side < 2; side++)
		if (json_object_set_new(cause->row, diff_names[side], numbers(cause, side)))
			return -ENOMEM;
	if (cause->difference.tested &&
	    (json_object_set_new(cause->row, "p", json_real(cause->difference.p)) ||
	     json_object_set_new(cause->row, "p_corrected",
				 json_real(cause->difference.corrected))))
		return -ENOMEM;
	return 0;
}

static json_t *rows_of_causes(struct compared_causes *causes)
{
	OWN_JSON json_t *rows = json_array();
	size_t tests = 0;

	if (causes->count)
		qsort(causes->at, causes->count, sizeof(causes->at[0]), by_change);
	for (size_t i = 0; i < causes->count; i++) {
		tests += causes->at[i].difference.tested;
		if (add_numbers(&causes->at[i]) || json_array_append(rows, causes->at[i].row))
			return NULL;
	}
	return json_pack("{s:b, s:b, s:I, s:O}", "compared", true, "by_reason", causes->reasons,
			 "tests", json_count(tests), "rows", rows);
}

static json_t *not_compared(const char *reason)
{
	return json_pack("{s:b, s:s, s:[]}", "compared", false, "reason", reason, "rows");
}

json_t *diff_drops(const struct diff_side sides[2])
{
	OWN_CAUSES struct compared_causes causes = {};
	const char *reasons[2];

	for (size_t i = 0; i < 2; i++) {
		if (!diff_has_probe(&sides[i], "kfree_skb"))
			return not_compared(i ? "B has no events of kfree_skb"
					      : "A has no events of kfree_skb");
		if (!diff_duration(&sides[i]))
			return not_compared(i ? "B is too short: it has fewer than two events"
					      : "A is too short: it has fewer than two events");
		causes.seconds[i] = (double)diff_duration(&sides[i]) / 1e9;
		reasons[i] = diff_coverage(&sides[i], "drop_reasons");
	}
	/* Before Linux 5.17 the kernel has no reasons: with them, every cause would be gone and new. */
	causes.reasons = !strcmp(reasons[0], reasons[1]);
	for (size_t i = 0; i < 2; i++)
		if (add_rows(&causes, &sides[i], i))
			return NULL;
	return compare(&causes) ? NULL : rows_of_causes(&causes);
}
