/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The programs along the packet path on a machine, and what they counted. */
#ifndef PATH_H
#define PATH_H

/* A program that times itself moves the clock; test_cpu.c has the test of it. */
#define NF_TIMED_ONE_IN (1ULL << 40)
#include "bpf/netflowd.bpf.c"
#include "tests/unit/bpf/machine.h"
#include "tests/unit/bpf/stand_in.h"

enum {
	PATH_SETS_LOG2 = 10,  /* of the in-flight table */
	PATH_DEVICE_SETS = 4, /* and those of groups */
	PATH_SLOTS = (PATH_DEVICE_SETS + NF_GROUP_SETS) * NF_DEVICE_SET,
	PATH_CHUNK_SHIFT = 3, /* blocks of a chunk */
	PATH_CHUNKS = 16,
	PATH_GROUP_BLOCKS = 24, /* of all blocks; 0 is none */
	PATH_FREE_BLOCKS = (PATH_CHUNKS << PATH_CHUNK_SHIFT) - PATH_GROUP_BLOCKS - 1,
	PATH_READERS_LOG2 = 6,
	PATH_WAKES_LOG2 = 6,
	PATH_DROP_KEYS = 512, /* of both generations */
	PATH_DROP_REASONS = 5,
};

static inline void path_maps(void)
{
	STAND_IN_MAP(nf_cpus, MACHINE_CPUS);
	STAND_IN_MAP(nf_contexts, MACHINE_CPUS * NF_CONTEXTS);
	STAND_IN_MAP(nf_inflights, 1 << PATH_SETS_LOG2);
	STAND_IN_MAP(nf_presences, (1 << PATH_SETS_LOG2) / NF_PRESENCE_ROW + 1);
	STAND_IN_MAP(nf_hops, NF_INFLIGHT_WAYS << PATH_SETS_LOG2);
	STAND_IN_MAP(nf_wakes, 1 << PATH_WAKES_LOG2);
	STAND_IN_MAP(nf_readers, 1 << PATH_READERS_LOG2);
	STAND_IN_MAP(nf_streams, 1 << PATH_READERS_LOG2);
	STAND_IN_MAP(nf_device_sets, PATH_DEVICE_SETS + NF_GROUP_SETS);
	STAND_IN_MAP(nf_device_infos, PATH_SLOTS);
	STAND_IN_MAP(nf_device_claims, PATH_SLOTS);
	STAND_IN_MAP(nf_block_rows, (MACHINE_CPUS * PATH_SLOTS + NF_BLOCK_ROW - 1) / NF_BLOCK_ROW);
	STAND_IN_OUTER(nf_chunks, PATH_CHUNKS);
	STAND_IN_QUEUE(nf_free_blocks, PATH_CHUNKS << PATH_CHUNK_SHIFT);
	STAND_IN_QUEUE(nf_group_blocks, PATH_CHUNKS << PATH_CHUNK_SHIFT);
	STAND_IN_MAP(nf_drops, PATH_DROP_KEYS);
	STAND_IN_MAP(nf_drop_reasons, PATH_DROP_REASONS);
	STAND_IN_MAP(nf_drop_zero, 1);
	STAND_IN_MAP(nf_drop_quotas, 2 * NF_DROP_QUOTAS);
	STAND_IN_RING(nf_ring);
}

/* As the daemon begins: the reserved slots, and `groups` and `free` blocks. */
static inline void path_blocks(__u32 groups, __u32 free)
{
	__u32 backlog = NF_SLOT_BACKLOG, set = 0, block = 1;
	struct nf_device_info *info = stand_in_value(&nf_device_infos, &backlog, 0);
	struct nf_device_set *first = stand_in_value(&nf_device_sets, &set, 0);

	info->group = NF_SLOT_BACKLOG;
	for (int i = 0; i < NF_SLOT_RESERVED; i++)
		first->key[i] = NF_KEY_RESERVED;
	while (stand_in_queued(&nf_group_blocks))
		stand_in_pop(&nf_group_blocks, &(__u32){0});
	while (stand_in_queued(&nf_free_blocks))
		stand_in_pop(&nf_free_blocks, &(__u32){0});
	for (; groups; groups--, block++)
		stand_in_push(&nf_group_blocks, &block);
	for (; free; free--, block++)
		stand_in_push(&nf_free_blocks, &block);
}

/* No limits: a test sets those that it is about. */
static inline void path_drops(void)
{
	static const struct nf_drop_entry none;
	__u32 any = NF_DROP_REASON_ANY;

	settings.drop_keys = settings.drop_quota = settings.host_quota = INT64_MAX;
	settings.drop_shards = MACHINE_CPUS;
	stand_in_update(&nf_drop_reasons, &any, &none, BPF_NOEXIST);
}

/* Every journey becomes a record, and none is slow. */
static inline struct nf_cpu *cpu_state(__u32 cpu)
{
	return stand_in_value(&nf_cpus, &cpu, 0);
}

static inline int path_begin(void **state)
{
	(void)state;
	memset((void *)&settings, 0, sizeof(settings));
	memset((void *)&live, 0, sizeof(live));
	memset((void *)drop_generations, 0, sizeof(drop_generations));
	memset((void *)&nf_block_counts, 0, sizeof(nf_block_counts));
	machine_begin();
	path_maps();
	settings.inflight_shift = 64 - PATH_SETS_LOG2;
	settings.hops_shift = 64 - PATH_SETS_LOG2 - 1;
	settings.wake_shift = 64 - PATH_WAKES_LOG2;
	settings.readers_shift = 64 - PATH_READERS_LOG2;
	settings.device_sets = PATH_DEVICE_SETS;
	settings.cpus = MACHINE_CPUS;
	settings.chunk_shift = PATH_CHUNK_SHIFT;
	for (__u32 cpu = 0; cpu < MACHINE_CPUS; cpu++)
		cpu_state(cpu)->known = 1;
	live.sample = ~0U;
	for (int i = 0; i < NF_SEGMENT_COUNT; i++)
		live.threshold_ns[i] = INT64_MAX;
	live.journey_burst_ns = live.drop_burst_ns = 1000000000000000;
	settings.kfree_skb_reason = settings.kfree_skb_rx_sk = true;
	settings.softirq_exit = settings.irq_exit = settings.wake = settings.udp_reader = true;
	nf_block_counts.low = nf_block_counts.group_low = ~0ULL;
	for (__u32 i = 0; i < PATH_CHUNKS; i++)
		stand_in_add_inner(&nf_chunks, i, sizeof(struct nf_device_stats),
				   1U << PATH_CHUNK_SHIFT);
	path_blocks(PATH_GROUP_BLOCKS, PATH_FREE_BLOCKS);
	path_drops();
	return 0;
}

static inline int path_end(void **state)
{
	(void)state;
	assert_int_equal(stand_in_reserved(), 0);
	machine_end();
	return 0;
}

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

/* The kernel is about to put a datagram into the queue of its socket. */
static inline void enqueue(const struct sock *sk, struct sk_buff *skb)
{
	RUN(nf_udp_enqueue_schedule_skb_fentry, sk, skb, 0, 0);
}

/* A reader, or a driver, gives the skb to the CPU that allocated it. */
static inline void defer_free(struct sk_buff *skb)
{
	RUN(nf_skb_attempt_defer_free_fentry, skb, 0, 0, 0);
}

/* The same on a kernel with CONFIG_PREEMPTION. */
static inline void defer_free_kprobe(struct sk_buff *skb)
{
	struct pt_regs regs = {.di = (uintptr_t)skb};

	assert_int_equal(nf_skb_attempt_defer_free_kprobe(&regs), 0);
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

/* The sum over all CPUs. */
static inline __u64 event_of(enum nf_probe probe, enum nf_event event)
{
	__u64 sum = 0;

	for (__u32 cpu = 0; cpu < MACHINE_CPUS; cpu++) {
		const struct nf_cpu *state = cpu_state(cpu);

		if (event == NF_EVENT_HIT && probe < NF_PROBE_SLOTS_FIRST && !nf_counts_hits(probe))
			sum += state->calls[probe];
		else
			sum += state->events[probe][event];
	}
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
	for (__u32 cpu = 0; cpu < MACHINE_CPUS; cpu++)
		count += cpu_state(cpu)->parted.path.skb != 0;
	return count;
}

static inline struct nf_inflight *entry_of(const struct sk_buff *skb)
{
	struct nf_inflight *e = nf_inflight_at(nf_address(skb));

	return e && e->skb == nf_address(skb) ? e : NULL;
}

/*
 * `count` new skbs, at most 3, that share one set of the in-flight table.  It has few sets from now on: wherever the
 * skbs are, some set has `count` of the first 33.
 */
static inline void skbs_of_one_set(struct sk_buff **skb, __u32 count)
{
	enum { SETS_LOG2 = 4, MOST = 3 };
	struct sk_buff *seen[1 << SETS_LOG2][MOST];
	__u32 used[1 << SETS_LOG2] = {0}, set;

	assert_in_range(count, 1, MOST);
	settings.inflight_shift = 64 - SETS_LOG2;
	do {
		struct sk_buff *next = skb_new(&machine.dev[0][1]);

		set = nf_hash(nf_address(next), settings.inflight_shift);
		seen[set][used[set]++] = next;
	} while (used[set] < count);
	memcpy(skb, seen[set], count * sizeof(*skb));
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

/* Where the number of the block of a slot on a CPU is; 0 = it has none. */
static inline __u16 *block_at(__u32 slot, __u32 cpu)
{
	__u32 index = slot * MACHINE_CPUS + cpu, row = index / NF_BLOCK_ROW;
	struct nf_block_row *r = stand_in_value(&nf_block_rows, &row, 0);

	return &r->block[index % NF_BLOCK_ROW];
}

static inline struct nf_device_stats *block(__u32 number)
{
	__u32 chunk = number >> PATH_CHUNK_SHIFT, at = number & ((1 << PATH_CHUNK_SHIFT) - 1);

	return stand_in_value(stand_in_value(&nf_chunks, &chunk, 0), &at, 0);
}

/* The blocks that a slot owns on a CPU, as the daemon finds them: by their owner. */
static inline __u32 blocks_of(__u32 slot, __u32 cpu, const struct nf_device_stats **found)
{
	__u32 count = 0;

	*found = NULL;
	for (__u32 i = 1; i < PATH_CHUNKS << PATH_CHUNK_SHIFT; i++)
		if (block(i)->owner == NF_BLOCK_OWNER(slot, cpu)) {
			*found = block(i);
			count++;
		}
	return count;
}

/* A device's histogram on one CPU; zeros if it has no block there. */
static inline const struct nf_hist *hist_on(__u32 cpu, const struct net_device *dev, __u32 index)
{
	static const struct nf_device_stats none;
	__u16 number = *block_at(nf_device_slot(dev), cpu);

	return &(number ? block(number) : &none)->hist[index];
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
