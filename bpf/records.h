/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The interface between the programs in the kernel and the daemon: the layout
 * of each map value and of each record in the ring buffer, and the histogram
 * arithmetic of both sides.
 *
 * This is the only header that both sides include.  It uses fixed-width types
 * only, names all padding and asserts sizes.  A change that only one side sees
 * would show as wrong numbers, not as an error.
 *
 * Unless a comment says otherwise, the programs write and the daemon reads, points
 * in time are CLOCK_MONOTONIC nanoseconds, and durations are nanoseconds.
 */
#ifndef NF_RECORDS_H
#define NF_RECORDS_H

#ifdef __bpf__
typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed int __s32;
typedef signed long long __s64;
#else
#include <linux/types.h>
#endif

#define NF_CACHE_LINE 64

/* The placeholder for a call of bpf_rdonly_cast(), see bpf/reader.h; not the number of a helper. */
#define NF_CALL_RDONLY_CAST 0x6e660001

/* ---- probes ------------------------------------------------------------ */

/* One per attach point, in the order in which a packet passes them. */
enum nf_probe {
	NF_PROBE_IRQ_HANDLER_ENTRY,
	NF_PROBE_IRQ_HANDLER_EXIT,
	NF_PROBE_SOFTIRQ_RAISE,
	NF_PROBE_SOFTIRQ_ENTRY,
	NF_PROBE_SOFTIRQ_EXIT,
	NF_PROBE_NAPI_POLL,
	NF_PROBE_NETIF_RECEIVE_SKB,
	NF_PROBE_UDP_ENQUEUE_SCHEDULE_SKB,
	NF_PROBE_SK_DATA_READY,
	NF_PROBE_SCHED_WAKING,
	NF_PROBE_SCHED_SWITCH,
	NF_PROBE_SKB_COPY_DATAGRAM_IOVEC,
	NF_PROBE_SOCK_RECV_LENGTH,
	NF_PROBE_SKB_ATTEMPT_DEFER_FREE,
	NF_PROBE_NET_DEV_QUEUE,
	NF_PROBE_NET_DEV_START_XMIT,
	NF_PROBE_NET_DEV_XMIT,
	NF_PROBE_CONSUME_SKB,
	NF_PROBE_KFREE_SKB,
	/* Of bpf/slots.bpf.c, an object of its own with its own events. */
	NF_PROBE_XENNET_START_XMIT,
	NF_PROBE_SLOTS_DEVICES,
	NF_PROBE_COUNT,
};
#define NF_PROBE_SLOTS_FIRST NF_PROBE_XENNET_START_XMIT

/*
 * The events that a program counts, one row of counters per (CPU, probe).  Only
 * one program writes a row, and it does not interrupt itself, so that plain
 * additions are exact (see nf_add() in bpf/compat.h).
 */
enum nf_event {
	NF_EVENT_HIT,	/* a call for an event that concerns the program, see nf_counts_hits() */
	NF_EVENT_BEGUN, /* a journey got an entry in the in-flight table */
	NF_EVENT_DELIVERED,	 /* ended: copied to a reader */
	NF_EVENT_CONSUMED,	 /* ended: consumed inside the kernel, without a reader */
	NF_EVENT_TRANSMITTED,	 /* ended: sent by a device, or passed to its peer (lo, veth) */
	NF_EVENT_FORWARDED,	 /* ended: the same of an skb that was received before */
	NF_EVENT_DROPPED,	 /* ended: kfree_skb */
	NF_EVENT_OVERWRITTEN,	 /* ended: another skb took the entry */
	NF_EVENT_INVALIDATED,	 /* ended: not seen, the entry no longer matches the skb */
	NF_EVENT_TORN,		 /* part of INVALIDATED: two CPUs wrote the entry at once */
	NF_EVENT_COUNTED,	 /* drop: counted under its key */
	NF_EVENT_UNKEYED,	 /* drop: counted under its reason only, the key table was full */
	NF_EVENT_CHOSEN,	 /* latency: a journey was slow or sampled; = the next three */
	NF_EVENT_RECORDED,	 /* latency: a record was sent */
	NF_EVENT_THROTTLED,	 /* latency: the token bucket was empty */
	NF_EVENT_RING_FULL,	 /* latency: the ring buffer had no room */
	NF_EVENT_DROP_RECORDED,	 /* drop: a record was sent */
	NF_EVENT_DROP_THROTTLED, /* drop: the token bucket of its key or reason was empty */
	NF_EVENT_DROP_RING_FULL, /* drop: the ring buffer had no room */
	NF_EVENT_COMPLETED,   /* not a drop: kfree_skb of a completed transmit, see bpf/journey.h */
	NF_EVENT_PASSED,      /* an skb at its first stage was not followed, see bpf/follow.h */
	NF_EVENT_SLOW_UNSEEN, /* slow journeys that were not followed, as the followed ones suggest */
	NF_EVENT_OVERWRITTEN_PACKETS, /* for which journeys stood that lost their entry, for a moment too */
	NF_EVENT_COUNT,
};
/*
 * Whether a program counts its hits, because it has calls for events that do not concern it.  Of
 * the others each of nf_cpu.calls is a hit.
 */
static inline __attribute__((always_inline)) _Bool nf_counts_hits(enum nf_probe probe)
{
	return probe == NF_PROBE_SOFTIRQ_RAISE || probe == NF_PROBE_SCHED_WAKING ||
	       probe == NF_PROBE_SOCK_RECV_LENGTH || probe == NF_PROBE_SKB_ATTEMPT_DEFER_FREE;
}

#define NF_EVENT_ROOM 32 /* counters in a row; a power of two, so that a mask limits an index */
_Static_assert(NF_EVENT_COUNT <= NF_EVENT_ROOM, "room for all events");

/* ---- histograms -------------------------------------------------------- */

enum nf_segment {
	NF_SEGMENT_IRQ_TO_SOFTIRQ,	  /* rx: irq → softirq_entry */
	NF_SEGMENT_RAISE_TO_SOFTIRQ,	  /* rx: softirq_raise → softirq_entry */
	NF_SEGMENT_SOFTIRQ_TO_RECEIVE,	  /* rx: softirq_entry → receive */
	NF_SEGMENT_GAP_WAIT,		  /* rx: receive → gap_filled, see bpf/queued.h */
	NF_SEGMENT_RECEIVE_TO_SOCK_QUEUE, /* rx: receive → sock_queue, without a gap */
	NF_SEGMENT_WAKEUP_TO_RUN,	  /* rx: the reader is woken → gets on a CPU */
	NF_SEGMENT_RUN_TO_COPY,		  /* rx: the woken reader gets on a CPU → copy */
	NF_SEGMENT_RECEIVE_TO_COPY,	  /* rx: receive → copy */
	NF_SEGMENT_RX_TOTAL,		  /* rx: the first stage that the skb passed → copy */
	NF_SEGMENT_RECEIVE_TO_QUEUE,	  /* fwd: receive → queue */
	NF_SEGMENT_FORWARD_TOTAL,	  /* fwd: the first stage that the skb passed → xmit */
	NF_SEGMENT_QUEUE_TO_START,	  /* tx, fwd: queue → start_xmit */
	NF_SEGMENT_START_TO_XMIT,	  /* tx, fwd: start_xmit → xmit */
	NF_SEGMENT_XMIT_TO_FREE,	  /* tx, fwd: xmit → free */
	NF_SEGMENT_TX_TOTAL,		  /* tx: queue → xmit */
	NF_SEGMENT_COUNT,
};

/* Points at which an skb is seen, in the order in which it passes them. */
enum nf_stage {
	NF_STAGE_IRQ,
	NF_STAGE_SOFTIRQ_RAISE,
	NF_STAGE_SOFTIRQ_ENTRY,
	NF_STAGE_RECEIVE,
	NF_STAGE_GAP_FILLED, /* TCP got what was missing before it */
	NF_STAGE_SOCK_QUEUE,
	NF_STAGE_WAKEUP,
	NF_STAGE_RUN,
	NF_STAGE_COPY,
	NF_STAGE_QUEUE,
	NF_STAGE_START_XMIT,
	NF_STAGE_XMIT,
	NF_STAGE_FREE,
	NF_STAGE_COUNT,
};

/*
 * Each segment has one histogram, by enum nf_segment.  Segments that end at a
 * reader have a second one: they end in process context, and sometimes in a
 * softirq that interrupts it.  So each histogram has one writer at a time on a
 * CPU.  The daemon adds the two.
 */
enum nf_hist_index {
	NF_HIST_SOFTIRQ_RECEIVE_TO_COPY = NF_SEGMENT_COUNT,
	NF_HIST_SOFTIRQ_RX_TOTAL,
	NF_HIST_COUNT,
};

/*
 * Histograms are log-linear: each power of two has NF_HIST_STEPS equal steps, so
 * the middle of a bucket is at most 12.5 % off.  The last bucket also counts
 * everything from 2^NF_HIST_MAX_LOG2 ns (about 69 s) on.
 */
#define NF_HIST_STEPS_LOG2 2
#define NF_HIST_STEPS (1 << NF_HIST_STEPS_LOG2)
#define NF_HIST_MAX_LOG2 36
#define NF_HIST_BUCKETS ((NF_HIST_MAX_LOG2 - 1) * NF_HIST_STEPS)

/*
 * A journey that is followed stands for `weight` journeys, see bpf/follow.h: 1 unless the governor
 * sheds load.  So the buckets estimate how many there were, and `variance` is the variance of their
 * sum: 0 as long as all were followed, otherwise at least weight * (weight - 1) of each journey.
 */
struct nf_hist {
	__u64 sum_ns;		       /* of weight * duration */
	__u64 max_ns;		       /* of the durations */
	__u64 journeys;		       /* that were followed */
	__u64 variance;		       /* of the sum of the buckets */
	__u64 bucket[NF_HIST_BUCKETS]; /* weights */
};

/*
 * The floor of log2(v), at the index (v * NF_LOG2_FACTOR) >> 58 of the v that has
 * only ones below its highest bit: the factor gives each of these 64 numbers
 * another index.
 */
#define NF_LOG2_FACTOR 0x03f6eaf2cd271461ULL
static const __u8 nf_log2_of[64] = {
	0,  58, 1,  59, 47, 53, 2,  60, 39, 48, 27, 54, 33, 42, 3,  61, 51, 37, 40, 49, 18, 28,
	20, 55, 30, 34, 11, 43, 14, 22, 4,  62, 57, 46, 52, 38, 26, 32, 41, 50, 36, 17, 19, 29,
	10, 13, 21, 56, 45, 25, 31, 35, 16, 9,	12, 44, 24, 15, 8,  23, 7,  6,	5,  63,
};

/*
 * The floor of log2(v); v must not be 0.  It has no branches, because the verifier
 * follows each way through them and what comes after it.
 */
static inline __attribute__((always_inline)) __u32 nf_log2(__u64 v)
{
	v |= v >> 1;
	v |= v >> 2;
	v |= v >> 4;
	v |= v >> 8;
	v |= v >> 16;
	v |= v >> 32;
	return nf_log2_of[v * NF_LOG2_FACTOR >> 58];
}

/* The bucket of a duration: 0 to NF_HIST_BUCKETS - 1. */
static inline __attribute__((always_inline)) __u32 nf_hist_bucket(__u64 ns)
{
	__u32 shift = nf_log2(ns | NF_HIST_STEPS) - NF_HIST_STEPS_LOG2;
	/* What is left of ns has its highest bit, worth NF_HIST_STEPS, and the step. */
	__u32 bucket = shift * NF_HIST_STEPS + (__u32)(ns >> shift);

	return bucket < NF_HIST_BUCKETS ? bucket : NF_HIST_BUCKETS - 1;
}

/* ---- devices ------------------------------------------------------------ */

/*
 * A device slot belongs to one device in one namespace: see NF_DEVICE_KEY.  The
 * key selects two sets of NF_DEVICE_SET slots, whose keys fill one cache line.
 * The first NF_SLOT_RESERVED slots are not devices.
 */
#define NF_DEVICE_SET 8
#define NF_SLOT_OTHER 0	  /* the group of all devices without a slot or a group of their own */
#define NF_SLOT_BACKLOG 1 /* the backlog of a CPU, which NAPI polls without a device */
#define NF_SLOT_RESERVED 2
#define NF_DEVICE_NAME 16
#define NF_DEVICE_KIND 16
#define NF_KEY_RESERVED (~0ULL) /* the key of the slots that are not devices */

/*
 * The identity of a device in a namespace: the nf_netns_id() of the namespace, because the kernel soon reuses its inode
 * number, and the nf_device_number() of the device.  The kernel uses neither again, so a device that is made with the
 * ifindex or the name of one that is gone is another one; a rename changes neither.
 */
#define NF_DEVICE_KEY(netns_id, device) ((__u64)(netns_id) << 32 | (__u32)(device))
#define NF_KEY_NETNS_ID(key) ((__u32)((key) >> 32))
#define NF_KEY_DEVICE(key) ((__u32)(key))
/* In a number: the rest is an ifindex, because the number is not known. */
#define NF_DEVICE_BY_INDEX 0x80000000U
/* No namespace has the identity 0, so these keys are those of groups, one for each kind. */
#define NF_GROUP_KEY(kind_hash) ((__u64)(__u32)(kind_hash) | 1)
/* The slots of groups follow those of devices, in sets of their own. */
#define NF_GROUP_SETS 2
#define NF_GROUP_SLOTS (NF_GROUP_SETS * NF_DEVICE_SET)

/* The programs take free slots; the daemon frees slots and sets the reserved keys. */
struct nf_device_set {
	__u64 key[NF_DEVICE_SET]; /* NF_DEVICE_KEY or NF_GROUP_KEY, 0 = free */
};

/* Packets of devices that share a block are counted for their device once in this number. */
#define NF_SHARED_SAMPLE 16

struct nf_device_info {
	char name[NF_DEVICE_NAME]; /* read again as packets pass, see nf_device_refresh() */
	char kind[NF_DEVICE_KIND]; /* rtnl_link_ops->kind, or "physical" or "loopback" */
	__u32 netns;		   /* inode number */
	__u16 group;		   /* slot of the group of its kind; its own slot: it is a group */
	__u8 shared; /* on a CPU it counts in its group; set by both sides, cleared by the daemon */
	__u8 local;  /* what it receives was sent or received before by a device of this host */
	__u32 shared_packets; /* in its group, one in NF_SHARED_SAMPLE; a rate, not exact */
	__u32 ifindex;
};

/*
 * A block: the counters of one slot on one CPU.  A CPU takes it at the first
 * packet, so that only pairs that are used cost memory.  The programs of the CPU
 * add to it; the daemon reads it, and clears it when no CPU uses it any more.
 */
struct nf_device_stats {
	struct nf_hist hist[NF_HIST_COUNT]; /* by enum nf_segment and nf_hist_index */
	__u64 polls;			    /* NAPI polls */
	__u64 poll_packets;		    /* packets that they processed */
	__u64 full_budgets;		    /* polls that used up their budget */
	__u64 named_ns;			    /* when this CPU last read a device's name: last used */
	__u64 packets;			    /* received and sent; a rate, not exact */
	__u64 owner;			    /* NF_BLOCK_OWNER, 0 = free */
	__u64 received;		 /* weights of what was followed, see nf_device_received() */
	__u64 received_variance; /* of their sum */
};

#define NF_BLOCK_OWNER(slot, cpu) (1ULL << 63 | (__u64)(slot) << 16 | (cpu))
#define NF_BLOCK_SLOT(owner) ((__u32)(owner) >> 16)
#define NF_BLOCK_CPU(owner) ((__u32)(owner)&0xffff)

/*
 * The block of each slot and CPU, in rows of one cache line; the index is slot *
 * CPUs + CPU.  0 = none yet.  A block whose owner is another slot is that of the
 * slot's group.
 */
#define NF_BLOCK_ROW 32
struct nf_block_row {
	__u16 block[NF_BLOCK_ROW];
};

/* ---- the in-flight table ----------------------------------------------- */

enum nf_journey {
	NF_JOURNEY_NONE,
	NF_JOURNEY_RX,
	NF_JOURNEY_TX,
	NF_JOURNEY_FORWARD, /* received, then queued for transmit */
};

#define NF_INFLIGHT_NO_QUEUE 0x1  /* tx: began at start_xmit: GSO segment, or its entry was lost */
#define NF_INFLIGHT_GAP 0x1	  /* rx: it waited behind a gap */
#define NF_INFLIGHT_SLOW 0x2	  /* a segment was longer than its threshold */
#define NF_INFLIGHT_HOPS 0x4	  /* crossed further devices, see struct nf_hops */
#define NF_INFLIGHT_POLLED 0x8	  /* found by polling on: its irq is not known, see bpf/softirq.h */
#define NF_INFLIGHT_SHARE_SHIFT 4 /* of the upper half of flags */
#define NF_SHIFT_MAX 12		  /* of a share: one journey in 4096 */

/*
 * An entry keeps durations of the receive path in ticks of 2^NF_TICK_SHIFT = 16 ns,
 * at least 1.  NF_TICK_MAX is 68 s or longer.
 */
#define NF_TICK_SHIFT 4
#define NF_TICK_MAX 0xffffffffU

/* Stages before receive, in ticks before it; 0 = not passed, or not known. */
struct nf_rx_stages {
	__u32 irq;
	__u32 raise;
	__u32 entry;
};

/*
 * The entry of one live skb.  `skb` is the owner: the skb's address, as an opaque
 * number counted from a base that is fixed while the programs are loaded; 0 =
 * free.  It is exchanged atomically, the other fields are plain stores.  `check`
 * is the exclusive or of owner, head, begin_ns, start_ns, rx, slot and journey,
 * so that an entry which two CPUs wrote at once is detected.  It leaves out
 * sock_queue, xmit_ns, sk and flags, which another CPU can set while the skb is
 * at its next stage.  The daemon reads owner and slot.
 */
struct nf_inflight {
	__u64 skb;
	__u64 head;	/* skb->head: the second half of the identity */
	__u64 begin_ns; /* rx: receive; tx, forward: queue */
	union {
		struct { /* rx */
			struct nf_rx_stages rx;
			__u32 sock_queue; /* ticks after receive, 0 = not passed */
		};
		struct {		/* tx, forward */
			__u64 start_ns; /* 0 = not yet */
			__u64 xmit_ns;	/* see NF_XMIT_PENDING */
		};
	};
	union {		  /* rx; of a datagram, which one depends on settings.udp_reader */
		__u64 sk; /* the UDP socket where it is next in line; nf_inflight_no_reader() */
		__u64 enqueue_ns;  /* when it was put into the queue of a UDP socket, 0 = not yet */
		struct {	   /* of TCP, with NF_INFLIGHT_GAP */
			__u32 gap; /* ticks after receive: when the gap was filled */
			__u32 missing; /* as in nf_journey_record */
		};
	};
	__u16 slot;   /* device slot of the last stage */
	__u8 journey; /* enum nf_journey */
	__u8 flags;   /* NF_INFLIGHT_*, and nf_share.shift above them */
	union {
		__u32 len : 24; /* rx: skb->len at receive, bytes */
		/* tx: where start_xmit began: the CPU, modulo 256, and its run of NET_RX */
		__u32 origin : 24;
		struct {
			__u8 low[3];
			__u8 rank; /* nf_share.rank */
		};
	};
	__u64 check;
};

/*
 * xmit_ns until start_xmit returns: a value that no other journey has there.  So the CPU that
 * comes from start_xmit can replace it in one step, although the driver may have passed the
 * skb on or freed it, and another CPU may fill the entry at this moment.
 */
#define NF_XMIT_PENDING(start_ns) (~(start_ns))
#define NF_XMIT_SLOW (1ULL << 62) /* in xmit_ns: start_xmit or the total was slow */

/* The entries in which an skb can be: two cache lines, which a processor fetches as a pair. */
#define NF_INFLIGHT_WAYS 2
struct nf_inflight_set {
	struct nf_inflight way[NF_INFLIGHT_WAYS];
};

/*
 * Which sets of the in-flight table have an entry in use: a byte each, so that the hooks of skbs that
 * are not followed read one byte of a small table that is seldom written, see bpf/inflight.h.
 */
#define NF_PRESENCE_ROW 64
struct nf_presence {
	__u8 set[NF_PRESENCE_ROW];
};

/*
 * Data that few skbs have and that their entry has no room for: the receive side
 * of a forwarded skb, and the devices that it crossed.  Only the programs use it.
 */
#define NF_HOPS_MAX 3
struct nf_hops {
	__u64 skb; /* the owner, as in nf_inflight */
	__u64 receive_ns;
	struct nf_rx_stages rx;
	__u8 count;		 /* entries of slot[] */
	__u8 more;		 /* 1: it crossed more devices than fit */
	__u16 slot[NF_HOPS_MAX]; /* device slots in the order of crossing, without the last */
	__u32 reserved[7];
};

/* A woken task, and the skb whose arrival woke it.  Only the programs use it. */
struct nf_wake {
	__u64 skb; /* a number like nf_inflight.skb, 0 = none */
	__u64 wakeup_ns;
	__u64 run_ns; /* when the task got on a CPU, 0 = not yet */
	__u32 tid;    /* thread id of the task */
	__u32 reserved;
};

/* A UDP socket and the skb of its next read, see bpf/reader.h.  Only the programs use it. */
#define NF_READER_HEADER 64 /* bytes */
struct nf_reader {
	__u64 sk;   /* a number like nf_inflight.skb, 0 = free */
	__u64 next; /* a number like nf_inflight.skb, 0 = not known */
	/* Of `next`, for its record: after the read the skb is freed. */
	__u32 len;		    /* skb->len, bytes */
	__u16 protocol;		    /* EtherType */
	__u16 net_len;		    /* bytes of net[] */
	__u8 net[NF_READER_HEADER]; /* from the network header on */
	__u64 last; /* the followed skb that was queued last, 0 = none is in the queue */
};

/* A TCP socket and the skb that its reader is at, see bpf/stream.h.  Only the programs use it. */
struct nf_stream {
	__u64 sk;     /* a number like nf_inflight.skb, 0 = free */
	__u64 skb;    /* a number like nf_inflight.skb, 0 = none */
	__u32 own;    /* own bytes of the skb that are not copied yet */
	__u32 copied; /* bytes of the skb copied so far */
};

/* ---- per CPU ----------------------------------------------------------- */

/*
 * What a followed journey stands for.  2^shift journeys, of which it was drawn.  What is drawn
 * together varies together: `rank` is the rounded up log2 of its number, from 1 on, among the
 * journeys of one draw.
 */
struct nf_share {
	__u8 shift;
	__u8 rank;
};

/*
 * Draws the journeys that a CPU follows: one in 2^shift, at a random position of each block of
 * 2^shift.  See bpf/follow.h.
 */
struct nf_gate {
	__u32 at;     /* position in the block */
	__u32 chosen; /* the position that is followed */
	__u8 shift;
	__u8 next_shift; /* of the next block */
	__u8 most_shift; /* of all blocks */
	__u8 most_rank;	 /* of a run: at most 2^most_rank journeys have begun with one draw */
	__u32 packets;	 /* since since_ns */
	__u64 since_ns;	 /* when the current measurement of the rate began */
	__u64 since_jiffies;
};

enum nf_gate_index {
	NF_GATE_RX,	/* runs of the NET_RX softirq */
	NF_GATE_DIRECT, /* packets received outside of it */
	NF_GATE_TX,	/* packets sent */
	NF_GATES,
};

/* Runs of a program that timed themselves. */
struct nf_timing {
	__u64 begin_ns; /* of the run that is being timed */
	__u64 clock_ns; /* what reading the clock took */
	__u64 runs;
	__u64 ns; /* without reading the clock */
};

/* The shortest times that a hit of nf_hook_* took, see bpf/cost.h; 0: there was none. */
struct nf_hook {
	__u64 last_ns;	/* when the last of the three clocks was read */
	__u64 gap_ns;	/* from the first clock to the second */
	__u64 hooks_ns; /* from the second to the third, with NF_HOOK_COPIES programs in between */
};

#define NF_HOOK_COPIES 8

/* dev_hard_start_xmit() nests through stacked devices, up to XMIT_RECURSION_LIMIT (8) deep. */
#define NF_XMIT_DEPTH 8

/* A transmit that is in start_xmit, see struct nf_context. */
struct nf_xmit_frame {
	__u64 skb;	/* a number like nf_inflight.skb */
	__u64 start_ns; /* 0 = not followed */
	__u32 slot;	/* device slot */
	struct nf_share share;
	__u16 reserved;
};

/* The datagram that a CPU puts into the queue of a UDP socket, see bpf/queued.h. */
struct nf_enqueue {
	__u64 skb;	/* a number like nf_inflight.skb, 0 = none */
	__u64 sk;	/* the socket, a number like nf_inflight.skb */
	__u64 begin_ns; /* of its journey */
	__u64 ns;
	__u32 slot; /* device slot of its journey */
	struct nf_share share;
	__u16 reserved;
};

/* A token bucket of records, see bpf/throttle.h. */
struct nf_bucket {
	__u64 full_ns; /* when it is full again; in the past, or 0: it is full */
};

/* Bytes that TCP readers copied, by the skb that brought them, see bpf/stream.h. */
enum nf_stream_bytes {
	NF_STREAM_DELIVERED, /* of skbs whose journeys ended with the copy */
	NF_STREAM_MERGED,    /* of skbs that TCP had merged into those */
	NF_STREAM_UNTRACKED, /* of skbs that were not in the in-flight table */
	NF_STREAM_COUNT,
};

/*
 * The followed skb that software GSO has cut between its queue and start_xmit: the next skbs that come to start_xmit of
 * its device are its segments, see nf_journey_cut().
 */
struct nf_cut {
	__u64 dev;     /* a number like nf_inflight.skb */
	__u16 left;    /* segments that have not come yet */
	__u16 begun;   /* journeys of segments */
	__u16 jiffies; /* when it was cut, the lowest bits */
	struct nf_share share;
};

/*
 * What a CPU does with packets: the softirq that it serves, and the transmits that it is inside of.
 * With PREEMPT_RT, a task does that, see nf_context().
 */
struct nf_context {
	__u64 entry_ns;	    /* last softirq_entry of NET_RX; 0 = the clock was not read */
	__u64 entry_irq_ns; /* raise_irq_ns and raise_ns of the CPU at that entry */
	__u64 entry_raise_ns;
	__u32 tid;	   /* the task, with PREEMPT_RT */
	__u16 softirq;	   /* 1 + vector of the softirq being served, 0 = none */
	__u8 entry_polled; /* raise_polled of the CPU at that entry */
	__u8 xmit_depth;   /* entries of xmit[] */
	__u8 followed;	   /* the journeys that begin in this run of NET_RX are followed, */
	__u8 shift;	   /* one run in 2^shift */
	__u16 reserved0;
	__u32 ranks; /* journeys that have begun in it */
	__u64 queued; /* the followed skb that passed net_dev_queue last, until the next start_xmit */
	struct nf_cut cut;
	struct nf_xmit_frame xmit[NF_XMIT_DEPTH];
};

/* With PREEMPT_RT, a CPU has this many contexts for the tasks that it runs, a power of two. */
#define NF_CONTEXTS 64

/* What bpf/evidence.h has found so far. */
struct nf_evidence_state {
	__u64 bits;    /* NF_EVIDENCE_* */
	__u32 end_seq; /* of a TCP segment: the number behind its last byte, SYN and FIN included */
	__u32 space;   /* sequence numbers that it takes; 0: a pure ACK or RST */
	__u8 header;   /* bytes from the network header to TCP's, UDP's or ICMP's */
	__u8 next;     /* the protocol there, IPPROTO_*; 0 = not known */
	__u8 reason;   /* of the drop, below NF_EVIDENCE_REASONS */
	__u8 fit;      /* how well `sock` fits a datagram: enum nf_fit of bpf/udp.h */
	__u32 length;  /* bytes from there on, by the IP header */
	__u64 sock;    /* address of the socket, 0 = none; also NF_FOUND_* of bpf/tcp.h */
	__u64 net;     /* address of the namespace, 0 = not known */
	__u64 ip;      /* address of the network header */
};

/* The followed skb that UDP has split on this CPU, see nf_journey_split(): each part has what it had. */
struct nf_split {
	__u64 skb; /* a number like nf_inflight.skb, for its nf_hops */
	__u64 begin_ns;
	struct nf_rx_stages rx;
	__u32 iif;
	__u16 size;  /* payload of each part but the last, bytes */
	__u16 left;  /* parts that are not in a queue yet */
	__u16 begun; /* journeys of parts */
	__u16 slot;
	struct nf_share share;
	__u8 flags;
	__u8 reserved[5];
};

/* The journey of a received skb that was freed, until the clone that goes on is queued, see nf_journey_parts(). */
struct nf_parted {
	struct nf_inflight path; /* without an owner: none */
	struct nf_hops hops;
	__u64 dev; /* the address of the device that the clone goes to */
	__u64 reserved;
};

/* In place of the skb that was received last: the parts of nf_cpu.split come, and are not announced. */
#define NF_PARTS 1

#define NF_PASSES 0xff
/* In place of a time: the clock was not read, because nothing would use it. */
#define NF_UNTIMED 1

/*
 * The programs of the CPU write it; the daemon reads context.xmit, stream_bytes, hook, gate, calls,
 * timing and events.  While stages are detached it clears the rest.
 */
/* The slot of the device above that has an ifindex in a namespace in this tick, see nf_queued_above(). */
#define NF_ABOVE 8
struct nf_above {
	__u64 net; /* a number like nf_inflight.skb */
	__u32 ifindex;
	__u32 slot;
	__u64 seal; /* of the others and the tick: a softirq can come between two writes */
};

struct nf_cpu {
	/* What the next received skb gets, see bpf/softirq.h. */
	__u64 irq_ns;	/* irq_handler_entry, 0 outside a handler, NF_UNTIMED */
	__u64 raise_ns; /* first softirq_raise of NET_RX since its entry, 0 = none, NF_UNTIMED */
	__u64 raise_irq_ns; /* irq_ns of the irq that raised it, 0 = none */
	__u64 again_ns;	    /* irq_ns of an irq that found its device being polled, 0 = none */
	__u8 raise_polled;  /* NET_RX raised itself without an irq since its entry */
	__u8 irq_raised;    /* the irq being handled has raised NET_RX */
	__u8 untimed;  /* neither this run of NET_RX nor the next one is followed: read no clock */
	__u8 next_run; /* the next run of NET_RX is followed, one in 2^next_run; or NF_PASSES */
	__u8 wants_entry; /* a followed skb may be received in the next run */
	__u8 known;	  /* a softirq began or ended since the stages are attached */
	__u16 runs;	  /* runs of NET_RX, without the upper bits */
	__u64 ready;	  /* the first skb that the last sk_data_ready put into a queue, 0 = none */
	__u64 base;	  /* scratch, see nf_base() */
	struct nf_bucket journey_bucket;     /* of latency records */
	__u64 stream_bytes[NF_STREAM_COUNT]; /* TCP payload copied to readers */
	__u64 rx_lines; /* bit n: an irq whose number has the lower six bits n has raised NET_RX */
	struct nf_enqueue enqueue;
	__u64 ready_ns; /* when `ready` was announced */
	struct nf_evidence_state evidence;
	__u64 received; /* the followed skb that was received last and is not announced, 0 = none, NF_PARTS */
	struct nf_parted parted;
	__u64 random; /* the state of nf_random() */
	__u32 timed;  /* bit n: a run of program n is being timed */
	__u32 window; /* live.window when `ranks` began */
	__u32 ranks;  /* journeys that have begun in this window on this CPU */
	__u32 closed; /* the daemon writes it, 1: stages are detached, or are being detached */
	__u64 zero;   /* always 0, which the verifier does not know */
	struct nf_split split;
	struct nf_hook hook;
	struct nf_gate gate[NF_GATES];
	struct nf_above above[NF_ABOVE];   /* by the ifindex */
	__u64 gap;			   /* what shows where a gap was, see nf_queued_wait() */
	__u64 calls[NF_PROBE_SLOTS_FIRST]; /* of each program */
	struct nf_context context;	   /* not with PREEMPT_RT */
	struct nf_timing timing[NF_PROBE_SLOTS_FIRST + 1]; /* the last fills a cache line */
	__u64 events[NF_PROBE_COUNT][NF_EVENT_ROOM];
};

/* ---- drops ------------------------------------------------------------- */

/*
 * Drops with the same key are counted together.  The hash has no room for keys that
 * strangers choose without limit: EtherTypes and IP protocols that are not well known
 * have one key each, see bpf/drop.h.  A record has the exact values.
 *
 * Keys are of one of two generations.  The programs count in the generation that
 * live.drop_generation names; the daemon takes the counts of the other one and removes
 * its keys.
 */
struct nf_drop_key {
	__u64 location; /* address in kernel text, of the call of kfree_skb */
	__u64 cgroup;	/* id of the cgroup of the skb's socket, 0 = not known */
	__u64 evidence; /* NF_EVIDENCE_*; also of the first NF_DROP_EVIDENCES coarse keys */
	__u32 reason;	/* enum skb_drop_reason, with the subsystem in the upper 16 bits */
	__u32 netns;	/* nf_netns_id(), 0 = not known */
	__u32 device;	/* nf_device_number(), 0 = not known */
	__u16 protocol; /* EtherType, 0 = none, NF_PROTOCOL_LENGTH = an 802.3 length */
	__u8 l4;	/* IP protocol number, valid with NF_KEY_L4 */
	__u8 flags;	/* NF_KEY_* */
};
#define NF_KEY_L4 0x01
#define NF_KEY_OTHER_PROTOCOL 0x02 /* protocol is 0: an EtherType that is not well known */
#define NF_KEY_OTHER_L4 0x04	   /* l4 is 0: an IP protocol that is not well known */
#define NF_KEY_COARSE 0x08	   /* cgroup, device, protocol and l4 are 0: see NF_DROP_QUOTAS */
#define NF_KEY_GENERATION_SHIFT 7
#define NF_KEY_GENERATION (1 << NF_KEY_GENERATION_SHIFT)
#define NF_PROTOCOL_LENGTH 1 /* ETH_P_802_3, which the kernel gives to such frames */

/*
 * What an skb and its socket say at the moment of a drop, a bit each: X(NAME, word, needs, bit).
 * Knowledge, JSON and the command line use `word`.  A bit that is not set means something only if
 * all bits in `needs` are set: without a known socket, "not listening" is not known either.
 * The programs read evidence only for the reasons in settings.evidence; 0 = it was not read.
 * The history's file has the bits: a word keeps its bit, unless the file's version changes.
 * config/knowledge/generate reads this list; daemon/core/evidence.h has functions for it.
 *
 * MESSAGE: no packet, but a message of a socket of family UNIX, NETLINK, KEY, ALG or VSOCK, or an
 * skb with neither socket, device, protocol nor headers.  NO_BYTES: skb->len is 0, as of a queued
 * FIN.  MULTICAST, BROADCAST, OTHERHOST: skb->pkt_type.  RECEIVED: skb->skb_iif is not 0.
 * LISTEN, TIME_WAIT, NEW_SYN_RECV, CLOSED: the state of the socket; ESTABLISHED: also the states of
 * closing in which data can arrive.  FULL: its
 * receive queue (sk_rmem_alloc >= sk_rcvbuf) or, of a listening one, its accept queue.
 * NO_PAYLOAD: a TCP segment without data.  OLD: a TCP segment that ends at or before rcv_nxt,
 * or without data before it.
 * CHECKED: its checksum is correct or needs no check.  DOWN: the device is down.  OVERSIZE:
 * longer than the device's MTU and not GSO.  SEC_PATH: IPsec has decrypted it.  EXPIRED: TTL or
 * hop limit is at most 1.  SOCKET: a socket is known; LOOKED: and if not, there is none.  STREAM: its
 * rcv_nxt was read, and a TCP header.  DEVICE:
 * skb->dev is a device.  IP, TCP, UDP: such a header was read.  KNOWN: evidence was read.
 *
 * NET: the namespace is known; POLICIES: and it has IPsec policies that can refuse what it receives
 * or forwards.  BAD_HEADER: by its EtherType it is IP, but it is shorter than the header, or the
 * header says that it is.  BAD_VERSION: the header has another version.  TRUNCATED: it is shorter
 * than the length in its IP header.  BAD_CHECKSUM: that of the IPv4 header is wrong.  OPTIONS: it
 * has IPv4 options or an IPv6 extension header.  BAD_SOURCE: the source is multicast, broadcast or
 * 0.  BAD_DESTINATION: the destination is 0.  LOOPBACK: one of them is a loopback address that
 * its device must not have (route_localnet is 0).
 * UNICAST: the destination is neither multicast nor 255.255.255.255.  ROUTE: it has a route;
 * NO_ROUTE, UNREACHABLE: whose error is ENETUNREACH, EHOSTUNREACH; OVER_ROUTE: it is longer than
 * the route's MTU, or that of its device, and not GSO.  FORWARDING: its device forwards this version of IP.
 * CLASSIFIER: tc programs are attached to its device.  SHORT: its TCP, UDP or ICMP header, or the fixed
 * part of its message of neighbour discovery, is not complete or gives an impossible length.
 * FILTER: its socket has a filter.
 *
 * LEAVING: its device is not the one that received it.  QUEUE: its device has a qdisc with a
 * queue. PORT: its device is a port of a bridge, a bond or the like.  DISABLED: its device has no
 * configuration for this version of IP, or disable_ipv6, or IPv6 has not come up on it yet.
 * RP_FILTER: its device checks the sources of IPv4.  OWN_SOURCE: the source is one of the first
 * IPv4 addresses of its device.  LINK_LOCAL: the source is an IPv6 address that is valid on one
 * link only.  DHCP: a datagram for a DHCPv4 client. BAD_MAC: the source of its Ethernet frame is
 * multicast or zero.  MAC_CONTROL: the destination is 01:80:c2:00:00:01, that of pause frames.
 * ND_FAR: a message of neighbour discovery whose hop limit is not 255; ND_CODE: or whose code is
 * not 0; ND_OPTIONS: or whose options have a length of 0 or do not end with the message.
 */
/* clang-format off */
#define NF_EVIDENCE_LIST(X)                                               \
	X(MESSAGE,         message,         KNOWN,  0x0000000000000001ULL) \
	X(NO_BYTES,        no_bytes,        KNOWN,  0x0000000000000002ULL) \
	X(MULTICAST,       multicast,       KNOWN,  0x0000000000000004ULL) \
	X(BROADCAST,       broadcast,       KNOWN,  0x0000000000000008ULL) \
	X(OTHERHOST,       otherhost,       KNOWN,  0x0000000000000010ULL) \
	X(RECEIVED,        received,        KNOWN,  0x0000000000000020ULL) \
	X(LISTEN,          listen,          SOCKET, 0x0000000000000040ULL) \
	X(TIME_WAIT,       time_wait,       SOCKET, 0x0000000000000080ULL) \
	X(NEW_SYN_RECV,    new_syn_recv,    SOCKET, 0x0000000000000100ULL) \
	X(ESTABLISHED,     established,     SOCKET, 0x0000000000000200ULL) \
	X(CLOSED,          closed,          SOCKET, 0x0000000000000400ULL) \
	X(TCP_SYN,         tcp_syn,         TCP,    0x0000000000000800ULL) \
	X(TCP_FIN,         tcp_fin,         TCP,    0x0000000000001000ULL) \
	X(TCP_RST,         tcp_rst,         TCP,    0x0000000000002000ULL) \
	X(TCP_ACK,         tcp_ack,         TCP,    0x0000000000004000ULL) \
	X(NO_PAYLOAD,      no_payload,      TCP,    0x0000000000008000ULL) \
	X(ND_OPTIONS,      nd_options,      IP,     0x0000000000010000ULL) \
	X(OLD,             old,             STREAM, 0x0000000000020000ULL) \
	X(FULL,            full,            SOCKET, 0x0000000000040000ULL) \
	X(CHECKED,         checked,         KNOWN,  0x0000000000080000ULL) \
	X(FRAGMENT,        fragment,        IP,     0x0000000000100000ULL) \
	X(SEC_PATH,        sec_path,        KNOWN,  0x0000000000200000ULL) \
	X(SOCKET,          socket,          LOOKED, 0x0000000000400000ULL) \
	X(DEVICE,          device,          KNOWN,  0x0000000000800000ULL) \
	X(TCP,             tcp,             IP,     0x0000000001000000ULL) \
	X(IP,              ip,              KNOWN,  0x0000000002000000ULL) \
	X(EXPIRED,         expired,         IP,     0x0000000004000000ULL) \
	X(DOWN,            down,            DEVICE, 0x0000000008000000ULL) \
	X(OVERSIZE,        oversize,        DEVICE, 0x0000000010000000ULL) \
	X(LOOKED,          looked,          KNOWN,  0x0000000020000000ULL) \
	X(STREAM,          stream,          SOCKET, 0x0000000040000000ULL) \
	X(KNOWN,           known,           KNOWN,  0x0000000080000000ULL) \
	X(NET,             net,             KNOWN,  0x0000000100000000ULL) \
	X(POLICIES,        policies,        NET,    0x0000000200000000ULL) \
	X(BAD_HEADER,      bad_header,      KNOWN,  0x0000000400000000ULL) \
	X(BAD_VERSION,     bad_version,     IP,     0x0000000800000000ULL) \
	X(TRUNCATED,       truncated,       IP,     0x0000001000000000ULL) \
	X(BAD_CHECKSUM,    bad_checksum,    IP,     0x0000002000000000ULL) \
	X(OPTIONS,         options,         IP,     0x0000004000000000ULL) \
	X(BAD_SOURCE,      bad_source,      IP,     0x0000008000000000ULL) \
	X(BAD_DESTINATION, bad_destination, IP,     0x0000010000000000ULL) \
	X(LOOPBACK,        loopback,        IP,     0x0000020000000000ULL) \
	X(UNICAST,         unicast,         IP,     0x0000040000000000ULL) \
	X(ROUTE,           route,           KNOWN,  0x0000080000000000ULL) \
	X(NO_ROUTE,        no_route,        ROUTE,  0x0000100000000000ULL) \
	X(UNREACHABLE,     unreachable,     ROUTE,  0x0000200000000000ULL) \
	X(OVER_ROUTE,      over_route,      ROUTE,  0x0000400000000000ULL) \
	X(FORWARDING,      forwarding,      DEVICE, 0x0000800000000000ULL) \
	X(CLASSIFIER,      classifier,      DEVICE, 0x0001000000000000ULL) \
	X(UDP,             udp,             IP,     0x0002000000000000ULL) \
	X(SHORT,           short,           IP,     0x0004000000000000ULL) \
	X(FILTER,          filter,          SOCKET, 0x0008000000000000ULL) \
	X(LEAVING,         leaving,         DEVICE, 0x0010000000000000ULL) \
	X(QUEUE,           queue,           DEVICE, 0x0020000000000000ULL) \
	X(PORT,            port,            DEVICE, 0x0040000000000000ULL) \
	X(DISABLED,        disabled,        DEVICE, 0x0080000000000000ULL) \
	X(RP_FILTER,       rp_filter,       DEVICE, 0x0100000000000000ULL) \
	X(OWN_SOURCE,      own_source,      DEVICE, 0x0200000000000000ULL) \
	X(LINK_LOCAL,      link_local,      IP,     0x0400000000000000ULL) \
	X(DHCP,            dhcp,            UDP,    0x0800000000000000ULL) \
	X(BAD_MAC,         bad_mac,         DEVICE, 0x1000000000000000ULL) \
	X(MAC_CONTROL,     mac_control,     DEVICE, 0x2000000000000000ULL) \
	X(ND_FAR,          nd_far,          IP,     0x4000000000000000ULL) \
	X(ND_CODE,         nd_code,         IP,     0x8000000000000000ULL)
/* clang-format on */

/* How much of the evidence the programs read for a reason.  Reasons of subsystems: nothing. */
#define NF_EVIDENCE_REASONS 256 /* the core's reasons below it; a power of two */
enum nf_evidence_level {
	NF_EVIDENCE_NONE,
	NF_EVIDENCE_ONLY_MESSAGE, /* MESSAGE and KNOWN only */
	NF_EVIDENCE_HEADERS,	  /* what the skb itself and its IP header say */
	NF_EVIDENCE_ALL,
};

enum nf_evidence { /* of 64 bits */
#define X(name, word, needs, bit) NF_EVIDENCE_##name = bit,
		   NF_EVIDENCE_LIST(X)
#undef X
};

/* What the level NF_EVIDENCE_HEADERS reads, and cases of a reason with that level may ask for. */
#define NF_EVIDENCE_OF_HEADERS                                                                    \
	(NF_EVIDENCE_MESSAGE | NF_EVIDENCE_KNOWN | NF_EVIDENCE_NO_BYTES | NF_EVIDENCE_MULTICAST | \
	 NF_EVIDENCE_BROADCAST | NF_EVIDENCE_OTHERHOST | NF_EVIDENCE_RECEIVED | NF_EVIDENCE_IP |  \
	 NF_EVIDENCE_OPTIONS | NF_EVIDENCE_EXPIRED | NF_EVIDENCE_UNICAST | NF_EVIDENCE_LINK_LOCAL)

/* The drops that the CPUs with this number modulo the number of shards have counted. */
struct nf_drop_shard {
	__u64 packets;	/* skbs */
	__u64 segments; /* packets on the wire that these skbs were */
	__u64 bytes;	/* of skb->len */
	__u64 last_ns;	/* the last drop */
};
#define NF_DROP_SHARDS 16 /* at most; a power of two */

/*
 * Drops of one key, or of one reason.  The daemon gives the maps room for as many shards
 * as the host needs, settings.drop_shards.
 */
struct nf_drop_entry {
	struct nf_bucket bucket;     /* of the records */
	char device[NF_DEVICE_NAME]; /* its name at the newest drop, empty = not known */
	__u32 netns;		     /* inode number, 0 = not known */
	__u32 ifindex;		     /* 0 = not known */
	struct nf_drop_shard shard[NF_DROP_SHARDS];
};
#define NF_DROP_ENTRY_BYTES(shards) \
	(sizeof(struct nf_drop_entry) - (NF_DROP_SHARDS - (shards)) * sizeof(struct nf_drop_shard))

/* The reason that counts drops whose own reason has no entry; no kernel has this reason. */
#define NF_DROP_REASON_ANY 0xffffffffU
#define NF_DROP_REASONS 1024 /* the kernel's reasons with a counter of their own, at most */

/*
 * Keys that each namespace has in a generation, by the lower bits of nf_netns_id();
 * namespaces with the same ones share a counter.  A namespace beyond settings.drop_quota
 * gets coarse keys only.
 */
#define NF_DROP_QUOTAS 1024 /* a power of two */
/* And coarse keys with evidence, of which a hostile sender makes many; others have some ten at each location. */
#define NF_DROP_EVIDENCES 256

enum nf_record_type {
	NF_RECORD_DROP = 1,
	NF_RECORD_JOURNEY,
	NF_RECORD_SLOTS,
	NF_RECORD_DROP_KEYS, /* only the header: a generation of drop keys has reached its limit */
	NF_RECORD_BLOCKS,    /* a header only: few free blocks are left */
	NF_RECORD_BUSY,	     /* a header only: a CPU follows at most 1 in 2^live.busy_shift */
};

/* The header of each record in the ring buffer. */
struct nf_record {
	__u16 type; /* enum nf_record_type */
	__u16 cpu;
	__u32 size; /* bytes of the whole record, with this header */
	__u64 time_ns;
};

/* The first bytes of a packet, and metadata of its skb. */
#define NF_L2_MAX 24
#define NF_NET_MAX 128
/* These numbers are also part of the format of the history's file. */
#define NF_BYTES_VLAN 0x1    /* vlan_proto and vlan_tci are valid: the skb's metadata has a tag */
#define NF_BYTES_UNKNOWN 0x2 /* len is not known: of trace events, see daemon/correlator */
struct nf_bytes {
	__u32 len;	  /* skb->len, bytes */
	__u16 protocol;	  /* EtherType, 0 = none */
	__u16 vlan_proto; /* EtherType of the tag */
	__u16 vlan_tci;
	__u8 flags;   /* NF_BYTES_* */
	__u8 l2_len;  /* bytes of l2[] */
	__u8 net_len; /* bytes of net[] */
	__u8 reserved;
	__u16 segments;	      /* packets on the wire that the skb is: 1, or those of GSO or GRO */
	__u8 l2[NF_L2_MAX];   /* from the MAC header to the network header */
	__u8 net[NF_NET_MAX]; /* from the network header on, only the linear part */
};

/* The current task; the flag …_TASK of the record says whether it was involved. */
struct nf_task {
	__u32 pid; /* thread group id, the process id of user space */
	__u32 tid; /* thread id */
	char comm[16];
};

#define NF_DROP_STACK_MAX 32

/* Flags of a drop record; without its flag a field is not valid. */
#define NF_DROP_TASK 0x01   /* process context: the task was involved */
#define NF_DROP_REASON 0x04 /* reason: kfree_skb of this kernel has one */
#define NF_DROP_L4 0x08	    /* l4 */
#define NF_DROP_TASK_UNKNOWN \
	0x10 /* no probe showed whether the task was involved: not NF_DROP_TASK */

struct nf_drop_record {
	struct nf_record header; /* its time is that of kfree_skb */
	__u64 location;		 /* as in nf_drop_key */
	__u64 cgroup;	 /* id, of the socket, otherwise of an involved task; 0 = not known */
	__u32 reason;	 /* as in nf_drop_key */
	__u32 netns;	 /* inode number, 0 = not known */
	__u32 ifindex;	 /* 0 = not known */
	__u8 l4;	 /* IP protocol number */
	__u8 flags;	 /* NF_DROP_* */
	__u16 stack_len; /* entries of stack[] */
	__u32 netns_id;	 /* nf_netns_id(), 0 = not known */
	__u32 device_id; /* nf_device_number(), 0 = not known */
	__u64 evidence;	 /* as in nf_drop_key */
	struct nf_task task;
	char device[NF_DEVICE_NAME]; /* name, empty = not known */
	struct nf_bytes bytes;
	__u64 stack[NF_DROP_STACK_MAX]; /* addresses, only while live.drop_stack is set */
};
#define NF_DROP_RECORD_PLAIN (sizeof(struct nf_drop_record) - NF_DROP_STACK_MAX * sizeof(__u64))

enum nf_outcome {
	NF_OUTCOME_DELIVERED,
	NF_OUTCOME_TRANSMITTED,
	NF_OUTCOME_FORWARDED,
};

#define NF_JOURNEY_SLOW 0x01	 /* a segment was longer than its threshold; otherwise a sample */
#define NF_JOURNEY_TASK 0x02	 /* process context: the task is the reader or the sender */
#define NF_JOURNEY_NO_QUEUE 0x04 /* NF_INFLIGHT_NO_QUEUE */
#define NF_JOURNEY_MORE 0x08	 /* it crossed more devices than device[] holds */
#define NF_JOURNEY_POLLED 0x10	 /* NF_INFLIGHT_POLLED */
#define NF_JOURNEY_DEVICES (NF_HOPS_MAX + 1)

struct nf_journey_device {
	__u32 ifindex;
	__u32 netns;	 /* inode number */
	__u32 netns_id;	 /* nf_netns_id() */
	__u32 device_id; /* nf_device_number() */
	char name[NF_DEVICE_NAME];
};

/* The finished journey of one skb. */
struct nf_journey_record {
	struct nf_record header;	/* its time is the end of the journey */
	__u64 stage_ns[NF_STAGE_COUNT]; /* 0 = not passed, or not known */
	__u64 cgroup;			/* id of the task's or the socket's; 0 = not known */
	__u8 outcome;			/* enum nf_outcome */
	__u8 flags;			/* NF_JOURNEY_* */
	__u8 devices;			/* entries of device[] */
	__u8 weight_shift;		/* one journey in 2^weight_shift was followed */
	__u32 merged;			/* delivered by TCP: bytes that were merged into this skb */
	__u32 reserved;
	__u32 missing; /* with NF_STAGE_GAP_FILLED: a sequence number that was missing, 0 = not known */
	struct nf_task task;
	struct nf_journey_device device[NF_JOURNEY_DEVICES]; /* in the order of crossing */
	struct nf_bytes bytes;
};

/* ---- ring slots ---------------------------------------------------------- */

/*
 * A transmit needs one slot in the ring of a Xen device for each page of 4096
 * bytes (XEN_PAGE_SIZE, independent of the kernel's page size) that its linear
 * part and its fragments touch.
 */
#define NF_SLOT_BYTES 4096
#define NF_SLOTS_BUCKETS 128	/* one per number of slots; the last also counts higher numbers */
#define NF_SLOTS_DEPTH 4	/* frames per CPU, for transmits through stacked devices */
#define NF_FRAGS_MAX 45		/* the maximum of CONFIG_MAX_SKB_FRAGS */
#define NF_SLOTS_WIRE_MAX 65535 /* bytes, XEN_NETIF_MAX_TX_SIZE: the driver drops a longer skb */

/* The numbers are also part of the format of the history's file. */
enum nf_slots_outcome {
	NF_SLOTS_SENT,	     /* the driver took it as it was */
	NF_SLOTS_LINEARIZED, /* the driver linearized it first */
	NF_SLOTS_DROPPED,    /* the driver dropped it */
	NF_SLOTS_REQUEUED,   /* the driver did not take it; the stack sends it again */
	NF_SLOTS_UNSEEN,     /* not known: the end of start_xmit was not seen, or is not clear */
	NF_SLOTS_OUTCOMES,
};

/* The events of the slots probes, one row per (CPU, probe); HIT = COUNTED + UNKEYED. */
enum nf_slots_event {
	NF_SLOTS_HIT,	  /* a transmit began */
	NF_SLOTS_COUNTED, /* counted under its device */
	NF_SLOTS_UNKEYED, /* counted under the key 0: the table of devices was full */
	NF_SLOTS_CHOSEN, /* near the limit, above it or too long; = the next four and open frames */
	NF_SLOTS_RECORDED,  /* a record was sent */
	NF_SLOTS_THROTTLED, /* the token bucket was empty */
	NF_SLOTS_RING_FULL, /* the ring buffer had no room */
	NF_SLOTS_UNENDED,   /* no record: the end was not seen */
	NF_SLOTS_EVENTS,
};
#define NF_SLOTS_PROBES (NF_PROBE_COUNT - NF_PROBE_SLOTS_FIRST)

/* Per device and CPU; the key is NF_DEVICE_KEY, 0 = all devices that found the table full. */
struct nf_slots_count {
	__u64 slots[NF_SLOTS_BUCKETS];	   /* transmits by the slots that they need */
	__u64 near;			   /* at the limit, or one below */
	__u64 overflow[NF_SLOTS_OUTCOMES]; /* above the limit */
	__u64 too_big; /* dropped, longer than NF_SLOTS_WIRE_MAX; neither near nor overflow */
	__u64 last_overflow_ns;
};

/* Per device. */
struct nf_slots_info {
	char device[NF_DEVICE_NAME]; /* its name at its first transmit */
	__u32 netns;		     /* inode number */
	__u32 ifindex;
	__u32 xen; /* 1: its driver is xen-netfront */
	__u32 reserved;
};

#define NF_SLOTS_TASK 0x01     /* process context: the task sent it */
#define NF_SLOTS_XEN 0x02      /* by xen-netfront; otherwise by a device of slots.devices */
#define NF_SLOTS_TOO_BIG 0x04  /* longer than NF_SLOTS_WIRE_MAX, by xen-netfront */
#define NF_SLOTS_FEATURES 0x08 /* the next three are known */
#define NF_SLOTS_SG 0x10       /* scatter-gather is on at the device */
#define NF_SLOTS_GSO 0x20      /* generic segmentation offload is on */
#define NF_SLOTS_TSO 0x40      /* TCP segmentation offload of IPv4 is on */

struct nf_slots_frag {
	__u32 offset; /* bytes from the start of the fragment's first page, which can be compound */
	__u32 size;   /* bytes */
};

/* One transmit; the record ends after the last used entry of frag[]. */
struct nf_slots_record {
	struct nf_record header; /* its time is the start of start_xmit */
	__u32 slots;		 /* that the transmit needs */
	__u32 limit;		 /* slots_settings.limit */
	__u32 len;		 /* skb->len, bytes */
	__u32 head_offset;	 /* of the linear part within its page of NF_SLOT_BYTES */
	__u32 head_len;		 /* bytes of the linear part */
	__u32 ifindex;
	__u32 netns;	 /* inode number */
	__u32 netns_id;	 /* nf_netns_id() */
	__u32 device_id; /* nf_device_number() */
	__u32 reserved2;
	__u16 gso_size; /* bytes, 0 = not a GSO skb */
	__u16 gso_segs;
	__u8 outcome; /* enum nf_slots_outcome */
	__u8 flags;   /* NF_SLOTS_* */
	__u8 frags;   /* entries of frag[] */
	__u8 reserved;
	char device[NF_DEVICE_NAME];
	struct nf_task task;
	struct nf_bytes bytes;
	struct nf_slots_frag frag[NF_FRAGS_MAX];
};
#define NF_SLOTS_RECORD_PLAIN \
	(sizeof(struct nf_slots_record) - NF_FRAGS_MAX * sizeof(struct nf_slots_frag))

#define NF_SLOTS_SHINFO_BYTES 1024 /* room for skb_shared_info with NF_FRAGS_MAX fragments */
#define NF_SLOTS_SKB_BYTES 320	   /* room for struct sk_buff */

/* A transmit near the limit, above it or too long, between its start and its end. */
struct nf_slots_frame {
	__u64 skb;	  /* address */
	__u64 key;	  /* of its device in nf_slots_counts */
	__u64 tx_dropped; /* the device's counter at the start */
	__u32 data_len;	  /* bytes in fragments at the start */
	__u8 row;	  /* of nf_slots_cpu.events */
	__u8 dropped;	  /* 1: kfree_skb was called for it */
	__u8 reserved[2];
	struct nf_slots_record record;
};

/* The slots programs of the CPU write it; the daemon reads events. */
struct nf_slots_cpu {
	__u64 scratch;		    /* see nf_number() */
	__u64 seen_skb, seen_dev;   /* the transmit that nf_slots_devices has just counted */
	struct nf_bucket bucket[2]; /* of records: near misses, all others */
	__u32 depth;		    /* entries of frame[] */
	__u32 reserved;
	__u64 events[NF_SLOTS_PROBES][NF_SLOTS_EVENTS];
	__u8 skb[NF_SLOTS_SKB_BYTES];	    /* a copy of the skb, for the kprobe */
	__u8 shinfo[NF_SLOTS_SHINFO_BYTES]; /* a copy of skb_shared_info */
	struct nf_slots_frame frame[NF_SLOTS_DEPTH];
};

_Static_assert(sizeof(struct nf_inflight) == NF_CACHE_LINE, "one entry, one cache line");
_Static_assert(sizeof(struct nf_device_set) == NF_CACHE_LINE, "one set, one cache line");
_Static_assert(sizeof(struct nf_hist) == 1152, "layout");
_Static_assert(sizeof(struct nf_drop_key) == 40, "no hidden padding in a hash key");
_Static_assert(sizeof(enum nf_evidence) == 8 && sizeof(NF_EVIDENCE_KNOWN) == 8, "~ keeps 64 bits");
_Static_assert(sizeof(struct nf_drop_entry) == 32 + NF_DROP_SHARDS * 32, "layout");
_Static_assert(sizeof(struct nf_device_info) == 48, "layout");
_Static_assert(sizeof(struct nf_device_stats) % NF_CACHE_LINE == 0, "CPUs share no cache line");
_Static_assert(sizeof(struct nf_block_row) == NF_CACHE_LINE, "one row, one cache line");
_Static_assert(sizeof(struct nf_cpu) % NF_CACHE_LINE == 0, "CPUs share no cache line");
_Static_assert(sizeof(struct nf_context) == 256, "layout");
_Static_assert(sizeof(struct nf_hops) == NF_CACHE_LINE, "one entry, one cache line");
_Static_assert(sizeof(struct nf_reader) == 96, "layout");
_Static_assert(sizeof(struct nf_stream) == 24, "layout");
_Static_assert(sizeof(struct nf_bytes) == 168, "layout");
_Static_assert(sizeof(struct nf_drop_record) == 16 + 48 + 24 + 16 + 168 + 256, "layout");
_Static_assert(sizeof(struct nf_slots_frag) == 8, "layout");
_Static_assert(NF_SLOTS_RECORD_PLAIN == 16 + 48 + 16 + 24 + 168, "layout");
_Static_assert(sizeof(struct nf_slots_count) == (NF_SLOTS_BUCKETS + 8) * 8, "no hidden padding");
_Static_assert(sizeof(struct nf_slots_frame) % 8 == 0, "layout");
_Static_assert(sizeof(struct nf_journey_record) == 16 + 104 + 16 + 24 + 8 + 128 + 168, "layout");

#endif
