/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Drops: exact counters for every kfree_skb, by reason, location, device and EtherType, and records that a token bucket
 * per key limits.
 *
 * The event names no device.  It is that of the last stage of the skb, if the skb is surely the same: one that is being
 * sent, one in a socket's queue, or one that was received in the same run of the softirq.  An skb without EtherType is
 * none of a device (AF_UNIX, netlink).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/ethertypes.h"
#include "bpf/throttle.h"
#include "daemon/correlator/internal.h"

#define NS_PER_SECOND UINT64_C(1000000000)
#define NET_TX_SOFTIRQ 2

struct drop_table {
	uint32_t count, room; /* entries of drop[] */
	uint32_t mask;
	uint32_t *index; /* 1 + the index in drop[]; 0: free */
	struct correlator_drops drop[];
};

/* ---- the table ----------------------------------------------------------------- */

static void table_free(struct drop_table *table)
{
	if (table)
		free(table->index);
	free(table);
}

static struct drop_table *table_new(uint64_t room)
{
	struct drop_table *table = calloc(1, sizeof(*table) + room * sizeof(table->drop[0]));

	if (!table)
		return NULL;
	table->room = (uint32_t)room;
	table->mask = (4U << nf_log2(room)) - 1;
	table->index = calloc((size_t)table->mask + 1, sizeof(*table->index));
	if (!table->index) {
		table_free(table);
		return NULL;
	}
	return table;
}

static bool is_key(const struct correlator_drops *drop, const struct correlator_drops *key)
{
	return drop->location == key->location && drop->reason == key->reason &&
	       drop->protocol == key->protocol && drop->device == key->device;
}

static uint32_t hash_key(const struct correlator_drops *key)
{
	uint64_t mixed = (uint64_t)key->reason << 32 | (uint32_t)key->device << 16 | key->protocol;

	return hash(key->location ^ mixed * UINT64_C(0x2545f4914f6cdd1d), 32);
}

/* The counter of this key; a new one if there is room, otherwise NULL. */
static struct correlator_drops *find(struct drop_table *table, const struct correlator_drops *key)
{
	uint32_t at = hash_key(key);

	for (; table->index[at & table->mask]; at++) {
		struct correlator_drops *drop = &table->drop[table->index[at & table->mask] - 1];

		if (is_key(drop, key))
			return drop;
	}
	if (table->count == table->room)
		return NULL;
	table->drop[table->count] = *key;
	table->index[at & table->mask] = ++table->count;
	return &table->drop[table->count - 1];
}

int drops_new(struct correlator *c)
{
	c->drops = table_new(c->settings.drop_keys);
	c->unkeyed = table_new(NF_DROP_REASONS + 1);
	return c->drops && c->unkeyed ? 0 : -ENOMEM;
}

void drops_free(struct correlator *c)
{
	table_free(c->drops);
	table_free(c->unkeyed);
}

/* The counters of the reason alone, for a drop whose key found no room. */
static struct correlator_drops *by_reason(struct correlator *c, uint32_t reason)
{
	struct correlator_drops key = {.reason = reason, .unkeyed = true};

	/* One place is kept for all reasons that find no room. */
	if (c->unkeyed->count >= NF_DROP_REASONS)
		key.reason = NF_DROP_REASON_ANY;
	return find(c->unkeyed, &key);
}

const struct correlator_drops *correlator_drops(const struct correlator *c, uint32_t index)
{
	if (index < c->drops->count)
		return &c->drops->drop[index];
	index -= c->drops->count;
	return index < c->unkeyed->count ? &c->unkeyed->drop[index] : NULL;
}

/* ---- the event -------------------------------------------------------------------- */

/* The EtherType, as far as keys distinguish it, see nf_drop_find_protocol() in bpf/drop.h. */
static uint16_t key_protocol(uint16_t protocol)
{
	if (!protocol || protocol == NF_ETH_P_IP || protocol == NF_ETH_P_IPV6)
		return protocol;
	if (protocol < NF_ETH_P_MIN)
		return NF_PROTOCOL_LENGTH;
	return nf_drop_knows_protocol(protocol) ? protocol : 0;
}

/* Whether the entry is surely that of the dropped skb. */
static bool is_same(const struct inflight *e, const struct cpu *cpu, const struct event *event)
{
	if (!event->protocol)
		return false;
	if (e->journey != NF_JOURNEY_RX)
		return !e->protocol || e->protocol == event->protocol;
	return e->udp || e->sock_queue_ns || e->run == context_run(cpu, event);
}

/*
 * net_tx_action() frees the skbs that a driver gave to dev_kfree_skb_irq() in its interrupt handler: completed
 * transmits, see nf_journey_completes() in bpf/journey.h.  lo passes its skbs on.
 */
static bool is_completion(const struct correlator *c, struct cpu *cpu, const struct inflight *e,
			  const struct event *event)
{
	if (!context_serves(cpu, NET_TX_SOFTIRQ) || e->journey == NF_JOURNEY_RX || !e->start_ns)
		return false;
	if (c->settings.has_reason && event->reason != c->settings.not_specified)
		return false;
	return strcmp(c->device[inflight_device(e)]->name, "lo") != 0;
}

static void record(struct correlator *c, struct cpu *cpu, struct correlator_drops *drop,
		   const struct inflight *e, const struct event *event)
{
	uint64_t interval_ns = NS_PER_SECOND / c->settings.drop_rate;
	struct nf_drop_record r = {
		.header = {.type = NF_RECORD_DROP,
			   .cpu = (__u16)event->cpu,
			   .size = NF_DROP_RECORD_PLAIN,
			   .time_ns = event->time_ns},
		.location = event->location,
		.reason = event->reason,
		.task = {.tid = event->tid},
		.bytes = {.len = e ? e->len : 0,
			  .protocol = event->protocol,
			  .flags = e ? 0 : NF_BYTES_UNKNOWN},
	};

	if (!nf_throttle_admit(&drop->bucket, event->time_ns, interval_ns,
			       (c->settings.drop_burst - 1) * interval_ns)) {
		count(c, event->probe, NF_EVENT_DROP_THROTTLED);
		return;
	}
	if (c->settings.has_reason)
		r.flags |= NF_DROP_REASON;
	if (context_is_task(cpu, event))
		r.flags |= NF_DROP_TASK;
	if (e)
		memcpy(r.device, c->device[inflight_device(e)]->name, sizeof(r.device));
	c->sink.drop(c->sink.userdata, &r);
	count(c, event->probe, NF_EVENT_DROP_RECORDED);
}

static void drop(struct correlator *c, struct cpu *cpu, const struct inflight *e,
		 const struct event *event)
{
	const struct correlator_drops key = {
		.location = event->location,
		.reason = event->reason,
		.protocol = key_protocol(event->protocol),
		.device = e ? inflight_device(e) : DEVICE_NONE,
	};
	struct correlator_drops *counter = find(c->drops, &key);

	count(c, event->probe, counter ? NF_EVENT_COUNTED : NF_EVENT_UNKEYED);
	if (!counter)
		counter = by_reason(c, event->reason);
	counter->packets++;
	counter->last_ns = event->time_ns;
	record(c, cpu, counter, e, event);
}

void drops_event(struct correlator *c, struct cpu *cpu, struct inflight *e,
		 const struct event *event)
{
	if (e && !is_same(e, cpu, event)) {
		inflight_end(c, event->probe, e, NF_EVENT_INVALIDATED);
		e = NULL;
	}
	if (e && is_completion(c, cpu, e, event)) {
		transmit_freed(c, cpu, e, event);
		count(c, event->probe, NF_EVENT_COMPLETED);
		return;
	}
	drop(c, cpu, e, event);
	if (cpu->unshown == event->skb) {
		/* The buffer of its socket was full. */
		queues_remove(c->queues, cpu->unshown_sk, cpu->unshown);
		cpu->unshown = 0;
	}
	if (!e)
		return;
	if (e->udp)
		queues_remove(c->queues, e->sk, e->skb);
	inflight_end(c, event->probe, e, NF_EVENT_DROPPED);
}
