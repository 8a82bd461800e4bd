/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From queue to free.
 *
 * As in receive.c, addresses are not enough to know an skb:
 *
 *   - an skb that is queued after it was received is forwarded, if it is in the same run of the softirq, no socket has
 *     it, no other skb was received since (other than in one list), and it is longer by headers only; otherwise it is
 *     another one, as an ACK in the memory of the segment that it acknowledges;
 *   - an skb that is queued inside its own start_xmit goes on to the device below (VLAN, bond);
 *   - an skb that starts is the queued one if its length is the same, or longer by a VLAN tag.
 */
#include "daemon/correlator/internal.h"

#define HEADERS_MAX 128 /* bytes that tunnels and link headers add */
#define VLAN_TAG 4	/* bytes */

static struct nf_xmit_frame *innermost(struct cpu *cpu)
{
	uint32_t depth = cpu->current->xmit_depth;

	return depth ? &cpu->current->xmit[depth - 1] : NULL;
}

static bool in_start_xmit(struct cpu *cpu, uint64_t skb)
{
	const struct nf_xmit_frame *frame = innermost(cpu);

	return frame && frame->skb == skb;
}

static bool is_forwarded(const struct inflight *e, const struct cpu *cpu, const struct event *event)
{
	return e->journey == NF_JOURNEY_RX && !e->sock_queue_ns && e->batch == cpu->batch &&
	       e->run == context_run(cpu, event) && event->len >= e->len &&
	       event->len - e->len <= HEADERS_MAX;
}

static void forward(struct correlator *c, struct inflight *e, uint16_t device,
		    const struct event *event)
{
	if (device_time(c, device, NF_SEGMENT_RECEIVE_TO_QUEUE, e->begin_ns, event->time_ns))
		e->flags |= NF_JOURNEY_SLOW;
	inflight_cross(e, device);
	e->journey = NF_JOURNEY_FORWARD;
	e->begin_ns = event->time_ns;
	e->len = event->len;
}

/* net_dev_queue(): ends receive→queue of a forwarded skb. */
void transmit_queue(struct correlator *c, struct cpu *cpu, struct inflight *e,
		    const struct event *event)
{
	uint16_t device = device_find(c, event->device);

	if (e && is_forwarded(e, cpu, event)) {
		forward(c, e, device, event);
		return;
	}
	if (e && e->journey != NF_JOURNEY_RX && in_start_xmit(cpu, event->skb))
		inflight_end(c, event->probe, e, transmit_event(e));
	else
		inflight_end(c, event->probe, e, NF_EVENT_INVALIDATED);
	inflight_begin(c, event, NF_JOURNEY_TX, device);
}

static void push(struct cpu *cpu, uint64_t skb, uint64_t start_ns, uint16_t device)
{
	struct nf_context *context = cpu->current;

	if (context->xmit_depth < NF_XMIT_DEPTH)
		context->xmit[context->xmit_depth++] =
			(struct nf_xmit_frame){.skb = skb, .start_ns = start_ns, .slot = device};
}

static bool is_queued(const struct inflight *e, const struct event *event)
{
	return e->journey != NF_JOURNEY_RX && !e->start_ns &&
	       (event->len == e->len || event->len == e->len + VLAN_TAG);
}

/* net_dev_start_xmit(): ends queue→start_xmit.  A segment that was cut from a GSO skb begins here. */
void transmit_start(struct correlator *c, struct cpu *cpu, struct inflight *e,
		    const struct event *event)
{
	uint16_t device;

	if (e && is_queued(e, event)) {
		device = inflight_device(e);
		if (device_time(c, device, NF_SEGMENT_QUEUE_TO_START, e->begin_ns, event->time_ns))
			e->flags |= NF_JOURNEY_SLOW;
	} else {
		device = device_find(c, event->device);
		inflight_end(c, event->probe, e, NF_EVENT_INVALIDATED);
		e = inflight_begin(c, event, NF_JOURNEY_TX, device);
		e->flags = NF_JOURNEY_NO_QUEUE;
	}
	e->start_ns = event->time_ns;
	e->len = event->len;
	e->protocol = event->protocol;
	e->run = context_run(cpu, event);
	c->device[device]->packets++;
	push(cpu, e->skb, e->start_ns, device);
}

/* End the total: since queue for an skb sent here, since its first stage for a forwarded one. */
static bool total(struct correlator *c, const struct inflight *e, uint64_t now)
{
	uint16_t device = inflight_device(e);

	if (e->journey == NF_JOURNEY_FORWARD)
		return device_time(c, device, NF_SEGMENT_FORWARD_TOTAL,
				   e->irq_ns	 ? e->irq_ns
				   : e->raise_ns ? e->raise_ns
				   : e->entry_ns ? e->entry_ns
						 : e->receive_ns,
				   now);
	return !(e->flags & NF_JOURNEY_NO_QUEUE) &&
	       device_time(c, device, NF_SEGMENT_TX_TOTAL, e->begin_ns, now);
}

/* net_dev_xmit(): ends start_xmit→xmit and the totals.  By now the skb may be freed, and its memory another's. */
void transmit_xmit(struct correlator *c, struct cpu *cpu, const struct event *event)
{
	const struct nf_xmit_frame *frame = innermost(cpu);
	struct inflight *e;
	bool slow;

	if (!frame || frame->skb != event->skb) {
		/* It began before the first event, or events were lost. */
		cpu->current->xmit_depth = 0;
		return;
	}
	cpu->current->xmit_depth--;
	slow = device_time(c, (uint16_t)frame->slot, NF_SEGMENT_START_TO_XMIT, frame->start_ns,
			   event->time_ns);
	e = inflight_find(c, event->skb);
	if (!e || e->journey == NF_JOURNEY_RX || e->start_ns != frame->start_ns)
		return;
	e->xmit_ns = event->time_ns;
	if (slow | total(c, e, event->time_ns))
		e->flags |= NF_JOURNEY_SLOW;
}

static void end(struct correlator *c, struct cpu *cpu, struct inflight *e,
		const struct event *event, bool freed)
{
	struct journey_end journey = {
		.probe = event->probe,
		.outcome = e->journey == NF_JOURNEY_FORWARD ? NF_OUTCOME_FORWARDED
							    : NF_OUTCOME_TRANSMITTED,
		.time_ns = event->time_ns,
		.tid = event->tid,
		.cpu = event->cpu,
		.task = context_is_task(cpu, event),
		.freed = freed,
	};

	if (freed && e->xmit_ns)
		journey.slow = device_time(c, inflight_device(e), NF_SEGMENT_XMIT_TO_FREE,
					   e->xmit_ns, event->time_ns);
	journey_end(c, e, &journey);
	inflight_end(c, event->probe, e, transmit_event(e));
}

void transmit_freed(struct correlator *c, struct cpu *cpu, struct inflight *e,
		    const struct event *event)
{
	end(c, cpu, e, event, true);
}

void transmit_passed(struct correlator *c, struct cpu *cpu, struct inflight *e,
		     const struct event *event)
{
	end(c, cpu, e, event, false);
}
