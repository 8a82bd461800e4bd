/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/sources/drop_marks.h"

#include "common/json.h"
#include "common/time.h"
#include "common/units.h"
#include "daemon/history/baseline_key.h"
#include "daemon/history/history.h"
#include "daemon/rows/drop_row.h"
#include "daemon/sources/sources.h"

#define US INT64_C(1000000)

/* A period that ends this long ago or less ends now: the view is at most a minute old, and an interval less. */
#define NOW_US (120 * US)

struct baseline_view *drop_marks_view(const struct sources *sources)
{
	return sources->history ? history_baseline(sources->history) : NULL;
}

void drop_marks_place(const struct baseline_view *view, struct drop_row *row)
{
	char key[BASELINE_KEY_MAX];
	struct baseline_rate rate;

	if (!view || !view->cover.ready || !baseline_key_of(row, key))
		return;
	baseline_view_find(view, key, 0, &rate);
	row->mark = (uint8_t)rate.mark;
	row->key.unseen = !rate.mark;
}

/* Of a row of one cause. */
static void find_rate(const struct baseline_view *view, const struct drop_row *row, int64_t seen_ns,
		      struct baseline_rate *rate)
{
	char key[BASELINE_KEY_MAX];

	*rate = (struct baseline_rate){0};
	if (view && view->cover.ready && baseline_key_of(row, key))
		baseline_view_find(view, key, row->last_ns > seen_ns ? row->last_ns / 1000 : 0,
				   rate);
}

void drop_marks_put(json_t *object, const struct baseline_view *view, const struct drop_row *row,
		    int64_t seen_ns, bool joined)
{
	struct baseline_rate rate = {.mark = (enum baseline_mark)row->mark};
	char since[TIME_TEXT_MAX];
	const char *mark;
	json_t *member;

	if (!joined)
		find_rate(view, row, seen_ns, &rate);
	mark = baseline_mark_name(rate.mark);
	member = mark && object ? json_pack("{s:s}", "mark", mark) : NULL;
	if (!member)
		return;
	if (!joined && rate.mark == BASELINE_NEW) {
		time_format_realtime(rate.since_s * (int64_t)TIME_NS_PER_SECOND, since);
		json_object_set_new(member, "since", json_string(since));
	}
	if (!joined) {
		json_object_set_new(member, "per_second", json_real(rate.per_second));
		json_object_set_new(member, "usual_per_second", json_real(rate.usual));
	}
	json_object_set_new(object, "baseline", member);
}

static json_t *reason_of(const struct sources *sources, const struct baseline_view *view)
{
	const char *off = sources->history ? history_off(sources->history) : NULL;

	if (view && view->cover.ready)
		return NULL;
	if (off)
		return json_sprintf("no history: %s", off);
	if (!view)
		return json_string("the history could not be read yet; see history in GetStatus");
	return json_sprintf(
		"netflowd has counted drops in %s of the last 26 h; it needs 18 h of them, 7 h of those more than 12 h ago, and the oldest 24 h ago",
		units_duration((uint64_t)view->cover.covered_s * TIME_NS_PER_SECOND).s);
}

json_t *drop_marks_json(const struct sources *sources, const struct baseline_view *view)
{
	static const struct baseline_view none;
	json_t *reason = reason_of(sources, view);

	if (!view)
		view = &none;
	return json_pack(
		"{s:b, s:o*, s:I, s:I, s:I, s:b}", "ready", view->cover.ready, "reason", reason,
		"covered_ns", (json_int_t)(view->cover.covered_s * TIME_NS_PER_SECOND), "causes",
		(json_int_t)view->causes, "joined", (json_int_t)view->folded, "full", view->full);
}

struct baseline_view *drop_marks_of_period(const struct sources *sources, int64_t until_us)
{
	if (until_us < (int64_t)(time_realtime() / 1000) - NOW_US)
		return NULL;
	return drop_marks_view(sources);
}
