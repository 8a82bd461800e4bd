/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/rows/latency_row.h"

#include <math.h>

#include "common/saturate.h"
#include "daemon/core/histogram.h"

void latency_row_merge(struct latency_row *row, const struct latency_row *other)
{
	histogram_merge(&row->hist, &other->hist);
	row->variance = add_saturated(row->variance, other->variance);
	row->tied = add_saturated(row->tied, other->tied);
}

bool latency_row_margin(const struct latency_row *row, const struct latency_doubt *doubt,
			struct latency_margin *margin)
{
	uint64_t all = row->packets ? *row->packets : 0, count = histogram_count(&row->hist);
	uint64_t most = add_saturated(all > count ? all - count : count - all, row->tied);
	uint64_t unseen = add_saturated(doubt->unseen, doubt->unended);
	uint64_t missable = doubt->missable;
	double joined;

	margin->drawn = histogram_margin(row->variance);
	if (row->packets && doubt->limits) {
		unseen = most < unseen ? most : unseen;
		missable = most < missable ? most : missable;
	}
	if (!margin->drawn && !unseen && !missable) {
		margin->drawn = margin->all = histogram_count_margin(&row->hist);
		return histogram_is_estimate(&row->hist);
	}
	joined = ceil(hypot(hypot((double)margin->drawn, (double)unseen), (double)missable));
	margin->all = joined < (double)INT64_MAX ? (uint64_t)joined : INT64_MAX;
	return true;
}

bool worst_is_before(const struct worst_row *a, const struct worst_row *b)
{
	bool many = a->count >= WORST_PACKETS, more = b->count >= WORST_PACKETS;

	return many != more ? many : a->p99_ns > b->p99_ns;
}

void worst_consider(struct worst *worst, const struct worst_row *row)
{
	size_t at = worst_count(worst);

	while (at > 0 && worst_is_before(row, &worst->row[at - 1])) {
		if (at < WORST_ROWS)
			worst->row[at] = worst->row[at - 1];
		at--;
	}
	if (at < WORST_ROWS)
		worst->row[at] = *row;
	worst->considered++;
}
