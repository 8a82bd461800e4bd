/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GetLatency for the past. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/json.h"
#include "daemon/core/histogram.h"
#include "daemon/core/stages.h"
#include "daemon/cost/seen.h"
#include "daemon/history/series.h"
#include "daemon/json/json.h"
#include "daemon/sources/counted.h"
#include "daemon/sources/latency_list.h"
#include "daemon/sources/past.h"

struct latency_question {
	struct latency_list list;    /* worst.row[].row: of `devices` */
	struct reader_rows devices;  /* by device, and its segments in their order */
	struct counted_past counted; /* by the kernel */
};

static void question_clear(struct latency_question *question)
{
	latency_list_clear(&question->list);
	reader_rows_clear(&question->devices);
	counted_past_clear(&question->counted);
}
#define OWN_QUESTION CLEANUP(question_clear)

/* NF_SEGMENT_COUNT: this netflowd does not know it. */
static enum nf_segment segment_of(const struct series_name *name)
{
	int i = 0;

	while (i < NF_SEGMENT_COUNT &&
	       (!name->segment || strcmp(segment_histograms[i].name, name->segment) != 0))
		i++;
	return (enum nf_segment)i;
}

static void get_row(const struct reader_row *from, const struct counted_past *counted,
		    struct latency_row *row)
{
	*row = (struct latency_row){.segment = segment_of(&from->name),
				    .device = from->name.device,
				    .group = from->name.other ? JSON_GROUP_OTHER : NULL,
				    .devices = -1,
				    .variance = from->value[LATENCY_VARIANCE],
				    .tied = from->value[LATENCY_UNSEEN]};
	series_hist(from->value, &row->hist);
	if (counted)
		row->packets = counted_past_packets(counted, &row->device, row->segment);
}

/* ---- what was not followed ------------------------------------------------------------ */

/* For how much of the time that was recorded journeys began to be followed. */
static int put_followed(struct past *past, const struct latency_list *list,
			const struct reader_rows *seen)
{
	double covered_ns = (double)past->period.counted.covered_us * 1000;
	struct seen_part part = {0};
	json_t *followed;

	if (!seen->count || covered_ns <= 0)
		return 0;
	part.unseen_ns = seen->row[0].value[SEEN_UNSEEN_NS];
	part.longest_ns = seen->row[0].value[SEEN_LONGEST_NS];
	part.share = fmax(0, 1 - (double)part.unseen_ns / covered_ns);
	followed = latency_list_followed(list, &part);
	return followed ? json_object_set_new(past->head, "followed", followed) : 0;
}

/* HISTORY_SEEN has one row, or none. */
static void set_doubt(struct latency_list *list, const struct reader_rows *rows)
{
	const uint64_t *seen;

	list->doubt.limits = true;
	if (!rows->count)
		return;
	seen = rows->row[0].value;
	list->unended = (struct reading_unended){.detached = seen[SEEN_DETACHED],
						 .overwritten = seen[SEEN_OVERWRITTEN],
						 .missed = seen[SEEN_MISSED]};
	list->doubt.unended = reading_unended_packets(list->unended);
	list->doubt.unseen = seen[SEEN_UNSEEN_PACKETS];
	list->doubt.missable = (uint64_t)ceil(sqrt((double)seen[SEEN_MISSABLE]));
}

static int read_doubt(struct reader *reader, struct latency_list *list, struct reader_rows *seen)
{
	int r = latency_list_init(list);

	if (r == 0)
		r = reader_sums(reader, HISTORY_SEEN, NULL, NULL, seen);
	set_doubt(list, seen);
	return r;
}

/* ---- what to read --------------------------------------------------------------------- */

static bool takes_segment(struct series_name *name, bool full, void *userdata)
{
	(void)full;
	(void)userdata;
	return segment_of(name) < NF_SEGMENT_COUNT;
}

static bool takes_row(struct series_name *name, bool full, void *userdata)
{
	return segment_of(name) < NF_SEGMENT_COUNT && past_project_device(name, full, userdata);
}

/* Of `worst`, when no rows are asked for, only the totals matter. */
static bool takes_total(struct series_name *name, bool full, void *userdata)
{
	return takes_row(name, full, userdata) && segment_is_total(segment_of(name));
}

/* By name, and 0 for the same device. */
static int compare_devices(const struct device *x, const struct device *y)
{
	int order = strcmp(x->name ? x->name : "", y->name ? y->name : "");

	if (!order)
		order = ORDER(x->netns, y->netns);
	return order ? order : ORDER(x->ifindex, y->ifindex);
}

/* By device, and its segments in their order. */
static int by_device(const void *a, const void *b)
{
	const struct series_name *x = &((const struct reader_row *)a)->name;
	const struct series_name *y = &((const struct reader_row *)b)->name;
	int order = compare_devices(&x->device, &y->device);

	return order ? order : ORDER(segment_of(x), segment_of(y));
}

static void add_rows(struct latency_list *list, const struct reader_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		struct latency_row row;

		get_row(&rows->row[i], NULL, &row);
		latency_list_add(list, &row);
	}
}

static int read_segments(struct reader *reader, struct latency_list *list)
{
	OWN_READER_ROWS struct reader_rows rows = {0};
	int r = reader_sums(reader, HISTORY_LATENCY, takes_segment, NULL, &rows);

	add_rows(list, &rows);
	return r;
}

/* The worst total of each device. */
static void find_worst(struct latency_question *question)
{
	const struct reader_rows *rows = &question->devices;
	struct worst_row worst = {0};

	for (size_t i = 0; i < rows->count; i++) {
		const struct device *device = &rows->row[i].name.device;
		struct worst_row one = {.row = i};
		struct latency_row row;

		get_row(&rows->row[i], NULL, &row);
		one.count = histogram_count(&row.hist);
		if (!segment_is_total(row.segment) || !one.count)
			continue;
		histogram_quantile(&row.hist, 0.99, &one.p99_ns);
		if (worst.count &&
		    compare_devices(device, &rows->row[worst.row].name.device) != 0) {
			worst_consider(&question->list.worst, &worst);
			worst.count = 0;
		}
		if (!worst.count || worst_is_before(&one, &worst))
			worst = one;
	}
	if (worst.count)
		worst_consider(&question->list.worst, &worst);
}

/* ---- the reply ------------------------------------------------------------------------ */

static int put_rows(struct past *past, const struct latency_question *question)
{
	const struct reader_rows *rows = &question->devices;

	for (size_t i = 0; i < rows->count && json_array_size(past->rows) < past->limit; i++) {
		struct latency_row row;

		get_row(&rows->row[i], &question->counted, &row);
		if (histogram_count(&row.hist) &&
		    json_array_append_new(past->rows, json_latency(&row, &question->list.doubt)))
			return -ENOMEM;
	}
	return 0;
}

static int put_worst(struct past *past, const struct latency_question *question)
{
	const struct worst *worst = &question->list.worst;
	json_t *list = json_array();

	for (size_t i = 0; i < worst_count(worst); i++) {
		struct latency_row row;

		get_row(&question->devices.row[worst->row[i].row], &question->counted, &row);
		json_array_append_new(list, json_latency(&row, &question->list.doubt));
	}
	return json_object_set_new(past->head, "devices",
				   json_integer(json_count(worst->considered))) ||
			       json_object_set_new(past->head, "worst", list)
		       ? -ENOMEM
		       : 0;
}

static int put_segments(struct past *past, const struct latency_list *list)
{
	return json_object_set_new(past->head, "segments", latency_list_segments(list)) ? -ENOMEM
											: 0;
}

int past_read_segments(struct reader *reader, struct past *past)
{
	OWN_LATENCY_LIST struct latency_list list = {0};
	OWN_READER_ROWS struct reader_rows seen = {0};
	int r = read_doubt(reader, &list, &seen);

	if (r == 0)
		r = read_segments(reader, &list);
	return r == 0 ? put_segments(past, &list) : r;
}

static int read_all(struct reader *reader, struct past *past, struct latency_question *question)
{
	bool placed = past_text(past, "device") || past_text(past, "netns");
	bool rows = placed || json_is_true(json_object_get(past->parameters, "all"));
	struct reader_rows *devices = &question->devices;
	int r = reader_sums(reader, HISTORY_DEVICE, rows ? takes_row : takes_total, past, devices);

	if (r < 0)
		return r;
	if (devices->count)
		qsort(devices->row, devices->count, sizeof(*devices->row), by_device);
	counted_past_part(&question->counted, devices);
	find_worst(question);
	if (placed)
		add_rows(&question->list, devices);
	else
		r = read_segments(reader, &question->list);
	return r == 0 && rows ? put_rows(past, question) : r;
}

static int work(struct reader *reader, struct past *past)
{
	OWN_QUESTION struct latency_question question = {0};
	OWN_READER_ROWS struct reader_rows seen = {0};
	int r = read_doubt(reader, &question.list, &seen);

	if (r == 0)
		r = put_followed(past, &question.list, &seen);
	if (r == 0)
		r = counted_past_read(reader, past, &question.counted);
	if (r == 0)
		r = read_all(reader, past, &question);
	if (r == 0)
		r = put_segments(past, &question.list);
	if (r == 0)
		r = put_worst(past, &question);
	return r == 0 ? counted_past_put(past, &question.counted) : r;
}

const struct past_kind past_latency = {.member = "latencies", .rows_by_default = 100, .work = work};
