/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the daemon decides before the programs are loaded.  The values are
 * constants to the verifier, so code behind a setting that is off is removed.
 */
#ifndef NF_SETTINGS_H
#define NF_SETTINGS_H

#include "kernel.h"

const volatile struct {
	__u32 inflight_shift; /* 64 - log2 of the in-flight table's sets */
	__u32 readers_shift;  /* the same of the reader table's */
	__u32 device_sets;    /* a power of two */
	__u32 devices;	      /* slots: device_sets * NF_DEVICE_SET */
	__u32 stack_size;     /* of a task's kernel stack, bytes */
	__u32 hops_shift;     /* the same of the table of hops */
	__u32 wake_shift;     /* the same of the wake table's */
	__u32 sample;	      /* latency records: chosen when a 32-bit draw is below */
	__u32 reserved2;
	__u64 path_interval_ns;		      /* latency records: one per interval and CPU, */
	__u64 path_burst_ns;		      /* after a burst of burst / interval */
	__u64 threshold_ns[NF_SEGMENT_COUNT]; /* a segment longer than this is slow */
	__u64 drop_interval_ns;		      /* drop records: one per interval and key, */
	__u64 drop_burst_ns;		      /* after a burst of burst / interval */
	bool atomic_fetch;		      /* see bpf/compat.h for the first four */
	bool no_reentry;
	bool kfree_skb_reason;
	bool kfree_skb_rx_sk;
	bool softirq_exit; /* attached, so that the end of a softirq is known */
	bool wake;	   /* sched_waking and sched_switch are attached */
	bool udp_reader;   /* UDP readers are followed, see bpf/reader.h */
} settings;

/* What the daemon may change while the programs run. */
volatile struct {
	__u32 drop_stack; /* 1: drop records carry the kernel stack */
	__u32 reserved;
	__u64 netback;	     /* xenvif_rx_copy_flush(), which frees what a guest has got */
	__u64 netback_bytes; /* its length; 0: it is not there */
} live;

#endif
