/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One trace event, as far as the correlator needs it. */
#ifndef DAEMON_CORRELATOR_EVENT_H
#define DAEMON_CORRELATOR_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/records.h"

/* What the slots of a transmit depend on, where xennet_start_xmit() begins. */
struct event_transmit {
	uint64_t data;	   /* address of the linear part */
	uint32_t data_len; /* bytes in fragments */
	uint32_t end;	   /* skb->end */
	uint16_t gso_size, gso_segs;
	uint8_t sg, gso, tso; /* offloads of the device; 0: off */
	bool unknown;	      /* it has fragments, and the event does not show them */
	uint32_t frags;	      /* entries of frag[] */
	struct nf_slots_frag frag[NF_FRAGS_MAX];
};

/*
 * A member that the event of this probe does not have is 0.  Addresses are those of the traced kernel: numbers, never
 * followed.
 */
struct event {
	uint64_t time_ns; /* of the trace's clock */
	uint32_t cpu;
	enum nf_probe probe;
	uint32_t tid; /* thread id of the current task, 0: idle */
	bool softirq; /* in a softirq */
	bool irq;     /* in an interrupt handler */
	uint64_t skb;
	uint64_t sk;
	uint64_t location; /* of kfree_skb */
	/*
	 * The interrupt, the vector of the softirq, the thread id of the woken or next task, what start_xmit returned.
	 */
	uint32_t number;
	uint32_t len;	       /* bytes: skb->len, or those that a reader copied */
	uint32_t work, budget; /* packets of a poll */
	uint32_t reason;       /* enum skb_drop_reason */
	uint16_t protocol;     /* EtherType; of sk_data_ready: the IP protocol */
	uint16_t family;       /* of sk_data_ready: AF_INET and others; 0 = not known */
	const char *device;    /* name; "" or NULL: none */
	const struct event_transmit *transmit; /* of xennet_start_xmit; otherwise NULL */
};

#endif
