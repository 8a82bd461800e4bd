/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An empty program for each tracepoint that netflowd can attach to.  They show what the hooks alone
 * cost: no BPF tracer on the same hooks costs less.  attach_empty loads only the programs of the
 * events that its arguments name.
 */
/* bpf_helpers.h uses the types of kernel.h, so the order of the includes matters. */
/* clang-format off */
#include "kernel.h"

#include <bpf/bpf_helpers.h>
/* clang-format on */

char LICENSE[] SEC("license") = "GPL";

#define EMPTY(event)                                       \
	SEC("tp_btf/" #event) int empty_##event(void *ctx) \
	{                                                  \
		(void)ctx;                                 \
		return 0;                                  \
	}

EMPTY(irq_handler_entry)
EMPTY(irq_handler_exit)
EMPTY(softirq_raise)
EMPTY(softirq_entry)
EMPTY(softirq_exit)
EMPTY(napi_poll)
EMPTY(netif_receive_skb)
EMPTY(sk_data_ready)
EMPTY(sched_waking)
EMPTY(sched_switch)
EMPTY(skb_copy_datagram_iovec)
EMPTY(sock_recv_length)
EMPTY(net_dev_queue)
EMPTY(net_dev_start_xmit)
EMPTY(net_dev_xmit)
EMPTY(consume_skb)
EMPTY(kfree_skb)
