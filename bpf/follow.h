/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which journeys are followed.
 *
 * At a low rate all are.  At a high one each CPU follows one in N = 2^shift, which it chooses by the
 * rate itself: two packets that it begins to follow lie live.interval_ns apart on the average, so that a burst
 * costs no more than a steady load, and the daemon need not run first.  A packet is drawn once, at its
 * first stage on this host:
 *
 * - What NET_RX receives is drawn by run of the softirq.  The run is drawn before its interrupt, so
 *   that no clock is read for one that is not followed.
 * - What is received elsewhere (tun, threaded NAPI, busy polling), by packet.
 * - What is sent, by packet, at net_dev_queue.  If lo or veth passes it on, its receive journey
 *   is followed too, or neither is.
 *
 * Each block of N draws has one at a random position, so that each has the probability 1/N exactly, and
 * a followed journey stands for N.  A block is completed with its N, unless time decides otherwise: what depends
 * on the position that was chosen must not decide, or the weights would be wrong.
 */
#ifndef NF_FOLLOW_H
#define NF_FOLLOW_H

#include "compat.h"
#include "maps.h"

/* Packets by which the rate is measured. */
#define NF_GATE_PACKETS 32

/* xorshift64*, a state for each CPU; a helper would take longer. */
static __always_inline __u32 nf_random(struct nf_cpu *cpu)
{
	__u64 x = cpu->random;

	if (!x)
		x = (__u64)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32() | 1;
	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	cpu->random = x;
	return x * 0x2545f4914f6cdd1dULL >> 32;
}

/* The jiffy in which a CPU last passed over a packet. */
volatile __u64 nf_passed_jiffies;
#define NF_PASSED_LASTS 64 /* jiffies; longer than most skbs wait in a qdisc */

/* Whether this CPU follows all, and no other passes over any. */
static __always_inline bool nf_gate_is_open(const struct nf_gate *gate)
{
	return !gate->shift && bpf_jiffies64() - nf_passed_jiffies > NF_PASSED_LASTS;
}

static __always_inline void nf_gate_begin_block(struct nf_cpu *cpu, struct nf_gate *gate)
{
	gate->shift = gate->next_shift;
	if (gate->shift > gate->most_shift)
		gate->most_shift = gate->shift;
	gate->at = 0;
	gate->chosen = gate->shift ? nf_random(cpu) >> ((32 - gate->shift) & 31) : 0;
}

/* Wake the daemon, once: a load has begun. */
static __always_inline void nf_tell_busy(void)
{
	struct nf_record record = {.type = NF_RECORD_BUSY, .size = sizeof(record)};

	live.busy_shift = 0;
	bpf_ringbuf_output(&nf_ring, &record, sizeof(record), 0);
}

/*
 * Choose N for the rate since the last time.  It doubles at most: nothing may stand for the rest of a burst that ends
 * within a block, and the margin covers that if the blocks before had half as many.  It falls when a fourth of it would
 * be enough, so that a rate near a power of two does not make it change all the time.
 */
static __always_inline void nf_gate_measure(struct nf_gate *gate, __u64 now)
{
	__u64 elapsed = now - gate->since_ns;
	__u64 one_in = gate->since_ns && elapsed ? gate->packets * live.interval_ns / elapsed : 0;
	__u32 shift = one_in ? nf_log2(one_in) + 1 : 0;

	if (shift > NF_SHIFT_MAX)
		shift = NF_SHIFT_MAX;
	if (live.busy_shift && shift >= live.busy_shift)
		nf_tell_busy();
	if (!one_in)
		gate->next_shift = 0;
	else if (shift > gate->shift)
		gate->next_shift = gate->shift + 1;
	else if (shift + 2 <= gate->shift)
		gate->next_shift = shift + 1;
	else
		gate->next_shift = gate->shift;
	gate->packets = 0;
	gate->since_ns = now;
	gate->since_jiffies = bpf_jiffies64();
}

/* The clock was read for a followed packet: use it. */
static __always_inline void nf_gate_clock(struct nf_gate *gate, __u64 now)
{
	if (gate->packets >= NF_GATE_PACKETS)
		nf_gate_measure(gate, now);
}

/*
 * Draw one.  Returns the shift with which it was drawn, NF_PASSES: it is not followed.  While few are followed,
 * time passes unseen: then each second jiffy looks at the clock, and ends the block at once if N changes.
 */
static __always_inline __u8 nf_gate_draw(struct nf_cpu *cpu, struct nf_gate *gate)
{
	__u64 jiffies = gate->shift ? bpf_jiffies64() : gate->since_jiffies;
	__u8 drawn;

	if (jiffies - gate->since_jiffies >= 2) {
		nf_gate_measure(gate, bpf_ktime_get_ns());
		if (gate->next_shift != gate->shift)
			nf_gate_begin_block(cpu, gate);
	}
	if (gate->shift && nf_passed_jiffies != jiffies)
		nf_passed_jiffies = jiffies;
	drawn = gate->at == gate->chosen ? gate->shift : NF_PASSES;
	if (++gate->at >> (gate->shift & 31))
		nf_gate_begin_block(cpu, gate);
	return drawn;
}

/* Draw the next run of NET_RX, while this one begins. */
static __always_inline void nf_gate_next_run(struct nf_cpu *cpu, const struct nf_context *context)
{
	struct nf_gate *gate = &cpu->gate[NF_GATE_RX];

	if (!settings.governor)
		return;
	if (context->followed)
		nf_gate_clock(gate, context->entry_ns);
	cpu->next_run = nf_gate_draw(cpu, gate);
	cpu->untimed = cpu->next_run == NF_PASSES && !context->followed;
}

/*
 * Draw a packet that is received outside of NET_RX, or sent.  Returns as nf_gate_draw().  `gate` is
 * a constant.
 */
static __always_inline __u8 nf_gate_packet(struct nf_cpu *cpu, enum nf_gate_index gate)
{
	if (!settings.governor)
		return 0;
	cpu->gate[gate].packets++;
	return nf_gate_draw(cpu, &cpu->gate[gate]);
}

/* ---- what a journey stands for ------------------------------------------- */

/* What a histogram counts for a journey. */
struct nf_weight {
	__u64 weight;
	__u64 variance;
};

/*
 * Windows are drawn too: all journeys of one vary together, so that their ranks count from its
 * beginning on.
 */
static __always_inline struct nf_weight nf_weight_of(__u8 shift, __u8 rank)
{
	struct nf_weight w = {.weight = 1};

	if (!settings.governor)
		return w;
	w.weight = 1ULL << ((shift + live.window_shift) & 63);
	/* The square of n journeys grows by 2n - 1 with the n-th. */
	w.variance = ((2ULL << (rank & 31)) - 1) * w.weight * (w.weight - 1);
	return w;
}

/* log2 of a number from 1 on, rounded up. */
static __always_inline __u8 nf_rank(__u32 number)
{
	return number > 1 ? nf_log2(number - 1) + 1 : 0;
}

/* `ranks` journeys have begun in a run of NET_RX. */
static __always_inline void nf_gate_end_run(struct nf_gate *gate, __u32 ranks)
{
	if (unlikely(ranks > 1U << (gate->most_rank & 31)))
		gate->most_rank = nf_rank(ranks);
}

/*
 * What the next part of a followed skb stands for, of which `begun` parts have begun journeys: they vary together, and
 * with the journeys that were drawn with the skb.
 */
static __always_inline struct nf_share nf_share_of_part(struct nf_share whole, __u16 *begun)
{
	__u32 rank = whole.rank + nf_rank(++*begun);

	whole.rank = rank < 31 ? rank : 31;
	return whole;
}

/* The rank of a journey that begins now; `drawn` journeys have begun with the same draw. */
static __always_inline __u8 nf_rank_next(struct nf_cpu *cpu, __u32 *drawn)
{
	if (!settings.governor)
		return 0;
	if (!live.window)
		return nf_rank(++*drawn);
	if (cpu->window != live.window) {
		cpu->window = live.window;
		cpu->ranks = 0;
	}
	return nf_rank(++cpu->ranks);
}

#endif
