/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Segments of a journey by name. */
#include <errno.h>
#include <string.h>

#include "common/array.h"
#include "common/nearest.h"
#include "common/segment_name.h"
#include "daemon/core/stages.h"

#define STAGES(a, b) .from = NF_STAGE_##a, .to = NF_STAGE_##b

const struct segment_histogram segment_histograms[NF_SEGMENT_COUNT] = {
	[NF_SEGMENT_IRQ_TO_SOFTIRQ] = {"irq_to_softirq", "rx", STAGES(IRQ, SOFTIRQ_ENTRY)},
	[NF_SEGMENT_RAISE_TO_SOFTIRQ] = {"raise_to_softirq", "rx",
					 STAGES(SOFTIRQ_RAISE, SOFTIRQ_ENTRY)},
	[NF_SEGMENT_SOFTIRQ_TO_RECEIVE] = {"softirq_to_receive", "rx",
					   STAGES(SOFTIRQ_ENTRY, RECEIVE)},
	[NF_SEGMENT_GAP_WAIT] = {"gap_wait", "rx", STAGES(RECEIVE, GAP_FILLED)},
	[NF_SEGMENT_RECEIVE_TO_SOCK_QUEUE] = {"receive_to_sock_queue", "rx",
					      STAGES(RECEIVE, SOCK_QUEUE)},
	[NF_SEGMENT_WAKEUP_TO_RUN] = {"wakeup_to_run", "rx", STAGES(WAKEUP, RUN)},
	[NF_SEGMENT_RUN_TO_COPY] = {"run_to_copy", "rx", STAGES(RUN, COPY)},
	[NF_SEGMENT_RECEIVE_TO_COPY] = {"receive_to_copy", "rx", STAGES(RECEIVE, COPY)},
	[NF_SEGMENT_RX_TOTAL] = {"rx_total", "rx", STAGES(IRQ, COPY), .total = true},
	[NF_SEGMENT_RECEIVE_TO_QUEUE] = {"receive_to_queue", "fwd", STAGES(RECEIVE, QUEUE)},
	[NF_SEGMENT_FORWARD_TOTAL] = {"forward_total", "fwd", STAGES(IRQ, XMIT), .total = true},
	[NF_SEGMENT_QUEUE_TO_START] = {"queue_to_start_xmit", "tx", STAGES(QUEUE, START_XMIT)},
	[NF_SEGMENT_START_TO_XMIT] = {"start_xmit_to_xmit", "tx", STAGES(START_XMIT, XMIT)},
	[NF_SEGMENT_XMIT_TO_FREE] = {"xmit_to_free", "tx", STAGES(XMIT, FREE)},
	[NF_SEGMENT_TX_TOTAL] = {"tx_total", "tx", STAGES(QUEUE, XMIT)},
};

/* The totals that only journeys with one outcome have. */
static const struct {
	enum nf_segment segment;
	enum nf_outcome outcome;
} totals[] = {{NF_SEGMENT_RX_TOTAL, NF_OUTCOME_DELIVERED},
	      {NF_SEGMENT_FORWARD_TOTAL, NF_OUTCOME_FORWARDED},
	      {NF_SEGMENT_TX_TOTAL, NF_OUTCOME_TRANSMITTED}};

bool segment_is_total(enum nf_segment segment)
{
	for (size_t i = 0; i < ARRAY_SIZE(totals); i++)
		if (totals[i].segment == segment)
			return true;
	return false;
}

struct segment_text segment_between(enum nf_stage from, enum nf_stage to)
{
	return segment_name_join(stage_name(from), stage_name(to));
}

/* Whether a journey can have `from` before `to`. */
static bool possible(enum nf_stage from, enum nf_stage to)
{
	if (from == NF_STAGE_SOFTIRQ_RAISE && to == NF_STAGE_IRQ)
		return true;
	if (from > NF_STAGE_RECEIVE && from <= NF_STAGE_COPY && to > NF_STAGE_COPY)
		return false;
	return from < to;
}

static struct segment of_total(const struct segment_histogram *histogram, enum nf_outcome outcome)
{
	return (struct segment){
		.total = histogram->total,
		.one_way = true,
		.outcome = outcome,
		.from = histogram->from,
		.to = histogram->to,
	};
}

/* Find the pair of stages, or the total, with this identifier. */
static int find(struct segment *segment, const char *name)
{
	if (!strcmp(name, SEGMENT_NAME_TOTAL)) {
		*segment = (struct segment){.total = true};
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(totals); i++)
		if (!strcmp(segment_histograms[totals[i].segment].name, name)) {
			*segment =
				of_total(&segment_histograms[totals[i].segment], totals[i].outcome);
			return 0;
		}
	for (int from = 0; from < NF_STAGE_COUNT; from++)
		for (int to = 0; to < NF_STAGE_COUNT; to++) {
			enum nf_stage a = (enum nf_stage)from, b = (enum nf_stage)to;

			if (possible(a, b) && !strcmp(segment_between(a, b).s, name)) {
				*segment = (struct segment){.from = a, .to = b};
				return 0;
			}
		}
	return -ENOENT;
}

/* The candidate does not outlive the call, so `best` gets a copy of the nearest one. */
static void consider(struct nearest *nearest, const char *name, char best[static SEGMENT_NAME_MAX])
{
	nearest_consider(nearest, name);
	if (nearest->best == name) {
		strcpy(best, name);
		nearest->best = best;
	}
}

static void find_nearest(const char *text, char best[static SEGMENT_NAME_MAX])
{
	struct nearest nearest;

	best[0] = '\0';
	nearest_init(&nearest, text);
	consider(&nearest, SEGMENT_NAME_TOTAL, best);
	for (size_t i = 0; i < ARRAY_SIZE(totals); i++)
		consider(&nearest, segment_histograms[totals[i].segment].name, best);
	for (int from = 0; from < NF_STAGE_COUNT; from++)
		for (int to = 0; to < NF_STAGE_COUNT; to++) {
			enum nf_stage a = (enum nf_stage)from, b = (enum nf_stage)to;

			if (possible(a, b))
				consider(&nearest, segment_between(a, b).s, best);
		}
}

int segment_parse(struct segment *segment, const char *text, char nearest[static SEGMENT_NAME_MAX])
{
	struct segment_text name = segment_name_read(text);

	if (find(segment, name.s) == 0)
		return 0;
	find_nearest(name.s, nearest);
	return -EINVAL;
}

uint64_t stages_ns(const struct stages *stages, enum nf_stage stage)
{
	for (size_t i = 0; i < stages->count; i++)
		if (stages->stage[i].stage == stage)
			return stages->stage[i].time_ns;
	return 0;
}

bool segment_time(const struct stages *stages, const struct segment *segment, uint64_t *ns)
{
	uint64_t from = stages->stage[0].time_ns, to = stages_ns(stages, segment->to);

	if (segment->one_way && stages->outcome != segment->outcome)
		return false;
	if (segment->total && !segment->one_way) {
		*ns = stages->total_ns;
		return true;
	}
	if (!segment->total)
		from = stages_ns(stages, segment->from);
	/* The wait behind a gap is not the stack's, whose own time is not known then, see bpf/queued.h. */
	if (segment->from == NF_STAGE_RECEIVE && segment->to == NF_STAGE_SOCK_QUEUE &&
	    stages_ns(stages, NF_STAGE_GAP_FILLED))
		return false;
	if (!from || !to || to < from)
		return false;
	*ns = to - from;
	return true;
}
