/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/cost/seen.h"

void seen_begin(struct seen *seen, uint64_t now_ns)
{
	*seen = (struct seen){.start_ns = now_ns, .since_ns = now_ns};
}

static void add_gap(struct seen *seen, uint64_t now_ns)
{
	uint64_t ns = now_ns - seen->since_ns;

	if (!ns)
		return;
	seen->gaps_ns += ns;
	if (ns > seen->longest_ns)
		seen->longest_ns = ns;
	seen->gap[seen->gaps % SEEN_GAPS_MAX].from_ns = seen->since_ns;
	seen->gap[seen->gaps % SEEN_GAPS_MAX].to_ns = now_ns;
	seen->gaps++;
}

void seen_set(struct seen *seen, bool now, uint64_t now_ns)
{
	if (seen->now == now)
		return;
	if (now)
		add_gap(seen, now_ns);
	seen->now = now;
	seen->since_ns = now_ns;
}

static void count(uint64_t from_ns, uint64_t to_ns, struct seen_part *part, uint64_t *gaps_ns)
{
	uint64_t ns;

	if (to_ns <= part->from_ns)
		return;
	ns = to_ns - (from_ns > part->from_ns ? from_ns : part->from_ns);
	*gaps_ns += ns;
	if (ns > part->longest_ns)
		part->longest_ns = ns;
}

struct seen_part seen_part(const struct seen *seen, uint64_t from_ns, uint64_t now_ns)
{
	uint64_t first = seen->gaps > SEEN_GAPS_MAX ? seen->gaps - SEEN_GAPS_MAX : 0, gaps_ns = 0;
	struct seen_part part = {.from_ns = from_ns > seen->start_ns ? from_ns : seen->start_ns};

	if (part.from_ns == seen->start_ns) {
		gaps_ns = seen->gaps_ns;
		part.longest_ns = seen->longest_ns;
	} else {
		if (first && seen->gap[first % SEEN_GAPS_MAX].from_ns > part.from_ns)
			part.from_ns = seen->gap[first % SEEN_GAPS_MAX].from_ns;
		for (uint64_t i = first; i < seen->gaps; i++)
			count(seen->gap[i % SEEN_GAPS_MAX].from_ns,
			      seen->gap[i % SEEN_GAPS_MAX].to_ns, &part, &gaps_ns);
	}
	if (!seen->now)
		count(seen->since_ns, now_ns, &part, &gaps_ns);
	part.unseen_ns = gaps_ns;
	part.share = now_ns > part.from_ns ? 1 - (double)gaps_ns / (double)(now_ns - part.from_ns)
					   : (double)seen->now;
	return part;
}
