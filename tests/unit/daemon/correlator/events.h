/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trace events as a kernel makes them, one after the other, and what the correlator made of them. */
#ifndef TESTS_UNIT_DAEMON_CORRELATOR_EVENTS_H
#define TESTS_UNIT_DAEMON_CORRELATOR_EVENTS_H

#include <string.h>

#include "daemon/correlator/correlator.h"
#include "tests/unit/test.h"

enum { CPUS = 4, READER = 700, OTHER_TASK = 701, NET_TX = 2, NET_RX = 3, TCP = 6, UDP = 17 };

#define IP 0x0800

/* The state of what is traced, and of the test. */
static struct {
	struct correlator *correlator;
	struct correlator_settings settings;
	struct event next; /* cpu, tid and context of the next event */
	struct nf_journey_record journey;
	struct nf_drop_record drop;
	struct nf_slots_record transmit;
	unsigned int journeys, drops, transmits;
} world;

static inline void take_journey(void *userdata, const struct nf_journey_record *record)
{
	(void)userdata;
	world.journey = *record;
	world.journeys++;
}

static inline void take_drop(void *userdata, const struct nf_drop_record *record)
{
	(void)userdata;
	world.drop = *record;
	world.drops++;
}

static inline void take_transmit(void *userdata, const struct nf_slots_record *record)
{
	(void)userdata;
	world.transmit = *record;
	world.transmits++;
}

static inline int world_open(void)
{
	static const struct correlator_sink sink = {
		.journey = take_journey, .drop = take_drop, .slots = take_transmit};

	return correlator_new(&world.correlator, &world.settings, &sink);
}

/* All events are there, and each journey is recorded. */
static inline int world_begin(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	world.settings = (struct correlator_settings){
		.cpus = CPUS,
		.inflight_entries = 1024,
		.reader_entries = 64,
		.devices = 8,
		.drop_keys = 16,
		.drop_rate = 1000,
		.drop_burst = 1000,
		.journey_rate = 1000000,
		.journey_burst = 1000000,
		.slots_limit = 18,
		.slots_rate = 1000,
		.slots_burst = 1000,
		.sample_one_in = 1,
		.has_reason = true,
		.not_specified = 2,
	};
	for (int i = 0; i < NF_PROBE_COUNT; i++)
		world.settings.has[i] = true;
	world.settings.has[NF_PROBE_UDP_ENQUEUE_SCHEDULE_SKB] = false;
	world.settings.has[NF_PROBE_SKB_ATTEMPT_DEFER_FREE] = false;
	for (int i = 0; i < NF_SEGMENT_COUNT; i++)
		world.settings.slow_ns[i] = UINT64_MAX;
	world.next.time_ns = 1000000;
	return world_open();
}

static inline int world_end(void **state)
{
	(void)state;
	correlator_free(&world.correlator);
	return 0;
}

static inline void at(uint64_t ns)
{
	world.next.time_ns = ns;
}

static inline void on_cpu(uint32_t cpu)
{
	world.next.cpu = cpu;
}

static inline void as_task(uint32_t tid)
{
	world.next.tid = tid;
}

/* Send an event with the context of `next`; each is 100 ns after the one before. */
static inline void happen(struct event event)
{
	event.time_ns = world.next.time_ns;
	event.cpu = world.next.cpu;
	event.tid = world.next.tid;
	event.softirq = world.next.softirq;
	event.irq = world.next.irq;
	correlator_event(world.correlator, &event);
	world.next.time_ns += 100;
}

#define HAPPEN(name, ...) happen((struct event){.probe = NF_PROBE_##name, __VA_ARGS__})

static inline void softirq_entry(uint32_t vector)
{
	HAPPEN(SOFTIRQ_ENTRY, .number = vector);
	world.next.softirq = true;
}

static inline void softirq_exit(uint32_t vector)
{
	HAPPEN(SOFTIRQ_EXIT, .number = vector);
	world.next.softirq = false;
}

static inline void receive(uint64_t skb, const char *device, uint32_t len)
{
	HAPPEN(NETIF_RECEIVE_SKB, .skb = skb, .device = device, .len = len);
}

/* A whole run of NET_RX that brings one skb, which the kernel announces to a socket; 0: to none. */
static inline void bring(uint64_t skb, const char *device, uint32_t len, uint64_t sk,
			 uint16_t protocol)
{
	HAPPEN(SOFTIRQ_RAISE, .number = NET_RX);
	softirq_entry(NET_RX);
	receive(skb, device, len);
	if (sk)
		HAPPEN(SK_DATA_READY, .sk = sk, .protocol = protocol);
	softirq_exit(NET_RX);
}

static inline uint64_t events(enum nf_event event)
{
	const struct correlator_totals *totals = correlator_totals(world.correlator);
	uint64_t sum = 0;

	for (int i = 0; i < NF_PROBE_COUNT; i++)
		sum += totals->events[i][event];
	return sum;
}

static inline const struct correlator_device *device(const char *name)
{
	for (uint32_t i = 0; i < correlator_devices(world.correlator); i++)
		if (!strcmp(correlator_device(world.correlator, i)->name, name))
			return correlator_device(world.correlator, i);
	fail_msg("there is no device %s", name);
	return NULL;
}

static inline uint64_t segment_count(const char *name, enum nf_segment segment)
{
	return device(name)->segment[segment].journeys;
}

/* Each journey that began has ended, or is in flight. */
static inline void assert_ledger(void)
{
	uint64_t older, younger;

	correlator_in_flight(world.correlator, 0, &older, &younger);
	assert_int_equal(events(NF_EVENT_BEGUN),
			 events(NF_EVENT_DELIVERED) + events(NF_EVENT_CONSUMED) +
				 events(NF_EVENT_TRANSMITTED) + events(NF_EVENT_FORWARDED) +
				 events(NF_EVENT_DROPPED) + events(NF_EVENT_OVERWRITTEN) +
				 events(NF_EVENT_INVALIDATED) + older + younger);
	assert_int_equal(events(NF_EVENT_CHOSEN),
			 events(NF_EVENT_RECORDED) + events(NF_EVENT_THROTTLED));
	assert_int_equal(
		correlator_totals(world.correlator)->events[NF_PROBE_KFREE_SKB][NF_EVENT_HIT] -
			events(NF_EVENT_COMPLETED),
		events(NF_EVENT_COUNTED) + events(NF_EVENT_UNKEYED));
}

#endif
