/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/control/drop_marks.h"

#include <errno.h>
#include <string.h>

#include "common/json.h"
#include "common/knowledge.h"
#include "common/time.h"
#include "common/units.h"
#include "daemon/control/internal.h"
#include "daemon/core/drop.h"
#include "daemon/core/packet.h"
#include "daemon/history/baseline_key.h"
#include "daemon/history/history.h"
#include "daemon/history/reader.h"
#include "daemon/history/series.h"
#include "daemon/history/vector.h"
#include "daemon/kernel/attribution.h"
#include "daemon/probe/backend.h"

#define US INT64_C(1000000)

/* A period that ends this long ago or less ends now: the view is at most a minute old, and an interval less. */
#define NOW_US (120 * US)

/* Members of the parts of rows of the past, until rows are joined. */
#define MARK_MEMBER "mark"
#define UNSEEN_MEMBER "unseen" /* the view does not have the cause: its time decides */

struct baseline_view *drop_marks_view(const struct control *control)
{
	return control->parts.history ? history_baseline(control->parts.history) : NULL;
}

/* ---- now ---------------------------------------------------------------------------- */

/* False: the counter belongs to no cause, because its key has folded. */
static bool find_key(const struct control *control, const struct backend_drops *drops,
		     const struct cause *cause, char key[static BASELINE_KEY_MAX])
{
	const struct attribution *attribution = control->parts.attribution;
	bool coarse = drops->key.flags & NF_KEY_COARSE;
	char protocol[PACKET_PROTOCOL_MAX];
	const struct baseline_cause known = {
		.reason = cause->verdict.reason,
		.number = cause->has_reason ? (int64_t)cause->reason : -1,
		.function = cause->verdict.function,
		.class = knowledge_class_name(cause->verdict.class),
		.protocol = coarse ? NULL : protocol,
		.device = coarse ? NULL : drops->device,
		.host = drops->netns && attribution &&
			attribution_netns_is_host(attribution, drops->netns),
	};

	if (drops->gone || drops->unkeyed || cause->verdict.message || (coarse && !drops->netns))
		return false;
	packet_drop_protocol(drops->key.protocol, drops->key.flags, drops->key.l4, protocol);
	baseline_key(&known, key);
	return true;
}

void drop_marks_find(const struct baseline_view *view, const struct control *control,
		     const struct backend_drops *drops, const struct cause *cause,
		     struct baseline_rate *rate)
{
	char key[BASELINE_KEY_MAX];
	int64_t unseen_us = 0;

	*rate = (struct baseline_rate){0};
	if (!view || !view->cover.ready || !find_key(control, drops, cause, key))
		return;
	if (drops->last_ns > view->seen_ns)
		unseen_us = (int64_t)(time_realtime_of(drops->last_ns) / 1000);
	baseline_view_find(view, key, unseen_us, rate);
}

int drop_marks_order(enum baseline_mark a, enum baseline_mark b)
{
	int first = a >= BASELINE_GROWN ? a : 0, second = b >= BASELINE_GROWN ? b : 0;

	return second - first;
}

void drop_marks_join(struct baseline_rate *into, const struct baseline_rate *from)
{
	if (from->mark > into->mark)
		*into = *from;
}

void drop_marks_put(json_t *row, const struct baseline_rate *rate, bool joined)
{
	const char *mark = baseline_mark_name(rate->mark);
	json_t *object = mark && row ? json_pack("{s:s}", "mark", mark) : NULL;
	char since[TIME_TEXT_MAX];

	if (!object)
		return;
	if (!joined && rate->mark == BASELINE_NEW) {
		time_format_realtime(rate->since_s * (int64_t)TIME_NS_PER_SECOND, since);
		json_object_set_new(object, "since", json_string(since));
	}
	if (!joined) {
		json_object_set_new(object, "per_second", json_real(rate->per_second));
		json_object_set_new(object, "usual_per_second", json_real(rate->usual));
	}
	json_object_set_new(row, "baseline", object);
}

static json_t *reason_of(const struct control *control, const struct baseline_view *view)
{
	const char *off = control->parts.history ? history_off(control->parts.history) : NULL;

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

json_t *drop_marks_json(const struct control *control, const struct baseline_view *view)
{
	static const struct baseline_view none;
	json_t *reason = reason_of(control, view);

	if (!view)
		view = &none;
	return json_pack(
		"{s:b, s:o*, s:I, s:I, s:I, s:b}", "ready", view->cover.ready, "reason", reason,
		"covered_ns", (json_int_t)(view->cover.covered_s * TIME_NS_PER_SECOND), "causes",
		(json_int_t)view->causes, "joined", (json_int_t)view->folded, "full", view->full);
}

/* ---- the past ---------------------------------------------------------------------- */

struct baseline_view *drop_marks_of_period(const struct control *control, int64_t until_us)
{
	if (until_us < (int64_t)(time_realtime() / 1000) - NOW_US)
		return NULL;
	return drop_marks_view(control);
}

void drop_marks_of_series(const struct baseline_view *view, const json_t *name, int64_t last_us,
			  struct baseline_rate *rate)
{
	char key[BASELINE_KEY_MAX];

	*rate = (struct baseline_rate){0};
	if (view && view->cover.ready && baseline_key_of(name, key))
		baseline_view_find(view, key, last_us > view->seen_us ? last_us : 0, rate);
}

void drop_marks_note(json_t *part, const json_t *name, const struct baseline_view *view)
{
	char key[BASELINE_KEY_MAX];
	struct baseline_rate rate;

	if (!part || !view || !view->cover.ready || !baseline_key_of(name, key))
		return;
	baseline_view_find(view, key, 0, &rate);
	if (rate.mark)
		json_object_set_new(part, MARK_MEMBER, json_string(baseline_mark_name(rate.mark)));
	else
		json_object_set_new(part, UNSEEN_MEMBER, json_true());
}

/* Take what was noted out of the name of a row. */
static void take(const struct reader_row *row, const struct baseline_view *view,
		 struct baseline_rate *rate)
{
	const char *mark = json_string_value(json_object_get(row->name, MARK_MEMBER));

	*rate = (struct baseline_rate){.mark = baseline_mark_of(mark)};
	if (json_object_get(row->name, UNSEEN_MEMBER) && !view->full &&
	    (int64_t)row->value[DROPS_LAST_US] > view->seen_us)
		rate->mark = BASELINE_NEW;
	json_object_del(row->name, MARK_MEMBER);
	json_object_del(row->name, UNSEEN_MEMBER);
}

static void merge(struct reader_row *into, struct reader_row *from, size_t width)
{
	vector_merge(into->value, from->value, width);
	if (from->weight > into->weight)
		into->weight = from->weight;
	/* Rows without packets are left out. */
	from->value[DROPS_PACKETS] = 0;
}

int drop_marks_rows(struct reader_rows *rows, const struct baseline_view *view)
{
	OWN_JSON json_t *index = view ? json_object() : NULL;

	for (size_t i = 0; index && i < rows->count; i++) {
		struct reader_row *row = &rows->row[i], *first;
		struct baseline_rate rate, before = {0};
		OWN_FREE char *text = NULL;
		const json_t *known;

		take(row, view, &rate);
		text = json_dumps(row->name, JSON_COMPACT | JSON_SORT_KEYS);
		if (!text)
			return -ENOMEM;
		known = json_object_get(index, text);
		if (!known) {
			json_object_set_new(index, text, json_integer((json_int_t)i));
			row->mark = rate.mark;
			continue;
		}
		first = &rows->row[json_integer_value(known)];
		before.mark = first->mark;
		drop_marks_join(&before, &rate);
		first->mark = before.mark;
		merge(first, row, rows->width);
	}
	return index || !view ? 0 : -ENOMEM;
}
