/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Settings that the daemon writes before it loads the programs.  They are
 * constants to the verifier, which removes the code behind a false setting.
 */
#ifndef NF_SETTINGS_H
#define NF_SETTINGS_H

#include "kernel.h"

/* tests/unit/bpf has programs that it can change the settings of. */
#ifndef NF_SETTINGS
#define NF_SETTINGS const volatile
#endif

NF_SETTINGS struct {
	__u32 inflight_shift; /* 64 - log2(sets of the in-flight table), see nf_hash() */
	__u32 readers_shift;  /* 64 - log2(entries of nf_readers and of nf_streams) */
	__u32 device_sets;    /* sets of devices, a power of two; NF_GROUP_SETS follow */
	__u32 cpus;	      /* possible CPUs */
	__u32 chunk_shift;    /* log2(blocks of a chunk), see nf_chunks */
	__u32 stack_size;     /* bytes of a task's kernel stack */
	__u32 hops_shift;     /* 64 - log2(entries of nf_hops) */
	__u32 wake_shift;     /* 64 - log2(entries of nf_wakes) */
	__u64 drop_keys;      /* keys of a generation at which the daemon begins the next one */
	__u64 drop_quota;     /* keys of one namespace in a generation, */
	__u64 host_quota;     /* and of the daemon's own namespace, */
	__u32 host_netns;     /* whose inode number this is; 0: not known */
	__u32 drop_shards;    /* of each struct nf_drop_entry, a power of two */
	/* Addresses of the kernel's secrets of the hash of connections, see bpf/tcp.h; 0: not known. */
	__u64 ehash_secret, ehash6_secret, ehash6_address_secret;
	__u64 udp_table; /* address of the kernel's, see bpf/udp.h; 0: not known */
	__u64 raw_table,
		raw6_table;   /* raw_v4_hashinfo and raw_v6_hashinfo, see bpf/raw.h; 0: not known */
	__u64 gro;	      /* NETIF_F_GRO, the bit of net_device.features; 0: not known */
	__u32 noproto_reason; /* the number of IP_NOPROTO; 0: this kernel does not have it */
	__u8 evidence[NF_EVIDENCE_REASONS]; /* enum nf_evidence_level, by the core's reason */
	/* Features of the running kernel, see bpf/compat.h. */
	bool atomic_fetch;     /* it has BPF_XCHG */
	bool no_reentry;       /* it does not start a program that is running on the CPU */
	bool preempt_rt;       /* it preempts softirqs, see nf_context() */
	bool kfree_skb_reason; /* its tracepoint kfree_skb has `reason` */
	bool kfree_skb_rx_sk;  /* and `rx_sk` */
	bool softirq_exit; /* the probe softirq_exit is attached: the end of a softirq is known */
	bool irq_exit; /* the probe irq_handler_exit: the end of an interrupt handler is known */
	bool wake;     /* the probes sched_waking and sched_switch are attached */
	bool udp_deferred; /* UDP readers do not free their skbs with consume_skb */
	bool udp_reader;   /* follow UDP readers, see bpf/reader.h */
	bool udp_enqueue;  /* the probe udp_enqueue_schedule_skb is attached; not with udp_reader */
	bool fentry_once;  /* programs of fentry stay attached while stages are detached */
	bool governor; /* journeys can be passed over, see follow.h; otherwise all are followed */
	bool drop_shared; /* more than one writer at a time can add to a shard of drops */
} settings;

/*
 * Settings that the daemon changes while the programs run.  A program can see some of them new and
 * others old.
 */
volatile struct {
	__u64 threshold_ns[NF_SEGMENT_COUNT]; /* a journey with a longer segment is slow; < 2^63 */
	__u64 journey_interval_ns;	      /* token bucket of latency records, per CPU, */
	__u64 journey_burst_ns;		      /* see bpf/throttle.h */
	__u64 drop_interval_ns;		      /* token bucket of drop records, per key, */
	__u64 drop_burst_ns;		      /* see bpf/throttle.h */
	__u32 sample;	  /* a journey is sampled if a random 32-bit number is below; 0: none */
	__u32 drop_stack; /* 1: drop records include the kernel stack */
	__u32 drop_generation; /* 0 or 1: of new drop keys, see struct nf_drop_key */
	__u32 hold;	       /* 1: no journey begins */
	__u32 window_shift;    /* each journey stands for 2^window_shift windows */
	__u32 window;	       /* number of this window; 0: stages are attached all the time */
	__u64 interval_ns;     /* see struct backend_following */
	__u64 busy_shift;      /* of the next NF_RECORD_BUSY; 0: none is wanted */
	__u64 since_ns; /* all stages are attached since then: an older entry is not of this skb; U64_MAX: not all */
	__u64 net_tx_action; /* address of the kernel's function, 0 = not known */
	__u64 netback;	     /* address of xenvif_rx_copy_flush(), see nf_journey_completes() */
	__u64 netback_bytes; /* its length; 0: xen-netback is not loaded */
} live;

/*
 * The keys of the two generations, which the programs count.  `full`: the daemon knows that
 * the generation has reached settings.drop_keys.  The daemon clears both of a generation
 * before it begins it.
 */
volatile struct {
	__u64 keys;
	__u64 full;
} drop_generations[2];

#endif
