/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One trace event, as far as the correlator needs it. */
#ifndef DAEMON_CORRELATOR_EVENT_H
#define DAEMON_CORRELATOR_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/records.h"

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
	uint32_t
		number; /* the interrupt, the vector of the softirq, the thread id of the woken or next task */
	uint32_t len;	       /* bytes: skb->len, or those that a reader copied */
	uint32_t work, budget; /* packets of a poll */
	uint32_t reason;       /* enum skb_drop_reason */
	uint16_t protocol;     /* EtherType; of sk_data_ready: the IP protocol */
	uint16_t family;       /* of sk_data_ready: AF_INET and others; 0 = not known */
	const char *device;    /* name; "" or NULL: none */
};

#endif
