/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/probe/probes.h"

#include <errno.h>
#include <string.h>

const struct probe_spec probe_specs[NF_PROBE_COUNT] = {
	[NF_PROBE_IRQ_HANDLER_ENTRY] = {"irq_handler_entry", "irq",
					"irq_to_softirq; rx_total then begins with softirq_raise"},
	[NF_PROBE_IRQ_HANDLER_EXIT] =
		{"irq_handler_exit", "irq",
		 "irq_to_softirq; rx_total then begins with softirq_raise; whether a drop's task was involved"},
	[NF_PROBE_SOFTIRQ_RAISE] = {"softirq_raise", "irq",
				    "raise_to_softirq (the softirq's wait) and irq_to_softirq"},
	[NF_PROBE_SOFTIRQ_ENTRY] =
		{"softirq_entry", "irq",
		 "all segments up to receive; whether a drop's task was involved"},
	[NF_PROBE_SOFTIRQ_EXIT] =
		{"softirq_exit", "irq",
		 "all segments up to receive; before 6.18 UDP's receive_to_copy; whether a drop's task was involved"},
	[NF_PROBE_NAPI_POLL] = {"napi_poll", "rx", "NAPI polls, packets per poll and full budgets"},
	[NF_PROBE_NETIF_RECEIVE_SKB] = {"netif_receive_skb", "rx", "all receive latency"},
	[NF_PROBE_UDP_ENQUEUE_SCHEDULE_SKB] =
		{"udp_enqueue_schedule_skb", "rx",
		 "receive_to_sock_queue of datagrams that a reader takes at once"},
	[NF_PROBE_SK_DATA_READY] =
		{"sk_data_ready", "rx",
		 "gap_wait, receive_to_sock_queue, wakeup_to_run, run_to_copy; on 6.18 and later UDP's receive_to_copy"},
	[NF_PROBE_SCHED_WAKING] = {"sched_waking", "wake", "wakeup_to_run and run_to_copy"},
	[NF_PROBE_SCHED_SWITCH] = {"sched_switch", "wake", "wakeup_to_run and run_to_copy"},
	[NF_PROBE_SKB_COPY_DATAGRAM_IOVEC] = {"skb_copy_datagram_iovec", "rx",
					      "receive_to_copy and rx_total, mainly of TCP"},
	[NF_PROBE_SOCK_RECV_LENGTH] = {"sock_recv_length", "rx",
				       "receive_to_copy and rx_total of UDP readers"},
	[NF_PROBE_SKB_ATTEMPT_DEFER_FREE] = {"skb_attempt_defer_free", "rx",
					     "receive_to_copy and rx_total of UDP readers"},
	[NF_PROBE_NET_DEV_QUEUE] =
		{"net_dev_queue", "tx",
		 "receive_to_queue, queue_to_start_xmit and the totals that end at xmit"},
	[NF_PROBE_NET_DEV_START_XMIT] = {"net_dev_start_xmit", "tx",
					 "all transmit latency but receive_to_queue"},
	[NF_PROBE_NET_DEV_XMIT] =
		{"net_dev_xmit", "tx",
		 "start_xmit_to_xmit, xmit_to_free and the totals that end at xmit"},
	[NF_PROBE_CONSUME_SKB] =
		{"consume_skb", "tx",
		 "xmit_to_free; before 6.18 UDP's receive_to_copy; the end of skbs that the kernel itself consumes"},
	[NF_PROBE_KFREE_SKB] = {"kfree_skb", "drop", "all drops"},
	[NF_PROBE_XENNET_START_XMIT] =
		{"xennet_start_xmit", "slots",
		 "ring slots of Xen devices; rockets in the kernel's log are still reported"},
	[NF_PROBE_SLOTS_DEVICES] = {"slots_devices", "slots",
				    "ring slots of the devices that slots.devices names"},
};

#define S(segment) (UINT32_C(1) << NF_SEGMENT_##segment)

const struct probe_simple probe_simple[NF_PROBE_COUNT] = {
	[NF_PROBE_NETIF_RECEIVE_SKB] =
		{"histograms and thresholds of irq_to_softirq, raise_to_softirq and softirq_to_receive",
		 S(IRQ_TO_SOFTIRQ) | S(RAISE_TO_SOFTIRQ) | S(SOFTIRQ_TO_RECEIVE)},
};

int probe_find(const char *name)
{
	for (int i = 0; i < NF_PROBE_COUNT; i++)
		if (!strcmp(probe_specs[i].name, name))
			return i;
	return -ENOENT;
}
