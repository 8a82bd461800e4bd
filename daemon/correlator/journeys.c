/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Latency records: of slow journeys and of a random sample, as bpf/journey.h chooses and limits them. */
#include <string.h>

#include "bpf/throttle.h"
#include "daemon/correlator/internal.h"

#define NS_PER_SECOND UINT64_C(1000000000)

/* One in N of all; what is left of the time and the address is the random number. */
static bool is_sampled(const struct correlator *c, const struct inflight *e, uint64_t time_ns)
{
	uint64_t one_in = c->settings.sample_one_in;

	return one_in && hash(time_ns ^ e->skb >> 6, 32) < UINT32_MAX / one_in;
}

static bool admit(const struct correlator *c, struct nf_bucket *bucket, uint64_t now)
{
	uint64_t interval_ns = NS_PER_SECOND / c->settings.journey_rate;

	return nf_throttle_admit(bucket, now, interval_ns,
				 (c->settings.journey_burst - 1) * interval_ns);
}

static void fill_stages(struct nf_journey_record *r, const struct inflight *e,
			const struct journey_end *end)
{
	r->stage_ns[NF_STAGE_IRQ] = e->irq_ns;
	r->stage_ns[NF_STAGE_SOFTIRQ_RAISE] = e->raise_ns;
	r->stage_ns[NF_STAGE_SOFTIRQ_ENTRY] = e->entry_ns;
	r->stage_ns[NF_STAGE_RECEIVE] = e->receive_ns;
	if (e->journey == NF_JOURNEY_RX) {
		r->stage_ns[NF_STAGE_SOCK_QUEUE] = e->sock_queue_ns;
		r->stage_ns[NF_STAGE_WAKEUP] = e->wakeup_ns;
		r->stage_ns[NF_STAGE_RUN] = e->run_ns;
		r->stage_ns[NF_STAGE_COPY] = end->time_ns;
		return;
	}
	if (!(e->flags & NF_JOURNEY_NO_QUEUE))
		r->stage_ns[NF_STAGE_QUEUE] = e->begin_ns;
	r->stage_ns[NF_STAGE_START_XMIT] = e->start_ns;
	r->stage_ns[NF_STAGE_XMIT] = e->xmit_ns;
	if (end->freed)
		r->stage_ns[NF_STAGE_FREE] = end->time_ns;
}

static void fill_devices(struct nf_journey_record *r, const struct correlator *c,
			 const struct inflight *e)
{
	for (int i = 0; i < e->devices; i++) {
		if (e->device[i] == DEVICE_NONE)
			continue;
		memcpy(r->device[r->devices++].name, c->device[e->device[i]]->name, NF_DEVICE_NAME);
	}
}

static void send(struct correlator *c, const struct inflight *e, const struct journey_end *end,
		 bool slow)
{
	struct nf_journey_record r = {
		.header = {.type = NF_RECORD_JOURNEY,
			   .cpu = (__u16)end->cpu,
			   .size = sizeof(r),
			   .time_ns = end->time_ns},
		.outcome = (__u8)end->outcome,
		.flags = (__u8)(e->flags | (slow ? NF_JOURNEY_SLOW : 0) |
				(end->task ? NF_JOURNEY_TASK : 0)),
		.task = {.tid = end->tid},
		.bytes = {.len = e->len, .protocol = e->protocol},
	};

	fill_stages(&r, e, end);
	fill_devices(&r, c, e);
	c->sink.journey(c->sink.userdata, &r);
}

void journey_end(struct correlator *c, const struct inflight *e, const struct journey_end *end)
{
	bool slow = end->slow || e->flags & NF_JOURNEY_SLOW;

	if (!slow && !is_sampled(c, e, end->time_ns))
		return;
	count(c, end->probe, NF_EVENT_CHOSEN);
	if (!admit(c, &c->cpu[end->cpu]->bucket, end->time_ns)) {
		count(c, end->probe, NF_EVENT_THROTTLED);
		return;
	}
	send(c, e, end, slow);
	count(c, end->probe, NF_EVENT_RECORDED);
}
