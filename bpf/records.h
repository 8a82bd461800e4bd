/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the programs in the kernel and the daemon tell each other: the layout
 * of every map value and of every record in the ring buffer, and the histogram
 * arithmetic both sides must agree on.
 *
 * This is the only header that both sides include.  Fixed-width types only,
 * no padding that is not named, every size asserted: a change here that one
 * side does not see would be read as wrong numbers, not as an error.
 *
 * All times are CLOCK_MONOTONIC nanoseconds.
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

/* Stands in a program for a call of bpf_rdonly_cast(), see bpf/reader.h; no helper's number. */
#define NF_CALL_RDONLY_CAST 0x6e660001

/* ---- probes ------------------------------------------------------------ */

/* One row per attach point, in the order in which a packet meets them. */
enum nf_probe {
	NF_PROBE_IRQ_HANDLER_ENTRY,
	NF_PROBE_IRQ_HANDLER_EXIT,
	NF_PROBE_SOFTIRQ_RAISE,
	NF_PROBE_SOFTIRQ_ENTRY,
	NF_PROBE_SOFTIRQ_EXIT,
	NF_PROBE_NAPI_POLL,
	NF_PROBE_NETIF_RECEIVE_SKB,
	NF_PROBE_SK_DATA_READY,
	NF_PROBE_SCHED_WAKING,
	NF_PROBE_SCHED_SWITCH,
	NF_PROBE_SKB_COPY_DATAGRAM_IOVEC,
	NF_PROBE_SOCK_RECV_LENGTH,
	NF_PROBE_NET_DEV_QUEUE,
	NF_PROBE_NET_DEV_START_XMIT,
	NF_PROBE_NET_DEV_XMIT,
	NF_PROBE_CONSUME_SKB,
	NF_PROBE_KFREE_SKB,
	/* Of bpf/slots.bpf.c, an object of its own that counts its own events. */
	NF_PROBE_XENNET_START_XMIT,
	NF_PROBE_SLOTS_DEVICES,
	NF_PROBE_COUNT,
};
#define NF_PROBE_SLOTS_FIRST NF_PROBE_XENNET_START_XMIT

/*
 * What a program counts.  The counters stand in one row per (CPU, program),
 * so that each is written by one program only: a program does not interrupt
 * itself (see NF_COUNT in bpf/cpu.h), hence no counter needs an atomic add.
 */
enum nf_event {
	NF_EVENT_HIT,		 /* the program ran */
	NF_EVENT_BEGUN,		 /* a journey got an entry in the in-flight table */
	NF_EVENT_DELIVERED,	 /* ended: copied to a reader */
	NF_EVENT_CONSUMED,	 /* ended: consumed inside the kernel, no reader */
	NF_EVENT_TRANSMITTED,	 /* ended: left through a device, or handed to its peer */
	NF_EVENT_FORWARDED,	 /* ended: received, then queued for transmit */
	NF_EVENT_DROPPED,	 /* ended: kfree_skb */
	NF_EVENT_OVERWRITTEN,	 /* ended: another skb took the entry */
	NF_EVENT_INVALIDATED,	 /* ended: the skb was reused, its end not seen */
	NF_EVENT_TORN,		 /* of INVALIDATED: two CPUs wrote the entry at once */
	NF_EVENT_COUNTED,	 /* drop: counted under its key */
	NF_EVENT_UNKEYED,	 /* drop: counted, but the key table was full */
	NF_EVENT_CHOSEN,	 /* latency: a journey was slow or drawn as a sample */
	NF_EVENT_RECORDED,	 /* latency: a record went out */
	NF_EVENT_THROTTLED,	 /* latency: the token bucket was empty */
	NF_EVENT_RING_FULL,	 /* latency: the ring buffer had no room */
	NF_EVENT_DROP_RECORDED,	 /* drop: a record went out */
	NF_EVENT_DROP_THROTTLED, /* drop: the token bucket of its key was empty */
	NF_EVENT_DROP_RING_FULL, /* drop: the ring buffer had no room */
	NF_EVENT_COMPLETED, /* kfree_skb of a transmit that was done, see bpf/path.h: no drop */
	NF_EVENT_COUNT,
};
#define NF_EVENT_ROOM 32 /* a power of two, so that a mask bounds an index */
_Static_assert(NF_EVENT_COUNT <= NF_EVENT_ROOM, "room for all events");

/* ---- histograms -------------------------------------------------------- */

enum nf_segment {
	NF_SEGMENT_IRQ_TO_SOFTIRQ,	  /* rx: irq → softirq_entry */
	NF_SEGMENT_RAISE_TO_SOFTIRQ,	  /* rx: softirq_raise → softirq_entry */
	NF_SEGMENT_SOFTIRQ_TO_RECEIVE,	  /* rx: softirq_entry → receive */
	NF_SEGMENT_RECEIVE_TO_SOCK_QUEUE, /* rx: receive → sock_queue */
	NF_SEGMENT_WAKEUP_TO_RUN,	  /* rx: the reader woken → on a CPU */
	NF_SEGMENT_RUN_TO_COPY,		  /* rx: the woken reader on a CPU → copy */
	NF_SEGMENT_RECEIVE_TO_COPY,	  /* rx: receive → copy */
	NF_SEGMENT_RX_TOTAL,		  /* rx: the first stage the skb passed → copy */
	NF_SEGMENT_RECEIVE_TO_QUEUE,	  /* fwd: receive → queue */
	NF_SEGMENT_FORWARD_TOTAL,	  /* fwd: the first stage → xmit */
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
 * One histogram per segment, but two for those that end at a reader: they end
 * in process context, and now and then in a softirq that may interrupt it.
 * Each has one writer at a time on a CPU; readers add them up.
 */
enum nf_hist_index {
	NF_HIST_SOFTIRQ_RECEIVE_TO_COPY = NF_SEGMENT_COUNT,
	NF_HIST_SOFTIRQ_RX_TOTAL,
	NF_HIST_COUNT,
};

/*
 * Log-linear: powers of two, each cut into NF_HIST_STEPS equal steps, so a
 * value read off a bucket's middle is at most 12.5 % wrong.  The last bucket
 * also takes everything from 2^NF_HIST_MAX_LOG2 ns (about 69 s) up.
 */
#define NF_HIST_STEPS_LOG2 2
#define NF_HIST_STEPS (1 << NF_HIST_STEPS_LOG2)
#define NF_HIST_MAX_LOG2 36
#define NF_HIST_BUCKETS ((NF_HIST_MAX_LOG2 - 1) * NF_HIST_STEPS)

struct nf_hist {
	__u64 sum_ns;
	__u64 max_ns;
	__u64 bucket[NF_HIST_BUCKETS];
};

/* The floor of log2(v); v must not be 0.  Branches that are steady for steady latencies. */
static inline __attribute__((always_inline)) __u32 nf_log2(__u64 v)
{
	__u32 x = (__u32)v;
	__u32 log2 = 0;

	if (v >> 32) {
		x = (__u32)(v >> 32);
		log2 = 32;
	}
	if (x >> 16) {
		x >>= 16;
		log2 += 16;
	}
	if (x >> 8) {
		x >>= 8;
		log2 += 8;
	}
	if (x >> 4) {
		x >>= 4;
		log2 += 4;
	}
	if (x >> 2) {
		x >>= 2;
		log2 += 2;
	}
	return log2 + (x >> 1);
}

/* The bucket of a duration: 0 … NF_HIST_BUCKETS - 1. */
static inline __attribute__((always_inline)) __u32 nf_hist_bucket(__u64 ns)
{
	__u32 log2;

	if (ns < NF_HIST_STEPS)
		return (__u32)ns;
	log2 = nf_log2(ns);
	if (log2 >= NF_HIST_MAX_LOG2)
		return NF_HIST_BUCKETS - 1;
	return (log2 - 1) * NF_HIST_STEPS +
	       ((__u32)(ns >> (log2 - NF_HIST_STEPS_LOG2)) & (NF_HIST_STEPS - 1));
}

/* ---- per (CPU, device) ------------------------------------------------- */

/*
 * A device slot stands for one (namespace, ifindex), the namespace by its
 * cookie: inode numbers of namespaces are soon used again.  Slots are found by set:
 * NF_DEVICE_SET keys fill one cache line.  The first slots are not devices.
 */
#define NF_DEVICE_SET 8
#define NF_SLOT_OTHER 0	  /* devices that found no free slot in their set */
#define NF_SLOT_BACKLOG 1 /* a CPU's backlog, polled without a device */
#define NF_SLOT_RESERVED 2
#define NF_DEVICE_NAME 16
#define NF_KEY_RESERVED (~0ULL)

#define NF_DEVICE_KEY(netns_id, ifindex) ((__u64)(netns_id) << 32 | (__u32)(ifindex))
#define NF_KEY_NETNS_ID(key) ((__u32)((key) >> 32))
#define NF_KEY_IFINDEX(key) ((__u32)(key))

struct nf_device_set {
	__u64 key[NF_DEVICE_SET]; /* NF_DEVICE_KEY, 0 = free */
};

struct nf_device_info {
	char name[NF_DEVICE_NAME]; /* as it was when the slot was taken */
	__u32 netns;		   /* inode number */
	__u32 reserved;
};

struct nf_device_stats {
	struct nf_hist hist[NF_HIST_COUNT]; /* by enum nf_segment and nf_hist_index */
	__u64 polls;			    /* napi_poll: calls */
	__u64 poll_packets;		    /* their work */
	__u64 full_budgets;		    /* polls that used their whole budget */
	__u64 named_ns;			    /* when this CPU last looked at the device's name */
};

/* ---- per CPU ----------------------------------------------------------- */

/* dev_hard_start_xmit nests through stacked devices, at most XMIT_RECURSION_LIMIT (8) deep. */
#define NF_XMIT_DEPTH 8

struct nf_xmit_frame {
	__u64 skb;
	__u64 start_ns;
	__u32 slot;
	__u32 reserved;
};

/* A token bucket of records: the time at which it is full again, see bpf/throttle.h. */
struct nf_bucket {
	__u64 full_ns;
};

/* Whose bytes a TCP reader got, see bpf/stream.h. */
enum nf_stream_bytes {
	NF_STREAM_DELIVERED, /* of skbs whose journeys ended there */
	NF_STREAM_MERGED,    /* of skbs that had been merged into those */
	NF_STREAM_UNTRACKED, /* of skbs that were not in the in-flight table */
	NF_STREAM_COUNT,
};

struct nf_cpu {
	/* context the next received skb takes with it */
	__u64 irq_ns;	    /* irq_handler_entry, 0 outside the handler */
	__u64 raise_ns;	    /* NET_RX raised and not entered yet, 0 = not */
	__u64 raise_irq_ns; /* the irq that raised it, 0 when none did */
	__u64 entry_ns;	    /* softirq_entry of NET_RX */
	__u64 entry_irq_ns; /* raise_irq_ns and raise_ns as they were at that entry */
	__u64 entry_raise_ns;
	__u64 again_ns;	   /* an irq whose device was being polled, see bpf/cpu.h; 0 = none */
	__u16 softirq;	   /* 1 + the vector being served, 0 = none */
	__u8 raise_polled; /* NET_RX raised itself with no irq to it, not entered yet */
	__u8 entry_polled; /* raise_polled as it was at that entry */
	__u16 xmit_depth;
	__u8 irq_raised; /* the irq being handled raised NET_RX */
	__u8 reserved0;
	/* context of the skb being received and of the task that runs */
	__u64 receiving;	      /* the skb last seen at receive */
	__u64 ready;		      /* the skb whose arrival is being told to readers, 0 = none */
	struct nf_bucket path_bucket; /* of latency records */
	__u64 stream_bytes[NF_STREAM_COUNT]; /* TCP payload copied to readers */
	__u64 rx_lines; /* irqs that have raised NET_RX, by their numbers' lower six bits */
	__u64 reserved;
	struct nf_xmit_frame xmit[NF_XMIT_DEPTH];
	__u64 events[NF_PROBE_COUNT][NF_EVENT_ROOM];
};

/* ---- the in-flight table ----------------------------------------------- */

enum nf_journey {
	NF_JOURNEY_NONE,
	NF_JOURNEY_RX,
	NF_JOURNEY_TX,
	NF_JOURNEY_FORWARD, /* received, then queued for transmit */
};

#define NF_INFLIGHT_NO_QUEUE 0x1 /* began at start_xmit: a segment of a GSO skb */
#define NF_INFLIGHT_SLOW 0x2	 /* a segment took longer than its threshold */
#define NF_INFLIGHT_HOPS 0x4	 /* crossed more devices: see struct nf_hops */
#define NF_INFLIGHT_POLLED 0x8	 /* received by a softirq that raised itself, no irq is known */

/* Durations of the receive path as an entry keeps them: 16 ns to 68 s; what is longer stays that. */
#define NF_TICK_SHIFT 4
#define NF_TICK_MAX 0xffffffffU

/* The stages of the receive path before receive, in ticks before it; 0 = not passed. */
struct nf_rx_stages {
	__u32 irq;
	__u32 raise;
	__u32 entry;
};

/*
 * One live skb.  `skb` names the owner: an opaque number, the skb's address
 * from a base that is fixed while the programs are loaded; 0 = free.  It is
 * exchanged atomically; the other fields are plain stores.  `check` is the
 * exclusive or of those that are there from the start, so that an entry two
 * CPUs wrote at once shows; sock_queue, xmit_ns, sk and flags come later and
 * may come from another CPU while the skb is at its next stage.
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
		struct { /* tx and forward, 0 = not yet */
			__u64 start_ns;
			__u64 xmit_ns;
		};
	};
	__u64 sk;     /* rx: the UDP socket it is next in line at, 0 = not known */
	__u16 slot;   /* device slot, of the device last seen at */
	__u8 journey; /* enum nf_journey */
	__u8 flags;   /* NF_INFLIGHT_* */
	__u32 len;    /* rx: skb->len at receive */
	__u64 check;
};

/* Entries that an skb may be in: two cache lines that a processor fetches as a pair. */
#define NF_INFLIGHT_WAYS 2
struct nf_inflight_set {
	struct nf_inflight way[NF_INFLIGHT_WAYS];
};

/* What does not fit there and few skbs have: the receive side of one forwarded, devices crossed. */
#define NF_HOPS_MAX 3
struct nf_hops {
	__u64 skb; /* the owner, as in nf_inflight */
	__u64 receive_ns;
	struct nf_rx_stages rx;
	__u8 count;
	__u8 more;		 /* there were more than fit */
	__u16 slot[NF_HOPS_MAX]; /* devices before the last, first one first */
	__u32 reserved[7];
};

/* Whom the arrival of which skb woke. */
struct nf_wake {
	__u64 skb; /* 0 = none */
	__u64 wakeup_ns;
	__u64 run_ns; /* when it got on a CPU, 0 = not yet */
	__u32 tid;
	__u32 reserved;
};

/* A UDP socket and the skb that its next read will return, see bpf/reader.h. */
#define NF_READER_HEADER 64
struct nf_reader {
	__u64 sk;   /* a number like nf_inflight.skb, 0 = free */
	__u64 next; /* 0 = not known */
	/* what is left to tell of `next` when it has been read and freed */
	__u32 len;
	__u16 protocol;
	__u16 net_len;
	__u8 net[NF_READER_HEADER];
	__u64 reserved;
};

/* A TCP socket and the skb that it is being read from, see bpf/stream.h. */
struct nf_stream {
	__u64 sk;     /* a number like nf_inflight.skb, 0 = free */
	__u64 skb;    /* 0 = none */
	__u32 own;    /* bytes that it brought itself and that were not copied yet */
	__u32 copied; /* bytes copied so far */
};

/* ---- drops ------------------------------------------------------------- */

struct nf_drop_key {
	__u64 location; /* the caller of kfree_skb, an address in kernel text */
	__u32 reason;	/* enum skb_drop_reason; subsystem in the upper 16 bits */
	__u32 netns;	/* nf_netns_id(), 0 = not known */
	__u32 ifindex;	/* 0 = no device */
	__u16 protocol; /* EtherType, 0 = none */
	__u8 l4;	/* IP protocol number, meaningful when flagged */
	__u8 flags;	/* NF_KEY_L4 */
};
#define NF_KEY_L4 0x1

/* Per key and CPU. */
struct nf_drop_count {
	__u64 packets;
	__u64 bytes;
	__u64 last_ns;
};

/* Per key, all CPUs. */
struct nf_drop_info {
	struct nf_bucket bucket; /* of the key's records */
	char device[NF_DEVICE_NAME];
	__u32 netns; /* inode number, 0 = not known */
	__u32 reserved;
};

enum nf_record_type {
	NF_RECORD_DROP = 1,
	NF_RECORD_PATH,
	NF_RECORD_SLOTS,
};

struct nf_record {
	__u16 type; /* enum nf_record_type */
	__u16 cpu;
	__u32 size; /* of the whole record, this header included */
	__u64 time_ns;
};

/* The first bytes of a packet, and what the skb's metadata says of them. */
#define NF_L2_MAX 24
#define NF_NET_MAX 128
#define NF_BYTES_VLAN 0x1 /* vlan_proto and vlan_tci, from the skb's metadata */
struct nf_bytes {
	__u32 len;	/* skb->len, bytes */
	__u16 protocol; /* EtherType, 0 = none */
	__u16 vlan_proto;
	__u16 vlan_tci;
	__u8 flags;   /* NF_BYTES_* */
	__u8 l2_len;  /* bytes of l2[] */
	__u8 net_len; /* bytes of net[] */
	__u8 reserved[3];
	__u8 l2[NF_L2_MAX];   /* from the MAC header up to the network header */
	__u8 net[NF_NET_MAX]; /* from the network header on, linear part only */
};

/* A task, when the flag of its record says that it had to do with it. */
struct nf_task {
	__u32 pid; /* thread group id, as user space means it */
	__u32 tid;
	char comm[16];
};

#define NF_DROP_STACK_MAX 32

/* What stands in a drop record; a field whose flag is not set was not readable. */
#define NF_DROP_TASK 0x01   /* process context: the task had to do with it */
#define NF_DROP_REASON 0x04 /* this kernel's kfree_skb has a reason */
#define NF_DROP_L4 0x08	    /* l4 */

struct nf_drop_record {
	struct nf_record header;
	__u64 location;
	__u32 reason;
	__u32 netns; /* inode number, 0 = not known */
	__u32 ifindex;
	__u8 l4;
	__u8 flags;	 /* NF_DROP_* */
	__u16 stack_len; /* entries of stack[] */
	struct nf_task task;
	char device[NF_DEVICE_NAME];
	struct nf_bytes bytes;
	__u64 stack[NF_DROP_STACK_MAX]; /* sent only when asked for */
};
#define NF_DROP_RECORD_PLAIN (sizeof(struct nf_drop_record) - NF_DROP_STACK_MAX * sizeof(__u64))

enum nf_outcome {
	NF_OUTCOME_DELIVERED,
	NF_OUTCOME_TRANSMITTED,
	NF_OUTCOME_FORWARDED,
};

#define NF_PATH_SLOW 0x01     /* a segment passed its threshold; else it is a sample */
#define NF_PATH_TASK 0x02     /* task and cgroup: the reader, or the sender in its own context */
#define NF_PATH_NO_QUEUE 0x04 /* began at start_xmit: a segment of a GSO skb */
#define NF_PATH_MORE 0x08     /* crossed more devices than fit */
#define NF_PATH_POLLED 0x10   /* found by polling on: its irq is not known */
#define NF_PATH_DEVICES (NF_HOPS_MAX + 1)

struct nf_path_device {
	__u32 ifindex;
	__u32 netns; /* inode number */
	char name[NF_DEVICE_NAME];
};

/* One skb's finished path. */
struct nf_path_record {
	struct nf_record header;	/* the time is that of its end */
	__u64 stage_ns[NF_STAGE_COUNT]; /* 0 = not passed, or not known */
	__u64 cgroup;			/* id, 0 = not known */
	__u8 outcome;			/* enum nf_outcome */
	__u8 flags;			/* NF_PATH_* */
	__u8 devices;			/* entries of device[] */
	__u8 reserved;
	__u32 merged; /* delivered by TCP: bytes of other skbs merged into this one */
	struct nf_task task;
	struct nf_path_device device[NF_PATH_DEVICES]; /* in the order in which it crossed them */
	struct nf_bytes bytes;
};

/* ---- ring slots ---------------------------------------------------------- */

/*
 * A transmit takes a slot of a Xen device's ring for every page of 4096 bytes
 * (XEN_PAGE_SIZE, whatever the kernel's page size) that its linear part and
 * its fragments touch.
 */
#define NF_SLOT_BYTES 4096
#define NF_SLOTS_BUCKETS 128	/* exact; the last one also takes what is more */
#define NF_SLOTS_DEPTH 4	/* transmits under way at once on a CPU, through stacked devices */
#define NF_FRAGS_MAX 45		/* as many as CONFIG_MAX_SKB_FRAGS allows */
#define NF_SLOTS_WIRE_MAX 65535 /* XEN_NETIF_MAX_TX_SIZE: a longer one is dropped uncounted */

enum nf_slots_outcome {
	NF_SLOTS_SENT,	     /* taken by the driver as it was */
	NF_SLOTS_LINEARIZED, /* the driver put it into one piece first */
	NF_SLOTS_DROPPED,
	NF_SLOTS_REQUEUED, /* not taken; the stack will try again */
	NF_SLOTS_UNSEEN,   /* the end of start_xmit was not seen */
	NF_SLOTS_OUTCOMES,
};

/* One row per (CPU, probe); HIT = COUNTED + UNKEYED. */
enum nf_slots_event {
	NF_SLOTS_HIT,
	NF_SLOTS_COUNTED, /* under its device */
	NF_SLOTS_UNKEYED, /* under no device: the table was full */
	NF_SLOTS_CHOSEN,  /* near the limit, above it, or too big: = the next three and UNENDED */
	NF_SLOTS_RECORDED,
	NF_SLOTS_THROTTLED,
	NF_SLOTS_RING_FULL,
	NF_SLOTS_UNENDED, /* no record: its end was not seen */
	NF_SLOTS_EVENTS,
};
#define NF_SLOTS_PROBES (NF_PROBE_COUNT - NF_PROBE_SLOTS_FIRST)

/* Per device and CPU; the key is NF_DEVICE_KEY, 0 = those that found no room. */
struct nf_slots_count {
	__u64 slots[NF_SLOTS_BUCKETS]; /* transmits by the slots they take */
	__u64 near;		       /* at the limit, or one below */
	__u64 overflow[NF_SLOTS_OUTCOMES];
	__u64 too_big; /* dropped for being longer than NF_SLOTS_WIRE_MAX; neither near nor overflow */
	__u64 last_overflow_ns;
};

/* Per device. */
struct nf_slots_info {
	char device[NF_DEVICE_NAME]; /* as it was at its first transmit */
	__u32 netns;		     /* inode number */
	__u32 xen;		     /* driven by xen-netfront */
};

#define NF_SLOTS_TASK 0x01     /* process context: the task sent it */
#define NF_SLOTS_XEN 0x02      /* by xen-netfront; else by a device of slots.devices */
#define NF_SLOTS_TOO_BIG 0x04  /* longer than NF_SLOTS_WIRE_MAX, on xen-netfront */
#define NF_SLOTS_FEATURES 0x08 /* the next three are known */
#define NF_SLOTS_SG 0x10       /* the device's offload settings at that moment */
#define NF_SLOTS_GSO 0x20
#define NF_SLOTS_TSO 0x40 /* of IPv4 */

struct nf_slots_frag {
	__u32 offset; /* from the start of the fragment's first page, which may be a compound one */
	__u32 size;   /* bytes */
};

/* One transmit; as many frags as there are stand at the end. */
struct nf_slots_record {
	struct nf_record header; /* the time is that of start_xmit */
	__u32 slots;
	__u32 limit;
	__u32 len;	   /* skb->len, bytes */
	__u32 head_offset; /* of the linear part within its page of NF_SLOT_BYTES */
	__u32 head_len;
	__u32 ifindex;
	__u32 netns;	/* inode number */
	__u16 gso_size; /* 0 = not a GSO skb */
	__u16 gso_segs;
	__u8 outcome; /* enum nf_slots_outcome */
	__u8 flags;   /* NF_SLOTS_* */
	__u8 frags;   /* entries of frag[] */
	__u8 reserved[5];
	char device[NF_DEVICE_NAME];
	struct nf_task task;
	struct nf_bytes bytes;
	struct nf_slots_frag frag[NF_FRAGS_MAX];
};
#define NF_SLOTS_RECORD_PLAIN \
	(sizeof(struct nf_slots_record) - NF_FRAGS_MAX * sizeof(struct nf_slots_frag))

#define NF_SLOTS_SHINFO_BYTES 1024 /* struct skb_shared_info with that many fragments */
#define NF_SLOTS_SKB_BYTES 320	   /* struct sk_buff */

/* A transmit near or above the limit, between its start and its end. */
struct nf_slots_frame {
	__u64 skb;	  /* address */
	__u64 key;	  /* of its device's count */
	__u64 tx_dropped; /* the device's counter at its start */
	__u32 data_len;	  /* bytes in fragments */
	__u8 row;	  /* of events */
	__u8 dropped;	  /* kfree_skb was seen */
	__u8 reserved[2];
	struct nf_slots_record record;
};

struct nf_slots_cpu {
	__u64 scratch;		    /* where a pointer becomes a number */
	__u64 seen_skb, seen_dev;   /* just counted by NF_PROBE_SLOTS_DEVICES */
	struct nf_bucket bucket[2]; /* of records: near misses, all others */
	__u32 depth;
	__u32 reserved;
	__u64 events[NF_SLOTS_PROBES][NF_SLOTS_EVENTS];
	__u8 skb[NF_SLOTS_SKB_BYTES];
	__u8 shinfo[NF_SLOTS_SHINFO_BYTES];
	struct nf_slots_frame frame[NF_SLOTS_DEPTH];
};

_Static_assert(sizeof(struct nf_inflight) == NF_CACHE_LINE, "one entry, one cache line");
_Static_assert(sizeof(struct nf_device_set) == NF_CACHE_LINE, "one set, one cache line");
_Static_assert(sizeof(struct nf_hist) == 1136, "layout");
_Static_assert(sizeof(struct nf_drop_key) == 24, "no hidden padding in a hash key");
_Static_assert(sizeof(struct nf_cpu) % NF_CACHE_LINE == 0, "CPUs share no cache line");
_Static_assert(sizeof(struct nf_hops) == NF_CACHE_LINE, "one entry, one cache line");
_Static_assert(sizeof(struct nf_reader) == 96, "layout");
_Static_assert(sizeof(struct nf_stream) == 24, "layout");
_Static_assert(sizeof(struct nf_bytes) == 168, "layout");
_Static_assert(sizeof(struct nf_drop_record) == 16 + 24 + 24 + 16 + 168 + 256, "layout");
_Static_assert(sizeof(struct nf_slots_frag) == 8, "layout");
_Static_assert(NF_SLOTS_RECORD_PLAIN == 16 + 40 + 16 + 24 + 168, "layout");
_Static_assert(sizeof(struct nf_slots_count) == (NF_SLOTS_BUCKETS + 8) * 8, "no hidden padding");
_Static_assert(sizeof(struct nf_slots_frame) % 8 == 0, "layout");
_Static_assert(sizeof(struct nf_path_record) == 16 + 96 + 16 + 24 + 96 + 168, "layout");

#endif
