/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/probe/events/tracepoints.h"

/* Vectors of include/linux/interrupt.h: NET_TX and NET_RX. */
#define NET_SOFTIRQS "vec == 2 || vec == 3"
#define NET_RX_SOFTIRQ "vec == 3"
/* Sockets of AF_UNIX, AF_NETLINK and AF_PACKET have no packets that were received, but messages and clones. */
#define OF_PACKETS "family != 1 && family != 16 && family != 17"

const struct tracepoint tracepoints[] = {
	{NF_PROBE_IRQ_HANDLER_ENTRY, "irq", "irq_handler_entry", NULL, NULL, NULL, NULL},
	{NF_PROBE_IRQ_HANDLER_EXIT, "irq", "irq_handler_exit", NULL, NULL, NULL, NULL},
	{NF_PROBE_SOFTIRQ_RAISE, "irq", "softirq_raise", NET_RX_SOFTIRQ, NULL, NULL, NULL},
	{NF_PROBE_SOFTIRQ_ENTRY, "irq", "softirq_entry", NET_SOFTIRQS, NULL, NULL, NULL},
	{NF_PROBE_SOFTIRQ_EXIT, "irq", "softirq_exit", NET_SOFTIRQS, NULL, NULL, NULL},
	{NF_PROBE_NAPI_POLL, "napi", "napi_poll", NULL, NULL, NULL, "dev_name"},
	{NF_PROBE_NETIF_RECEIVE_SKB, "net", "netif_receive_skb", NULL, NULL, NULL, "name"},
	/* It names each datagram that is put into the queue of a socket. */
	{NF_PROBE_UDP_ENQUEUE_SCHEDULE_SKB, TRACEPOINTS_KPROBES, "udp_enqueue_schedule_skb", NULL,
	 "__udp_enqueue_schedule_skb", "skaddr=$arg1:x64 skbaddr=$arg2:x64", NULL},
	{NF_PROBE_SK_DATA_READY, "sock", "sk_data_ready", OF_PACKETS, NULL, NULL, NULL},
	/*
	 * Before 6.3 (40e0b0908142) there is no such tracepoint, but this is what nearly all sockets call.  sk_protocol
	 * has 16 bits since 5.6 (bf9765145b85).
	 */
	{NF_PROBE_SK_DATA_READY, TRACEPOINTS_KPROBES, "sock_def_readable", OF_PACKETS,
	 "sock_def_readable",
	 "skaddr=$arg1:x64 family=+{sock_common.skc_family}($arg1):u16 protocol=+{sock.sk_protocol}($arg1):u16",
	 NULL},
	{NF_PROBE_SCHED_WAKING, "sched", "sched_waking", NULL, NULL, NULL, NULL},
	{NF_PROBE_SCHED_SWITCH, "sched", "sched_switch", "next_pid != 0", NULL, NULL, NULL},
	{NF_PROBE_SKB_COPY_DATAGRAM_IOVEC, "skb", "skb_copy_datagram_iovec", NULL, NULL, NULL,
	 NULL},
	{NF_PROBE_SOCK_RECV_LENGTH, "sock", "sock_recv_length", "protocol == 17 && ret >= 0", NULL,
	 NULL, NULL},
	/* Since 5.17 (68822bdf76f1); UDP readers call it since 6.18 (6471658dc66c). */
	{NF_PROBE_SKB_ATTEMPT_DEFER_FREE, TRACEPOINTS_KPROBES, "skb_attempt_defer_free", NULL,
	 "skb_attempt_defer_free", "skbaddr=$arg1:x64", NULL},
	{NF_PROBE_NET_DEV_QUEUE, "net", "net_dev_queue", NULL, NULL, NULL, "name"},
	{NF_PROBE_NET_DEV_START_XMIT, "net", "net_dev_start_xmit", NULL, NULL, NULL, "name"},
	{NF_PROBE_NET_DEV_XMIT, "net", "net_dev_xmit", NULL, NULL, NULL, "name"},
	{NF_PROBE_CONSUME_SKB, "skb", "consume_skb", NULL, NULL, NULL, NULL},
	{NF_PROBE_KFREE_SKB, "skb", "kfree_skb", NULL, NULL, NULL, NULL},
};

const size_t tracepoints_count = sizeof(tracepoints) / sizeof(tracepoints[0]);
