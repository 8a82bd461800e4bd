# SPDX-License-Identifier: GPL-2.0-or-later
"""A script for `perf script -s`: it runs perf's own netdev-times, and writes what that found.

    NETDEV_TIMES=SCRIPT FOUND=FILE perf script -i perf.data -s netdev_times_driver.py

On a kernel of 5.17 or later, netdev-times ends with an error: skb:kfree_skb has members that its
function does not take, and since 6.3 so has skb:consume_skb.  This passes to each function the
members that it takes.  It changes no rule of netdev-times, and reads its tables.
"""

import importlib.util
import json
import os
import sys

sys.path.append(os.environ["PERF_EXEC_PATH"] + "/scripts/python/Perf-Trace-Util/lib/Perf/Trace")

# perf calls functions of this script to define the names of softirqs.
# pylint: disable-next=import-error,wildcard-import,unused-wildcard-import,wrong-import-position
from Core import *

# Event → the members that its function takes, in that order.
MEMBERS = {
    "irq__irq_handler_entry": ("irq", "name"),
    "irq__irq_handler_exit": ("irq", "ret"),
    "irq__softirq_raise": ("vec",),
    "irq__softirq_entry": ("vec",),
    "irq__softirq_exit": ("vec",),
    "napi__napi_poll": ("napi", "dev_name", "work", "budget"),
    "net__netif_receive_skb": ("skbaddr", "len", "name"),
    "net__netif_rx": ("skbaddr", "len", "name"),
    "net__net_dev_queue": ("skbaddr", "len", "name"),
    "net__net_dev_xmit": ("skbaddr", "len", "rc", "name"),
    "skb__kfree_skb": ("skbaddr", "protocol", "location"),
    "skb__consume_skb": ("skbaddr",),
    "skb__skb_copy_datagram_iovec": ("skbaddr", "len"),
}


def load(path):
    spec = importlib.util.spec_from_file_location("netdev_times", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SCRIPT = load(os.environ["NETDEV_TIMES"])
SOFTIRQ_EXIT = SCRIPT.handle_irq_softirq_exit
EVENTS = []
RUNS = []


def softirq_exit(event_info):
    """A run of NET_RX ends.  netdev-times forgets it unless it has an interrupt."""
    run = SCRIPT.net_rx_dic.get(event_info[SCRIPT.EINFO_IDX_CPU])
    shown = len(SCRIPT.receive_hunk_list)
    SOFTIRQ_EXIT(event_info)
    if run:
        hunks = SCRIPT.receive_hunk_list[shown:]
        RUNS.append({"run": run, "irqs": hunks[0]["irq_list"] if hunks else []})


SCRIPT.handle_irq_softirq_exit = softirq_exit


def trace_begin():
    SCRIPT.trace_begin()


def trace_unhandled(name, context, members):
    """perf calls this for each event, in the order of time."""
    cpu, tid = members["common_cpu"], members["common_pid"]
    second, rest = members["common_s"], members["common_ns"]
    EVENTS.append((second * 10 ** 9 + rest, cpu, tid, name.split("__")[1],
                   {key: members[key] for key in members if not key.startswith("common_")}))
    if name in MEMBERS:
        getattr(SCRIPT, name)(name, context, cpu, second, rest, tid, members["common_comm"], [],
                              *(members[member] for member in MEMBERS[name]))


def trace_end():
    SCRIPT.trace_end()
    with open(os.environ["FOUND"], "w", encoding="utf-8") as file:
        json.dump({"events": EVENTS, "runs": RUNS, "sent": SCRIPT.tx_free_list,
                   "overflow": [SCRIPT.of_count_rx_skb_list, SCRIPT.of_count_tx_queue_list,
                                SCRIPT.of_count_tx_xmit_list]}, file)
