/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/probe/bpf/compact.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/records.h"
#include "common/cleanup.h"
#include "daemon/core/histogram.h"

/* A number takes one byte for each 7 bits. */
#define NUMBER_MAX 10

/* The longest form: every histogram, each with its index, its range, its sums and its maximum. */
#define COMPACT_MAX ((NF_HIST_COUNT * (3 + 4 + NF_HIST_BUCKETS) + 6) * (size_t)NUMBER_MAX)

static unsigned char *put(unsigned char *to, uint64_t number)
{
	while (number > 0x7f) {
		*to++ = (unsigned char)(number | 0x80);
		number >>= 7;
	}
	*to++ = (unsigned char)number;
	return to;
}

static const unsigned char *get(const unsigned char *from, uint64_t *number)
{
	unsigned int shift = 0;

	*number = 0;
	do
		*number |= (uint64_t)(*from & 0x7f) << shift, shift += 7;
	while (*from++ & 0x80);
	return from;
}

/* The programs add to the sum, set the maximum and then count; only durations of 0 have no sum. */
bool compact_hist_is_empty(const struct nf_hist *hist)
{
	return !hist->sum_ns && !hist->max_ns && !hist->bucket[0];
}

void compact_merge(struct nf_device_stats *into, const struct nf_device_stats *from)
{
	for (int i = 0; i < NF_HIST_COUNT; i++)
		if (!compact_hist_is_empty(&from->hist[i]))
			histogram_merge(&into->hist[i], &from->hist[i]);
	into->polls += from->polls;
	into->poll_packets += from->poll_packets;
	into->full_budgets += from->full_budgets;
	into->received += from->received;
	into->received_variance += from->received_variance;
}

static unsigned char *put_hist(unsigned char *to, unsigned int index, const struct nf_hist *hist)
{
	unsigned int first = 0, end = NF_HIST_BUCKETS;

	while (first < end && !hist->bucket[first])
		first++;
	while (end > first && !hist->bucket[end - 1])
		end--;
	to = put(to, index + 1);
	to = put(to, first);
	to = put(to, end - first);
	to = put(to, hist->sum_ns);
	to = put(to, hist->max_ns);
	to = put(to, hist->journeys);
	to = put(to, hist->variance);
	for (unsigned int i = first; i < end; i++)
		to = put(to, hist->bucket[i]);
	return to;
}

static const unsigned char *add_hist(const unsigned char *from, struct nf_hist *hist)
{
	uint64_t first, count, number;

	from = get(from, &first);
	from = get(from, &count);
	from = get(from, &number);
	hist->sum_ns += number;
	from = get(from, &number);
	if (number > hist->max_ns)
		hist->max_ns = number;
	from = get(from, &number);
	hist->journeys += number;
	from = get(from, &number);
	hist->variance += number;
	for (uint64_t i = first; i < first + count; i++) {
		from = get(from, &number);
		hist->bucket[i] += number;
	}
	return from;
}

int compact_new(struct compact **compact, const struct nf_device_stats *stats)
{
	OWN_FREE unsigned char *all = malloc(COMPACT_MAX);
	unsigned char *to = all;
	struct compact *fresh;

	if (!all)
		return -ENOMEM;
	to = put(to, stats->polls);
	to = put(to, stats->poll_packets);
	to = put(to, stats->full_budgets);
	to = put(to, stats->received);
	to = put(to, stats->received_variance);
	for (unsigned int i = 0; i < NF_HIST_COUNT; i++)
		if (!compact_hist_is_empty(&stats->hist[i]))
			to = put_hist(to, i, &stats->hist[i]);
	to = put(to, 0);
	fresh = malloc(sizeof(*fresh) + (size_t)(to - all));
	if (!fresh)
		return -ENOMEM;
	fresh->bytes = (uint32_t)(to - all);
	memcpy(fresh->data, all, fresh->bytes);
	*compact = fresh;
	return 0;
}

void compact_add(const struct compact *compact, struct nf_device_stats *into)
{
	const unsigned char *from;
	uint64_t number, index;

	if (!compact)
		return;
	from = compact->data;
	from = get(from, &number);
	into->polls += number;
	from = get(from, &number);
	into->poll_packets += number;
	from = get(from, &number);
	into->full_budgets += number;
	from = get(from, &number);
	into->received += number;
	from = get(from, &number);
	into->received_variance += number;
	for (from = get(from, &index); index; from = get(from, &index))
		from = add_hist(from, &into->hist[index - 1]);
}
