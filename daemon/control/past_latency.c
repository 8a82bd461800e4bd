/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GetLatency for the past. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "daemon/control/counted.h"
#include "daemon/control/governor.h"
#include "daemon/control/past.h"
#include "daemon/core/histogram.h"
#include "daemon/core/stages.h"
#include "daemon/cost/seen.h"
#include "daemon/history/series.h"
#include "daemon/history/vector.h"
#include "daemon/json/json.h"

/* As in a reply about now, see latency.c. */
#define WORST 10
#define WORST_PACKETS 100

static int segment_of(const json_t *name)
{
	const char *text = json_string_value(json_object_get(name, "segment"));

	for (int i = 0; text && i < NF_SEGMENT_COUNT; i++)
		if (!strcmp(segment_histograms[i].name, text))
			return i;
	return -ENOENT;
}

static void to_hist(const uint64_t *value, struct nf_hist *hist)
{
	hist->max_ns = value[LATENCY_MAX_NS];
	hist->sum_ns = value[LATENCY_SUM_NS];
	hist->variance = value[LATENCY_VARIANCE] + value[LATENCY_SPREAD];
	memcpy(hist->bucket, value + LATENCY_BUCKET, sizeof(hist->bucket));
	hist->journeys = histogram_count(hist);
	hist->journeys -= value[LATENCY_UNFOLLOWED] < hist->journeys ? value[LATENCY_UNFOLLOWED]
								     : hist->journeys;
}

/* What the rows are compared with. */
struct exact {
	struct counted_past counted; /* by device */
	uint64_t unseen_packets;     /* of the whole host, while no journey began */
	uint64_t missable;	     /* see reading_missable() */
	struct reading_unended unended;
};

/* Type Latency, of a series with its device as it was named then. */
static json_t *row_to_json(const struct reader_row *row, const struct exact *exact)
{
	int segment = segment_of(row->name);
	struct nf_hist hist;
	json_t *object;

	if (segment < 0)
		return NULL;
	to_hist(row->value, &hist);
	object = json_latency((enum nf_segment)segment, NULL, &hist);
	if (!object)
		return NULL;
	counted_past_add_packets(object, &exact->counted, row->name, (enum nf_segment)segment);
	counted_add_margin(
		object, &hist,
		&(struct counted_margin){.variance = row->value[LATENCY_VARIANCE],
					 .unseen = exact->unseen_packets,
					 .unended = reading_unended_packets(exact->unended),
					 .missable = exact->missable,
					 .tied = row->value[LATENCY_UNSEEN],
					 .limits = true});
	json_object_update_missing(object, row->name);
	return object;
}

static bool takes(const json_t *name, void *userdata)
{
	const struct past *past = userdata;
	bool placed = past_text(past, "device") || past_text(past, "netns");

	if (segment_of(name) < 0)
		return false;
	return placed ? past_takes_place(past, name) : true;
}

/* Too many devices: those that come later are a group. */
static json_t *part_of(json_t *name, bool full, void *userdata)
{
	if (!takes(name, userdata))
		return NULL;
	if (!full)
		return json_incref(name);
	return json_pack("{s:s, s:O}", "group", "other", "segment",
			 json_object_get(name, "segment"));
}

/* Of `worst`, when no rows are asked for, only the totals matter. */
static json_t *part_of_total(json_t *name, bool full, void *userdata)
{
	int segment = segment_of(name);

	if (segment < 0 || !segment_is_total((enum nf_segment)segment))
		return NULL;
	return part_of(name, full, userdata);
}

static uint64_t count_of(const struct reader_row *row)
{
	uint64_t sum = 0;

	for (unsigned int i = LATENCY_BUCKET; i < LATENCY_BUCKET + NF_HIST_BUCKETS; i++)
		sum += row->value[i];
	return sum;
}

static int put_segments(struct past *past, const struct reader_rows *rows,
			const struct exact *exact)
{
	json_t *by_segment[NF_SEGMENT_COUNT] = {0}, *list = json_array();

	for (size_t i = 0; i < rows->count; i++) {
		int segment = segment_of(rows->row[i].name);

		if (segment >= 0 && count_of(&rows->row[i])) {
			json_decref(by_segment[segment]);
			by_segment[segment] = row_to_json(&rows->row[i], exact);
		}
	}
	for (int i = 0; i < NF_SEGMENT_COUNT; i++)
		if (by_segment[i])
			json_array_append_new(list, by_segment[i]);
	return json_object_set_new(past->head, "segments", list) ? -ENOMEM : 0;
}

/* ---- devices ------------------------------------------------------------------------- */

struct candidate {
	const struct reader_row *row;
	uint64_t count, p99_ns;
	uint64_t device; /* a hash of what identifies it */
};

/* The worst first: those with many packets before those with few. */
static int by_worse(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	bool many = x->count >= WORST_PACKETS, more = y->count >= WORST_PACKETS;

	if (many != more)
		return many ? -1 : 1;
	return x->p99_ns > y->p99_ns ? -1 : x->p99_ns < y->p99_ns;
}

static uint64_t hash_device(const json_t *name)
{
	const char *text = json_string_value(json_object_get(name, "device"));
	uint64_t hash = text ? series_hash(0, text) : 1;

	hash = hash * 31 + (uint64_t)json_integer_value(json_object_get(name, "ifindex"));
	return hash * 0x9e3779b97f4a7c15ULL +
	       (uint64_t)json_integer_value(json_object_get(name, "netns"));
}

static int by_hash(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return by_worse(a, b);
}

static size_t list_totals(const struct reader_rows *rows, struct candidate *all)
{
	size_t count = 0;

	for (size_t i = 0; i < rows->count; i++) {
		const struct reader_row *row = &rows->row[i];
		int segment = segment_of(row->name);
		struct nf_hist hist;

		if (segment < 0 || !segment_is_total((enum nf_segment)segment) || !count_of(row))
			continue;
		to_hist(row->value, &hist);
		all[count] = (struct candidate){
			.row = row, .count = count_of(row), .device = hash_device(row->name)};
		histogram_quantile(&hist, 0.99, &all[count++].p99_ns);
	}
	return count;
}

/* The worst total of each device; `devices` counts them. */
static int put_worst(struct past *past, const struct reader_rows *rows, const struct exact *exact)
{
	OWN_FREE struct candidate *all = calloc(rows->count + 1, sizeof(*all));
	json_t *list = json_array();
	size_t count, kept = 0;

	if (!all) {
		json_decref(list);
		return -ENOMEM;
	}
	count = list_totals(rows, all);
	qsort(all, count, sizeof(*all), by_hash);
	for (size_t i = 0; i < count; i++)
		if (!kept || all[i].device != all[kept - 1].device)
			all[kept++] = all[i];
	qsort(all, kept, sizeof(*all), by_worse);
	for (size_t i = 0; i < kept && i < WORST; i++)
		json_array_append_new(list, row_to_json(all[i].row, exact));
	past_hide_keys(list);
	if (json_object_set_new(past->head, "devices", json_integer(json_count(kept))) ||
	    json_object_set_new(past->head, "worst", list))
		return -ENOMEM;
	return 0;
}

/* By device, and its segments in their order. */
static int by_device(const void *a, const void *b)
{
	const json_t *x = ((const struct reader_row *)a)->name;
	const json_t *y = ((const struct reader_row *)b)->name;
	const char *p = json_string_value(json_object_get(x, "device"));
	const char *q = json_string_value(json_object_get(y, "device"));
	json_int_t m = json_integer_value(json_object_get(x, "netns"));
	json_int_t n = json_integer_value(json_object_get(y, "netns"));
	int order = strcmp(p ? p : "", q ? q : "");

	if (order)
		return order;
	if (m != n)
		return m < n ? -1 : 1;
	return segment_of(x) - segment_of(y);
}

static int put_rows(struct past *past, struct reader_rows *rows, const struct exact *exact)
{
	if (rows->count)
		qsort(rows->row, rows->count, sizeof(*rows->row), by_device);
	for (size_t i = 0; i < rows->count && json_array_size(past->rows) < past->limit; i++)
		if (count_of(&rows->row[i]) &&
		    json_array_append_new(past->rows, row_to_json(&rows->row[i], exact)) != 0)
			return -ENOMEM;
	return 0;
}

/* ---- all selected devices together ------------------------------------------------------ */

static int put_sums(struct past *past, const struct reader_rows *rows, const struct exact *exact)
{
	OWN_READER_ROWS struct reader_rows sums = {.width = LATENCY_VALUES};
	int r = 0;

	for (size_t i = 0; i < rows->count && r == 0; i++) {
		int segment = segment_of(rows->row[i].name);
		size_t at = 0;

		while (at < sums.count && segment_of(sums.row[at].name) != segment)
			at++;
		if (at < sums.count)
			vector_merge(sums.row[at].value, rows->row[i].value, LATENCY_VALUES);
		else
			r = reader_rows_add(
				&sums,
				json_pack("{s:s}", "segment", segment_histograms[segment].name),
				rows->row[i].value, 1);
	}
	return r == 0 ? put_segments(past, &sums, exact) : r;
}

/* For how much of the time that was recorded journeys began to be followed. */
static int put_followed(struct past *past, const struct reader_rows *all, const struct exact *exact)
{
	double covered_ns = (double)past->period.counted.covered_us * 1000;
	struct seen_part seen;
	json_t *followed;

	if (!all->count || covered_ns <= 0)
		return 0;
	seen.unseen_ns = all->row[0].value[SEEN_UNSEEN_NS];
	seen.longest_ns = all->row[0].value[SEEN_LONGEST_NS];
	seen.share = 1 - (double)seen.unseen_ns / covered_ns;
	if (seen.share < 0)
		seen.share = 0;
	followed = control_followed(&seen, exact->unseen_packets, exact->unended);
	return followed ? json_object_set_new(past->head, "followed", followed) : 0;
}

static int read_seen(struct reader *reader, struct reader_rows *seen, struct exact *exact)
{
	int r = reader_sums(reader, HISTORY_SEEN, NULL, NULL, seen);

	if (r == 0 && seen->count) {
		exact->unseen_packets = seen->row[0].value[SEEN_UNSEEN_PACKETS];
		exact->unended.detached = seen->row[0].value[SEEN_DETACHED];
		exact->unended.overwritten = seen->row[0].value[SEEN_OVERWRITTEN];
		exact->unended.missed = seen->row[0].value[SEEN_MISSED];
		exact->missable = (uint64_t)ceil(sqrt((double)seen->row[0].value[SEEN_MISSABLE]));
	}
	return r;
}

/* The numbers that are exact, whatever was followed. */
static int read_exact(struct reader *reader, struct past *past, struct exact *exact)
{
	OWN_READER_ROWS struct reader_rows seen = {0};
	int r = read_seen(reader, &seen, exact);

	if (r == 0)
		r = counted_past_read(reader, past, &exact->counted);
	return r == 0 ? put_followed(past, &seen, exact) : r;
}

int past_read_segments(struct reader *reader, struct past *past)
{
	OWN_READER_ROWS struct reader_rows all = {0}, seen = {0};
	struct exact exact = {0};
	int r = read_seen(reader, &seen, &exact);

	if (r == 0)
		r = reader_sums(reader, HISTORY_LATENCY, NULL, NULL, &all);
	return r == 0 ? put_segments(past, &all, &exact) : r;
}

static int put_all(struct reader *reader, struct past *past, struct exact *exact)
{
	bool placed = past_text(past, "device") || past_text(past, "netns");
	bool single = placed || json_is_true(json_object_get(past->parameters, "all"));
	OWN_READER_ROWS struct reader_rows all = {0}, devices = {0};
	int r = reader_sums(reader, HISTORY_DEVICE, single ? part_of : part_of_total, past,
			    &devices);

	if (r == 0)
		r = counted_past_part(&exact->counted, &devices);
	if (r == 0 && !placed)
		r = reader_sums(reader, HISTORY_LATENCY, part_of, past, &all);
	if (r == 0)
		r = placed ? put_sums(past, &devices, exact) : put_segments(past, &all, exact);
	if (r == 0)
		r = put_worst(past, &devices, exact);
	return r == 0 && single ? put_rows(past, &devices, exact) : r;
}

static int work(struct reader *reader, struct past *past)
{
	struct exact exact = {0};
	int r = read_exact(reader, past, &exact);

	if (r == 0)
		r = put_all(reader, past, &exact);
	if (r == 0)
		r = counted_past_put(past, &exact.counted);
	counted_past_clear(&exact.counted);
	return r;
}

const struct past_kind past_latency = {.member = "latencies", .rows_by_default = 100, .work = work};
