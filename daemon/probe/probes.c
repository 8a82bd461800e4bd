/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/probe/probes.h"

#include <errno.h>
#include <string.h>

const struct probe_spec probe_specs[NF_PROBE_COUNT] = {
	[NF_PROBE_IRQ_HANDLER_ENTRY] = {"irq_handler_entry", "irq",
					"irq_to_softirq; rx_total then begins at the softirq"},
	[NF_PROBE_IRQ_HANDLER_EXIT] =
		{"irq_handler_exit", "irq",
		 "which interrupt raised a softirq; irq_to_softirq is then not taken"},
	[NF_PROBE_SOFTIRQ_RAISE] = {"softirq_raise", "irq",
				    "raise_to_softirq, the softirq's wait, and irq_to_softirq"},
	[NF_PROBE_SOFTIRQ_ENTRY] =
		{"softirq_entry", "irq",
		 "irq_to_softirq and softirq_to_receive; whether a drop's task was involved"},
	[NF_PROBE_SOFTIRQ_EXIT] =
		{"softirq_exit", "irq",
		 "all segments up to receive; whether a drop's task was involved"},
	[NF_PROBE_NAPI_POLL] = {"napi_poll", "rx", "packets per poll and full budgets"},
	[NF_PROBE_NETIF_RECEIVE_SKB] = {"netif_receive_skb", "rx", "all receive latency"},
	[NF_PROBE_SK_DATA_READY] =
		{"sk_data_ready", "rx",
		 "receive_to_sock_queue and wakeup_to_run; from 6.18 on receive_to_copy of UDP readers"},
	[NF_PROBE_SCHED_WAKING] = {"sched_waking", "wake", "wakeup_to_run and run_to_copy"},
	[NF_PROBE_SCHED_SWITCH] = {"sched_switch", "wake", "wakeup_to_run and run_to_copy"},
	[NF_PROBE_SKB_COPY_DATAGRAM_IOVEC] = {"skb_copy_datagram_iovec", "rx",
					      "receive_to_copy and rx_total, of TCP above all"},
	[NF_PROBE_SOCK_RECV_LENGTH] = {"sock_recv_length", "rx",
				       "receive_to_copy and rx_total of UDP readers"},
	[NF_PROBE_NET_DEV_QUEUE] = {"net_dev_queue", "tx", "queue_to_start_xmit"},
	[NF_PROBE_NET_DEV_START_XMIT] = {"net_dev_start_xmit", "tx",
					 "queue_to_start_xmit and start_xmit_to_xmit"},
	[NF_PROBE_NET_DEV_XMIT] = {"net_dev_xmit", "tx", "start_xmit_to_xmit and xmit_to_free"},
	[NF_PROBE_CONSUME_SKB] = {"consume_skb", "tx",
				  "xmit_to_free; the end of skbs that the kernel consumed itself"},
	[NF_PROBE_KFREE_SKB] = {"kfree_skb", "drop", "all drops"},
	[NF_PROBE_XENNET_START_XMIT] =
		{"xennet_start_xmit", "slots",
		 "ring slots of Xen devices; what the kernel's log says of a rocket is still told"},
	[NF_PROBE_SLOTS_DEVICES] = {"slots_devices", "slots",
				    "ring slots of the devices of slots.devices"},
};

int probe_find(const char *name)
{
	for (int i = 0; i < NF_PROBE_COUNT; i++)
		if (!strcmp(probe_specs[i].name, name))
			return i;
	return -ENOENT;
}
