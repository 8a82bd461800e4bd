/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The programs along the packet path on a machine, and what they counted. */
#ifndef PATH_H
#define PATH_H

#include "bpf/netflowd.bpf.c"
#include "tests/unit/bpf/machine.h"
#include "tests/unit/bpf/stand_in.h"

enum {
	PATH_SETS_LOG2 = 10, /* of the in-flight table */
	PATH_DEVICE_SETS = 2,
	PATH_SLOTS = PATH_DEVICE_SETS * NF_DEVICE_SET,
	PATH_READERS_LOG2 = 6,
	PATH_WAKES_LOG2 = 6,
	PATH_DROP_KEYS = 64,
};

static inline void path_maps(void)
{
	STAND_IN_MAP(nf_cpus, MACHINE_CPUS);
	STAND_IN_MAP(nf_inflights, 1 << PATH_SETS_LOG2);
	STAND_IN_MAP(nf_hops, NF_INFLIGHT_WAYS << PATH_SETS_LOG2);
	STAND_IN_MAP(nf_wakes, 1 << PATH_WAKES_LOG2);
	STAND_IN_MAP(nf_readers, 1 << PATH_READERS_LOG2);
	STAND_IN_MAP(nf_streams, 1 << PATH_READERS_LOG2);
	STAND_IN_MAP(nf_device_sets, PATH_DEVICE_SETS);
	STAND_IN_MAP(nf_device_infos, PATH_SLOTS);
	STAND_IN_MAP(nf_device_claims, PATH_SLOTS);
	STAND_IN_MAP(nf_devices, MACHINE_CPUS * PATH_SLOTS);
	STAND_IN_MAP(nf_drop_counts, PATH_DROP_KEYS);
	STAND_IN_MAP(nf_drop_infos, PATH_DROP_KEYS);
	STAND_IN_RING(nf_ring);
}

/* Every journey becomes a record, and none is slow. */
static inline int path_begin(void **state)
{
	__u32 first = 0;
	struct nf_device_set *set;

	(void)state;
	memset((void *)&settings, 0, sizeof(settings));
	memset((void *)&live, 0, sizeof(live));
	machine_begin();
	path_maps();
	settings.inflight_shift = 64 - PATH_SETS_LOG2;
	settings.hops_shift = 64 - PATH_SETS_LOG2 - 1;
	settings.wake_shift = 64 - PATH_WAKES_LOG2;
	settings.readers_shift = 64 - PATH_READERS_LOG2;
	settings.device_sets = PATH_DEVICE_SETS;
	settings.devices = PATH_SLOTS;
	settings.sample = ~0U;
	for (int i = 0; i < NF_SEGMENT_COUNT; i++)
		settings.threshold_ns[i] = ~0ULL;
	settings.journey_burst_ns = settings.drop_burst_ns = 1000000000000000;
	settings.kfree_skb_reason = settings.kfree_skb_rx_sk = true;
	settings.softirq_exit = settings.wake = settings.udp_reader = true;
	set = stand_in_value(&nf_device_sets, &first, 0);
	for (int i = 0; i < NF_SLOT_RESERVED; i++)
		set->key[i] = NF_KEY_RESERVED;
	return 0;
}

static inline int path_end(void **state)
{
	(void)state;
	assert_int_equal(stand_in_reserved(), 0);
	machine_end();
	return 0;
}

#define PATH_TEST(name) cmocka_unit_test_setup_teardown(name, path_begin, path_end)

/* ---- the tracepoints ---- */

static inline void irq_entry(__u32 irq)
{
	RUN(nf_irq_handler_entry, irq, 0, 0, 0);
}

static inline void irq_exit(__u32 irq)
{
	RUN(nf_irq_handler_exit, irq, 0, 0, 0);
}

static inline void softirq_raise(__u32 vec)
{
	RUN(nf_softirq_raise, vec, 0, 0, 0);
}

static inline void softirq_entry(__u32 vec)
{
	RUN(nf_softirq_entry, vec, 0, 0, 0);
}

static inline void softirq_exit(__u32 vec)
{
	RUN(nf_softirq_exit, vec, 0, 0, 0);
}

static inline void napi_poll(const struct napi_struct *napi, int work, int budget)
{
	RUN(nf_napi_poll, napi, work, budget, 0);
}

static inline void receive(struct sk_buff *skb)
{
	RUN(nf_netif_receive_skb, skb, 0, 0, 0);
}

static inline void data_ready(const struct sock *sk)
{
	RUN(nf_sk_data_ready, sk, 0, 0, 0);
}

static inline void waking(const struct task_struct *task)
{
	RUN(nf_sched_waking, task, 0, 0, 0);
}

static inline void switch_to(const struct task_struct *next)
{
	RUN(nf_sched_switch, 0, 0, next, 0);
}

static inline void copy(struct sk_buff *skb, int bytes)
{
	RUN(nf_skb_copy_datagram_iovec, skb, bytes, 0, 0);
}

static inline void recv_length(const struct sock *sk, int length, int flags)
{
	RUN(nf_sock_recv_length, sk, length, flags, 0);
}

static inline void queue(struct sk_buff *skb)
{
	RUN(nf_net_dev_queue, skb, 0, 0, 0);
}

static inline void start_xmit(struct sk_buff *skb, struct net_device *dev)
{
	RUN(nf_net_dev_start_xmit, skb, dev, 0, 0);
}

static inline void end_xmit(struct sk_buff *skb, struct net_device *dev)
{
	RUN(nf_net_dev_xmit, skb, 0, dev, 0);
}

static inline void consume(struct sk_buff *skb)
{
	RUN(nf_consume_skb, skb, 0, 0, 0);
}

static inline void drop(struct sk_buff *skb, __u64 location, __u32 reason)
{
	RUN(nf_kfree_skb, skb, location, reason, 0);
}

/* A whole softirq that receives one skb: raised at `raise`, entered at `entry`, received at `ns`. */
static inline void receive_in_softirq(struct sk_buff *skb, __u64 raise, __u64 entry, __u64 ns)
{
	at(raise);
	softirq_raise(NET_RX_SOFTIRQ);
	at(entry);
	softirq_entry(NET_RX_SOFTIRQ);
	at(ns);
	receive(skb);
	softirq_exit(NET_RX_SOFTIRQ);
}

/* ---- what they counted, as the daemon reads it ---- */

static inline struct nf_cpu *cpu_state(__u32 cpu)
{
	return stand_in_value(&nf_cpus, &cpu, 0);
}

/* The sum over all CPUs. */
static inline __u64 event_of(enum nf_probe probe, enum nf_event event)
{
	__u64 sum = 0;

	for (__u32 cpu = 0; cpu < MACHINE_CPUS; cpu++)
		sum += cpu_state(cpu)->events[probe][event];
	return sum;
}

/* The sum over all CPUs and probes. */
static inline __u64 events(enum nf_event event)
{
	__u64 sum = 0;

	for (int probe = 0; probe < NF_PROBE_COUNT; probe++)
		sum += event_of(probe, event);
	return sum;
}

static inline __u64 in_flight(void)
{
	const struct nf_inflight_set *set = stand_in_value(&nf_inflights, &(__u32){0}, 0);
	__u64 count = 0;

	for (__u32 i = 0; i < 1U << PATH_SETS_LOG2; i++)
		for (int way = 0; way < NF_INFLIGHT_WAYS; way++)
			count += set[i].way[way].skb != 0;
	return count;
}

static inline struct nf_inflight *entry_of(const struct sk_buff *skb)
{
	struct nf_inflight *e = nf_inflight_at(nf_address(skb));

	return e && e->skb == nf_address(skb) ? e : NULL;
}

/* Each journey that began ended exactly once, or is in flight. */
static inline void assert_balanced(void)
{
	assert_int_equal(events(NF_EVENT_BEGUN),
			 events(NF_EVENT_DELIVERED) + events(NF_EVENT_CONSUMED) +
				 events(NF_EVENT_TRANSMITTED) + events(NF_EVENT_FORWARDED) +
				 events(NF_EVENT_DROPPED) + events(NF_EVENT_OVERWRITTEN) +
				 events(NF_EVENT_INVALIDATED) + in_flight());
	assert_int_equal(events(NF_EVENT_CHOSEN), events(NF_EVENT_RECORDED) +
							  events(NF_EVENT_THROTTLED) +
							  events(NF_EVENT_RING_FULL));
}

/* A device's histogram on one CPU. */
static inline const struct nf_hist *hist_on(__u32 cpu, const struct net_device *dev, __u32 index)
{
	__u32 at = cpu * PATH_SLOTS + nf_device_slot(dev);
	const struct nf_device_stats *stats = stand_in_value(&nf_devices, &at, 0);

	return &stats->hist[index];
}

struct hist_sum {
	__u64 count;
	__u64 sum_ns;
	__u64 max_ns;
};

/* A device's histogram over all CPUs. */
static inline struct hist_sum hist(const struct net_device *dev, __u32 index)
{
	struct hist_sum sum = {0};

	for (__u32 cpu = 0; cpu < MACHINE_CPUS; cpu++) {
		const struct nf_hist *h = hist_on(cpu, dev, index);

		for (int i = 0; i < NF_HIST_BUCKETS; i++)
			sum.count += h->bucket[i];
		sum.sum_ns += h->sum_ns;
		sum.max_ns = h->max_ns > sum.max_ns ? h->max_ns : sum.max_ns;
	}
	return sum;
}

/* One duration was added to the histogram since the last reset, and this is it. */
#define assert_hist(dev, index, number, total_ns)              \
	do {                                                   \
		struct hist_sum assert_sum = hist(dev, index); \
		assert_int_equal(assert_sum.count, number);    \
		assert_int_equal(assert_sum.sum_ns, total_ns); \
	} while (0)

/* The last record, which must be one of a journey. */
static inline const struct nf_journey_record *journey(void)
{
	size_t size;
	const struct nf_journey_record *r = stand_in_record(-1, &size);

	assert_int_equal(size, sizeof(*r));
	assert_int_equal(r->header.type, NF_RECORD_JOURNEY);
	assert_int_equal(r->header.size, sizeof(*r));
	return r;
}

#endif
