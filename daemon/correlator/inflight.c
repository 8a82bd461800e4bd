/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The in-flight table: for each live skb, the stages that it has passed.  As in bpf/inflight.h, a hash of the address
 * selects a set of two entries, a new skb overwrites the older one if both are in use, and nothing can leak.
 */
#include "daemon/correlator/internal.h"

static struct inflight *set_of(struct correlator *c, uint64_t skb)
{
	return &c->inflight[(size_t)hash(skb, c->inflight_shift) * INFLIGHT_WAYS];
}

struct inflight *inflight_find(struct correlator *c, uint64_t skb)
{
	struct inflight *set = set_of(c, skb);

	for (int i = 0; i < INFLIGHT_WAYS; i++)
		if (set[i].skb == skb)
			return &set[i];
	return NULL;
}

/* A free entry, or the older one of the set. */
static struct inflight *room_for(struct correlator *c, uint64_t skb)
{
	struct inflight *set = set_of(c, skb);

	if (!set[0].skb)
		return &set[0];
	return set[1].skb && set[0].begin_ns < set[1].begin_ns ? &set[0] : &set[1];
}

struct inflight *inflight_begin(struct correlator *c, const struct event *event,
				enum nf_journey journey, uint16_t device)
{
	struct inflight *e = room_for(c, event->skb);

	if (e->skb && e->copied_ns)
		copies_decide(c, e);
	if (e->skb) {
		count(c, event->probe, NF_EVENT_OVERWRITTEN);
		count(c, event->probe, NF_EVENT_OVERWRITTEN_PACKETS);
	}
	count(c, event->probe, NF_EVENT_BEGUN);
	*e = (struct inflight){
		.skb = event->skb,
		.begin_ns = event->time_ns,
		.len = event->len,
		.protocol = event->protocol,
		.device = {device},
		.devices = 1,
		.journey = (uint8_t)journey,
	};
	return e;
}

void inflight_end(struct correlator *c, enum nf_probe probe, struct inflight *e,
		  enum nf_event event)
{
	if (!e)
		return;
	e->skb = 0;
	count(c, probe, event);
}

void inflight_cross(struct inflight *e, uint16_t device)
{
	if (e->devices < NF_JOURNEY_DEVICES) {
		e->device[e->devices++] = device;
		return;
	}
	/* The last one is always known. */
	e->device[NF_JOURNEY_DEVICES - 1] = device;
	e->flags |= NF_JOURNEY_MORE;
}

void correlator_in_flight(const struct correlator *c, uint64_t before_ns, uint64_t *older,
			  uint64_t *younger)
{
	*older = *younger = 0;
	for (size_t i = 0; i < c->settings.inflight_entries; i++)
		if (c->inflight[i].skb)
			++*(c->inflight[i].begin_ns < before_ns ? older : younger);
}
