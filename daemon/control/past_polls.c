/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GetNapi and GetSlots for the past. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "daemon/control/past.h"
#include "daemon/core/histogram.h"
#include "daemon/history/series.h"

/* Too many devices: those that come later have no name, only a CPU. */
static json_t *part_of(json_t *name, bool full, void *userdata)
{
	json_t *cpu = json_object_get(name, "cpu");

	if (!past_takes_place(userdata, name))
		return NULL;
	if (!full)
		return json_incref(name);
	return cpu ? json_pack("{s:O}", "cpu", cpu) : json_object();
}

static void note_weight(struct past *past, const struct reader_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		if (rows->row[i].weight > past->weight)
			past->weight = rows->row[i].weight;
}

/* Append an object, which is stolen, with the members of the series' name. */
static int put_row(json_t *rows, json_t *object, const json_t *name)
{
	if (!object || json_object_update(object, (json_t *)name) != 0) {
		json_decref(object);
		return -ENOMEM;
	}
	return json_array_append_new(rows, object) ? -ENOMEM : 0;
}

/* ---- GetNapi ---------------------------------------------------------------------------- */

static int by_polls(const void *a, const void *b)
{
	uint64_t x = ((const struct reader_row *)a)->value[NAPI_POLLS];
	uint64_t y = ((const struct reader_row *)b)->value[NAPI_POLLS];

	return x > y ? -1 : x < y;
}

static json_t *quantile(const struct nf_hist *hist, double q)
{
	uint64_t ns;

	return histogram_quantile(hist, q, &ns) == 0 ? json_integer(json_count(ns)) : NULL;
}

/* The waits of a CPU.  What /proc/net/softnet_stat counts since boot is not in the history. */
static json_t *cpu_to_json(const struct reader_row *row)
{
	struct nf_hist hist = {.max_ns = row->value[LATENCY_MAX_NS],
			       .sum_ns = row->value[LATENCY_SUM_NS]};
	double mean;

	memcpy(hist.bucket, row->value + LATENCY_BUCKET, sizeof(hist.bucket));
	if (histogram_mean(&hist, &mean) < 0)
		return NULL;
	return json_pack("{s:O, s:I, s:f, s:o*, s:o*, s:I}", "cpu",
			 json_object_get(row->name, "cpu"), "wait_count",
			 json_count(histogram_count(&hist)), "wait_mean_ns", mean, "wait_p50_ns",
			 quantile(&hist, 0.5), "wait_p99_ns", quantile(&hist, 0.99), "wait_max_ns",
			 json_count(hist.max_ns));
}

static int by_cpu(const void *a, const void *b)
{
	const json_t *x = ((const struct reader_row *)a)->name;
	const json_t *y = ((const struct reader_row *)b)->name;

	return (int)(json_integer_value(json_object_get(x, "cpu")) -
		     json_integer_value(json_object_get(y, "cpu")));
}

static int put_cpus(struct reader *reader, struct past *past)
{
	OWN_READER_ROWS struct reader_rows rows = {0};
	json_t *cpus = json_array();
	int r = reader_sums(reader, HISTORY_SOFTIRQ, NULL, NULL, &rows);

	if (rows.count)
		qsort(rows.row, rows.count, sizeof(*rows.row), by_cpu);
	for (size_t i = 0; i < rows.count; i++) {
		json_t *cpu = cpu_to_json(&rows.row[i]);

		if (cpu)
			json_array_append_new(cpus, cpu);
	}
	if (json_object_set_new(past->head, "cpus", cpus))
		return -ENOMEM;
	return r;
}

static int work_napi(struct reader *reader, struct past *past)
{
	OWN_READER_ROWS struct reader_rows rows = {0};
	int r = reader_sums(reader, HISTORY_NAPI, part_of, past, &rows);

	note_weight(past, &rows);
	if (r == 0 && rows.count)
		qsort(rows.row, rows.count, sizeof(*rows.row), by_polls);
	for (size_t i = 0; i < rows.count && i < past->limit && r == 0; i++) {
		const uint64_t *value = rows.row[i].value;

		r = put_row(past->rows,
			    json_pack("{s:I, s:I, s:I}", "polls", json_count(value[NAPI_POLLS]),
				      "packets", json_count(value[NAPI_PACKETS]), "full_budgets",
				      json_count(value[NAPI_FULL])),
			    rows.row[i].name);
	}
	if (r == 0)
		r = json_object_set_new(past->head, "matched", json_integer(json_count(rows.count)))
			    ? -ENOMEM
			    : 0;
	return r == 0 ? put_cpus(reader, past) : r;
}

const struct past_kind past_napi = {.member = "napi", .rows_by_default = 100, .work = work_napi};

/* ---- GetSlots ---------------------------------------------------------------------------- */

static json_t *histogram(const uint64_t *value, uint64_t *transmits)
{
	json_t *list = json_array();

	*transmits = 0;
	for (int i = 0; i < NF_SLOTS_BUCKETS; i++) {
		uint64_t count = value[SLOTS_BUCKET + i];

		*transmits += count;
		if (count)
			json_array_append_new(list, json_pack("{s:i, s:b, s:I}", "slots", i,
							      "or_more", i == NF_SLOTS_BUCKETS - 1,
							      "count", json_count(count)));
	}
	return list;
}

static json_t *slots_to_json(const uint64_t *value)
{
	uint64_t transmits, overflows = 0;
	json_t *list = histogram(value, &transmits);
	const uint64_t *outcome = value + SLOTS_OVERFLOW;

	for (int i = 0; i < NF_SLOTS_OUTCOMES; i++)
		overflows += outcome[i];
	return json_pack("{s:I, s:o, s:I, s:I, s:{s:I, s:I, s:I, s:I, s:I}, s:I, s:o*}",
			 "transmits", json_count(transmits), "histogram", list, "near_misses",
			 json_count(value[SLOTS_NEAR]), "overflows", json_count(overflows),
			 "outcomes", "sent", json_count(outcome[NF_SLOTS_SENT]), "linearized",
			 json_count(outcome[NF_SLOTS_LINEARIZED]), "dropped",
			 json_count(outcome[NF_SLOTS_DROPPED]), "requeued",
			 json_count(outcome[NF_SLOTS_REQUEUED]), "unseen",
			 json_count(outcome[NF_SLOTS_UNSEEN]), "too_big",
			 json_count(value[SLOTS_TOO_BIG]), "last_overflow",
			 value[SLOTS_LAST_US] ? past_time((int64_t)value[SLOTS_LAST_US]) : NULL);
}

static int work_slots(struct reader *reader, struct past *past)
{
	OWN_READER_ROWS struct reader_rows rows = {0};
	int r = reader_sums(reader, HISTORY_SLOTS, part_of, past, &rows);

	note_weight(past, &rows);
	for (size_t i = 0; i < rows.count && i < past->limit && r == 0; i++)
		r = put_row(past->rows, slots_to_json(rows.row[i].value), rows.row[i].name);
	if (r < 0)
		return r;
	r = json_object_set_new(past->head, "matched", json_integer(json_count(rows.count)));
	r |= json_object_set_new(past->head, "limit",
				 json_integer(past->control->parts.slots_limit));
	json_object_del(past->head, "elapsed_ns");
	return r ? -ENOMEM : 0;
}

const struct past_kind past_slots = {
	.member = "devices", .rows_by_default = 100, .work = work_slots};
