/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Settings that the daemon writes before it loads the programs.  They are
 * constants to the verifier, which removes the code behind a false setting.
 */
#ifndef NF_SETTINGS_H
#define NF_SETTINGS_H

#include "kernel.h"

const volatile struct {
	__u32 inflight_shift; /* 64 - log2(sets of the in-flight table), see nf_hash() */
	__u32 readers_shift;  /* 64 - log2(entries of nf_readers and of nf_streams) */
	__u32 device_sets;    /* entries of nf_device_sets, a power of two */
	__u32 devices;	      /* device slots: device_sets * NF_DEVICE_SET */
	__u32 stack_size;     /* bytes of a task's kernel stack */
	__u32 hops_shift;     /* 64 - log2(entries of nf_hops) */
	__u32 wake_shift;     /* 64 - log2(entries of nf_wakes) */
	__u32 sample;	      /* a journey is sampled if a random 32-bit number is below; 0: none */
	__u32 reserved2;
	__u64 journey_interval_ns;	      /* token bucket of latency records, per CPU, */
	__u64 journey_burst_ns;		      /* see bpf/throttle.h */
	__u64 threshold_ns[NF_SEGMENT_COUNT]; /* a journey with a longer segment is slow */
	__u64 drop_interval_ns;		      /* token bucket of drop records, per key, */
	__u64 drop_burst_ns;		      /* see bpf/throttle.h */
	/* Features of the running kernel, see bpf/compat.h. */
	bool atomic_fetch;     /* it has BPF_XCHG */
	bool no_reentry;       /* it does not start a program that is running on the CPU */
	bool kfree_skb_reason; /* its tracepoint kfree_skb has `reason` */
	bool kfree_skb_rx_sk;  /* and `rx_sk` */
	bool softirq_exit; /* the probe softirq_exit is attached: the end of a softirq is known */
	bool irq_exit; /* the probe irq_handler_exit: the end of an interrupt handler is known */
	bool wake;     /* the probes sched_waking and sched_switch are attached */
	bool udp_deferred; /* UDP readers do not free their skbs with consume_skb */
	bool udp_reader;   /* follow UDP readers, see bpf/reader.h */
	bool udp_enqueue;  /* the probe udp_enqueue_schedule_skb is attached; not with udp_reader */
} settings;

/* Settings that the daemon changes while the programs run. */
volatile struct {
	__u32 drop_stack; /* 1: drop records include the kernel stack */
	__u32 reserved;
	__u64 netback;	     /* address of xenvif_rx_copy_flush(), see nf_journey_completes() */
	__u64 netback_bytes; /* its length; 0: xen-netback is not loaded */
} live;

#endif
