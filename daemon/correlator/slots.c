/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ring slots: how many slots of xen-netfront's ring a transmit needs, and the outcome of those near the limit or above
 * it, as bpf/slots.h does it.
 *
 * Events show less than the program that runs at the end of start_xmit.  kfree_skb shows a drop, and net_dev_xmit that
 * the driver did not take the skb.  Of all others, the driver has linearized those that need more slots than its ring
 * gives to one, as it does since 3.16 (97a6d1bb2b65).
 */
#include <stdlib.h>
#include <string.h>

#include "bpf/pages.h"
#include "bpf/throttle.h"
#include "daemon/correlator/internal.h"

#define NS_PER_SECOND UINT64_C(1000000000)
#define NETDEV_TX_BUSY 0x10
#define DRIVER_LIMIT 18 /* XEN_NETIF_NR_SLOTS_MIN */

static void add(struct correlator *c, enum nf_slots_event event)
{
	c->totals.slots[event]++;
}

static uint32_t slots_of(const struct event *event)
{
	const struct event_transmit *transmit = event->transmit;
	uint32_t slots = nf_pages((uint32_t)transmit->data, event->len - transmit->data_len);

	for (uint32_t i = 0; i < transmit->frags; i++)
		slots += nf_pages(transmit->frag[i].offset, transmit->frag[i].size);
	return slots;
}

/* The counters of a device; NULL: there is no memory for them. */
static struct nf_slots_count *count_of(struct correlator *c, uint16_t device)
{
	struct nf_slots_count **count = &c->device[device]->slots;

	if (!*count)
		*count = calloc(1, sizeof(**count));
	return *count;
}

/* ---- records ------------------------------------------------------------------- */

static uint8_t flags_of(const struct cpu *cpu, const struct event *event)
{
	const struct event_transmit *transmit = event->transmit;
	uint8_t flags = NF_SLOTS_XEN | NF_SLOTS_FEATURES;

	if (context_is_task(cpu, event))
		flags |= NF_SLOTS_TASK;
	if (event->len > NF_SLOTS_WIRE_MAX)
		flags |= NF_SLOTS_TOO_BIG;
	if (transmit->sg)
		flags |= NF_SLOTS_SG;
	if (transmit->gso)
		flags |= NF_SLOTS_GSO;
	if (transmit->tso)
		flags |= NF_SLOTS_TSO;
	return flags;
}

static void fill(const struct correlator *c, const struct cpu *cpu, const struct event *event,
		 uint32_t slots, struct nf_slots_record *r)
{
	const struct event_transmit *transmit = event->transmit;
	size_t frags = transmit->frags * sizeof(transmit->frag[0]);

	*r = (struct nf_slots_record){
		.header = {.type = NF_RECORD_SLOTS,
			   .cpu = (__u16)event->cpu,
			   .size = (__u32)(NF_SLOTS_RECORD_PLAIN + frags),
			   .time_ns = event->time_ns},
		.slots = slots,
		.limit = (__u32)c->settings.slots_limit,
		.len = event->len,
		.head_offset = transmit->data & (NF_SLOT_BYTES - 1),
		.head_len = event->len - transmit->data_len,
		.gso_size = transmit->gso_size,
		.gso_segs = transmit->gso_segs,
		.flags = flags_of(cpu, event),
		.frags = (__u8)transmit->frags,
		.task = {.tid = event->tid},
		.bytes = {.len = event->len},
	};
	memcpy(r->frag, transmit->frag, frags);
	if (event->device)
		memcpy(r->device, event->device, strnlen(event->device, sizeof(r->device) - 1));
}

/* Near misses have a bucket of their own, so that they do not hide overflows. */
static void send(struct correlator *c, struct cpu *cpu, const struct nf_slots_record *r)
{
	bool near = !(r->flags & NF_SLOTS_TOO_BIG) && r->slots <= r->limit;
	uint64_t interval_ns = NS_PER_SECOND / c->settings.slots_rate;

	if (!nf_throttle_admit(&cpu->slots_bucket[near ? 0 : 1], cpu->now, interval_ns,
			       (c->settings.slots_burst - 1) * interval_ns)) {
		add(c, NF_SLOTS_THROTTLED);
		return;
	}
	c->sink.slots(c->sink.userdata, r);
	add(c, NF_SLOTS_RECORDED);
}

/* ---- from start to end ---------------------------------------------------------- */

/* Count the frame under its device by its outcome. */
static void classify(struct correlator *c, const struct nf_slots_frame *frame)
{
	const struct nf_slots_record *r = &frame->record;
	struct nf_slots_count *count = c->device[frame->key]->slots;

	if (r->flags & NF_SLOTS_TOO_BIG) {
		count->too_big += r->outcome == NF_SLOTS_DROPPED;
	} else if (r->slots > r->limit) {
		count->overflow[r->outcome]++;
		count->last_overflow_ns = r->header.time_ns;
	} else {
		count->near++;
	}
}

void slots_give_up(struct correlator *c, struct cpu *cpu)
{
	for (uint32_t i = 0; i < cpu->slots_depth; i++) {
		cpu->slots_frame[i].record.outcome = NF_SLOTS_UNSEEN;
		classify(c, &cpu->slots_frame[i]);
		add(c, NF_SLOTS_UNENDED);
	}
	cpu->slots_depth = 0;
}

static void begin(struct correlator *c, struct cpu *cpu, const struct event *event, uint16_t device,
		  uint32_t slots)
{
	struct nf_slots_frame *frame;

	add(c, NF_SLOTS_CHOSEN);
	if (cpu->slots_depth == NF_SLOTS_DEPTH)
		slots_give_up(c, cpu);
	frame = &cpu->slots_frame[cpu->slots_depth++];
	frame->skb = event->skb;
	frame->key = device;
	frame->data_len = event->transmit->data_len;
	frame->dropped = 0;
	fill(c, cpu, event, slots, &frame->record);
}

/* The innermost frame of this skb, or NULL. */
static struct nf_slots_frame *find(struct cpu *cpu, uint64_t skb)
{
	for (uint32_t i = cpu->slots_depth; i-- > 0;)
		if (cpu->slots_frame[i].skb == skb)
			return &cpu->slots_frame[i];
	return NULL;
}

void slots_start(struct correlator *c, struct cpu *cpu, const struct event *event)
{
	struct nf_slots_count *count;
	uint16_t device;
	uint32_t slots;

	if (!event->transmit || event->transmit->unknown) {
		c->totals.slots_unknown++;
		return;
	}
	slots = slots_of(event);
	device = device_find(c, event->device);
	count = count_of(c, device);
	if (!count) {
		c->totals.lost++;
		return;
	}
	add(c, NF_SLOTS_HIT);
	add(c, device ? NF_SLOTS_COUNTED : NF_SLOTS_UNKEYED);
	count->slots[slots < NF_SLOTS_BUCKETS ? slots : NF_SLOTS_BUCKETS - 1]++;
	if (slots + 1 >= c->settings.slots_limit || event->len > NF_SLOTS_WIRE_MAX)
		begin(c, cpu, event, device, slots);
}

void slots_dropped(struct cpu *cpu, uint64_t skb)
{
	struct nf_slots_frame *frame = find(cpu, skb);

	if (frame)
		frame->dropped = 1;
}

static enum nf_slots_outcome outcome_of(const struct nf_slots_frame *frame, uint32_t rc)
{
	if (frame->dropped)
		return NF_SLOTS_DROPPED;
	if (rc == NETDEV_TX_BUSY)
		return NF_SLOTS_REQUEUED;
	return frame->data_len && frame->record.slots > DRIVER_LIMIT ? NF_SLOTS_LINEARIZED
								     : NF_SLOTS_SENT;
}

void slots_end(struct correlator *c, struct cpu *cpu, const struct event *event)
{
	struct nf_slots_frame *frame = find(cpu, event->skb);

	if (!frame)
		return;
	frame->record.outcome = outcome_of(frame, event->number);
	classify(c, frame);
	send(c, cpu, &frame->record);
	*frame = cpu->slots_frame[--cpu->slots_depth];
}
