/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/sources/latency_list.h"

#include <errno.h>
#include <stdlib.h>

#include "common/json.h"
#include "daemon/core/histogram.h"
#include "daemon/cost/seen.h"
#include "daemon/json/json.h"

int latency_list_init(struct latency_list *list)
{
	list->sum = calloc(NF_SEGMENT_COUNT, sizeof(*list->sum));
	for (int i = 0; list->sum && i < NF_SEGMENT_COUNT; i++)
		list->sum[i].segment = (enum nf_segment)i;
	return list->sum ? 0 : -ENOMEM;
}

void latency_list_clear(struct latency_list *list)
{
	free(list->sum);
	list->sum = NULL;
}

void latency_list_add(struct latency_list *list, const struct latency_row *row)
{
	latency_row_merge(&list->sum[row->segment], row);
}

json_t *latency_list_segments(const struct latency_list *list)
{
	json_t *rows = json_array();

	for (int i = 0; i < NF_SEGMENT_COUNT; i++)
		if (histogram_count(&list->sum[i].hist))
			json_array_append_new(rows, json_latency(&list->sum[i], &list->doubt));
	return rows;
}

json_t *latency_list_followed(const struct latency_list *list, const struct seen_part *seen)
{
	const struct reading_unended *unended = &list->unended;
	json_t *followed;

	if (!seen->unseen_ns && !reading_unended_packets(*unended))
		return NULL;
	followed = json_pack("{s:f, s:I, s:I, s:I}", "percent", 100 * seen->share, "longest_gap_ns",
			     json_count(seen->longest_ns), "unseen_ns", json_count(seen->unseen_ns),
			     "unseen_packets", json_count(list->doubt.unseen));
	if (unended->detached)
		json_object_set_new(followed, "detached_packets",
				    json_integer(json_count(unended->detached)));
	if (unended->overwritten)
		json_object_set_new(followed, "overwritten_packets",
				    json_integer(json_count(unended->overwritten)));
	if (unended->missed)
		json_object_set_new(followed, "missed_packets",
				    json_integer(json_count(unended->missed)));
	return followed;
}
