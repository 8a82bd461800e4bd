/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/correlator/correlator.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/correlator/internal.h"

#define WAKES 4096 /* tasks that were woken; a power of two */

static int allocate(struct correlator *c)
{
	const struct correlator_settings *settings = &c->settings;
	uint64_t sets = settings->inflight_entries / INFLIGHT_WAYS;
	int r;

	c->inflight_shift = 64 - nf_log2(sets);
	c->device_mask = (8U << nf_log2(settings->devices)) - 1;
	c->wake_mask = WAKES - 1;
	c->cpu = calloc(settings->cpus, sizeof(struct cpu *));
	c->inflight = calloc(settings->inflight_entries, sizeof(*c->inflight));
	c->device = calloc(settings->devices + 1, sizeof(struct correlator_device *));
	c->device_index = calloc((size_t)c->device_mask + 1, sizeof(*c->device_index));
	c->wake = calloc(WAKES, sizeof(*c->wake));
	if (!c->cpu || !c->inflight || !c->device || !c->device_index || !c->wake)
		return -ENOMEM;
	c->device[DEVICE_NONE] = calloc(1, sizeof(*c->device[0]));
	if (!c->device[DEVICE_NONE])
		return -ENOMEM;
	c->devices = 1;
	r = queues_new(&c->queues, settings->reader_entries);
	return r < 0 ? r : drops_new(c);
}

int correlator_new(struct correlator **correlator, const struct correlator_settings *settings,
		   const struct correlator_sink *sink)
{
	OWN_CORRELATOR struct correlator *fresh = calloc(1, sizeof(*fresh));
	int r;

	if (!fresh)
		return -ENOMEM;
	fresh->settings = *settings;
	fresh->sink = *sink;
	r = allocate(fresh);
	if (r < 0)
		return r;
	*correlator = TAKE_PTR(fresh);
	return 0;
}

void correlator_free(struct correlator **correlator)
{
	struct correlator *c = *correlator;

	if (!c)
		return;
	for (uint32_t i = 0; c->cpu && i < c->settings.cpus; i++)
		free(c->cpu[i]);
	for (uint32_t i = 0; i < c->devices; i++) {
		free(c->device[i]->polls);
		free(c->device[i]->slots);
		free(c->device[i]);
	}
	drops_free(c);
	queues_free(&c->queues);
	free(c->cpu);
	free(c->inflight);
	free(c->device);
	free(c->device_index);
	free(c->wake);
	free(c);
	*correlator = NULL;
}

void correlator_tune(struct correlator *c, const struct correlator_settings *settings)
{
	c->settings.drop_rate = settings->drop_rate;
	c->settings.drop_burst = settings->drop_burst;
	c->settings.journey_rate = settings->journey_rate;
	c->settings.journey_burst = settings->journey_burst;
	c->settings.sample_one_in = settings->sample_one_in;
	c->settings.slots_rate = settings->slots_rate;
	c->settings.slots_burst = settings->slots_burst;
	for (int i = 0; i < NF_SEGMENT_COUNT; i++)
		c->settings.slow_ns[i] = settings->slow_ns[i];
}

/* consume_skb(): ends xmit→free, or receive→copy. */
static void consumed(struct correlator *c, struct cpu *cpu, struct inflight *e,
		     const struct event *event)
{
	if (e && e->journey == NF_JOURNEY_RX)
		copies_consumed(c, cpu, e, event);
	else if (e)
		transmit_freed(c, cpu, e, event);
}

static void take(struct correlator *c, struct cpu *cpu, struct inflight *e,
		 const struct event *event)
{
	switch (event->probe) {
	case NF_PROBE_NAPI_POLL:
		return device_poll(c, cpu, event);
	case NF_PROBE_NETIF_RECEIVE_SKB:
		return receive(c, cpu, e, event);
	case NF_PROBE_UDP_ENQUEUE_SCHEDULE_SKB:
		return receive_enqueue(c, cpu, e, event);
	case NF_PROBE_SK_DATA_READY:
		return receive_ready(c, cpu, event);
	case NF_PROBE_SCHED_WAKING:
		return receive_waking(c, cpu, event);
	case NF_PROBE_SCHED_SWITCH:
		return receive_running(c, cpu, event);
	case NF_PROBE_SKB_COPY_DATAGRAM_IOVEC:
		return copies_add(c, e, event);
	case NF_PROBE_SOCK_RECV_LENGTH:
		return copies_read(c, cpu, event);
	case NF_PROBE_SKB_ATTEMPT_DEFER_FREE:
		return copies_deferred(c, cpu, e, event);
	case NF_PROBE_NET_DEV_QUEUE:
		return transmit_queue(c, cpu, e, event);
	case NF_PROBE_NET_DEV_START_XMIT:
		return transmit_start(c, cpu, e, event);
	case NF_PROBE_NET_DEV_XMIT:
		slots_end(c, cpu, event);
		return transmit_xmit(c, cpu, event);
	case NF_PROBE_CONSUME_SKB:
		return consumed(c, cpu, e, event);
	case NF_PROBE_XENNET_START_XMIT:
		return slots_start(c, cpu, event);
	case NF_PROBE_KFREE_SKB:
		slots_dropped(cpu, event->skb);
		return drops_event(c, cpu, e, event);
	default:
		return context_event(c, cpu, event);
	}
}

static void note_time(struct correlator_totals *totals, uint64_t time_ns)
{
	if (!totals->first_ns)
		totals->first_ns = time_ns;
	if (time_ns < totals->last_ns)
		totals->disorder++;
	else
		totals->last_ns = time_ns;
}

/* No kernel gives the event of an skb or of a CPU that is none. */
static bool is_possible(const struct correlator *c, const struct event *event)
{
	static const uint32_t of_skb =
		1U << NF_PROBE_NETIF_RECEIVE_SKB | 1U << NF_PROBE_UDP_ENQUEUE_SCHEDULE_SKB |
		1U << NF_PROBE_SKB_COPY_DATAGRAM_IOVEC | 1U << NF_PROBE_SKB_ATTEMPT_DEFER_FREE |
		1U << NF_PROBE_NET_DEV_QUEUE | 1U << NF_PROBE_NET_DEV_START_XMIT |
		1U << NF_PROBE_NET_DEV_XMIT | 1U << NF_PROBE_CONSUME_SKB |
		1U << NF_PROBE_KFREE_SKB | 1U << NF_PROBE_XENNET_START_XMIT;

	return event->cpu < c->settings.cpus && (event->skb || !(of_skb >> event->probe & 1));
}

void correlator_hide_devices(struct correlator *c)
{
	c->hides_devices = true;
}

/* An interrupt handler, with what it wakes, can come between two skbs of a list. */
static void note_list(struct cpu *cpu, const struct event *event)
{
	if (!event->irq)
		cpu->receiving = event->probe == NF_PROBE_NETIF_RECEIVE_SKB;
}

void correlator_event(struct correlator *c, const struct event *event)
{
	struct inflight *e;
	struct cpu *cpu;

	if (!is_possible(c, event) || context_enter(c, event, &cpu) < 0) {
		c->totals.lost++;
		return;
	}
	note_time(&c->totals, event->time_ns);
	count(c, event->probe, NF_EVENT_HIT);
	e = copies_before(c, cpu, event);
	take(c, cpu, e, event);
	receive_announced(cpu, event);
	note_list(cpu, event);
}

void correlator_lost(struct correlator *c, uint32_t cpu, uint64_t events)
{
	c->totals.losses++;
	c->totals.lost += events;
	if (cpu < c->settings.cpus && c->cpu[cpu]) {
		context_forget(c->cpu[cpu]);
		slots_give_up(c, c->cpu[cpu]);
	}
	queues_doubt(c->queues);
}

void correlator_settle(struct correlator *c)
{
	copies_settle(c);
}

const struct correlator_totals *correlator_totals(const struct correlator *c)
{
	return &c->totals;
}

bool correlator_table(const struct correlator *c, uint32_t index, struct correlator_table *table)
{
	uint64_t in_use, rest, drops = 0;

	while (correlator_drops(c, (uint32_t)drops) &&
	       !correlator_drops(c, (uint32_t)drops)->unkeyed)
		drops++;
	switch (index) {
	case 0:
		correlator_in_flight(c, 0, &rest, &in_use);
		*table = (struct correlator_table){
			"in-flight", "skbs between two stages", c->settings.inflight_entries,
			in_use + rest, c->settings.inflight_entries * sizeof(*c->inflight)};
		return true;
	case 1:
		*table = (struct correlator_table){
			"readers", "UDP sockets whose datagrams are followed to their reader",
			queues_entries(c->queues), queues_used(c->queues), queues_bytes(c->queues)};
		return true;
	case 2:
		*table = (struct correlator_table){
			"devices", "devices with histograms of their own", c->settings.devices,
			c->devices - 1, c->devices * sizeof(**c->device)};
		return true;
	case 3:
		*table = (struct correlator_table){
			"drop keys", "keys whose drops are counted separately",
			c->settings.drop_keys, drops,
			c->settings.drop_keys * sizeof(struct correlator_drops)};
		return true;
	default:
		return false;
	}
}
