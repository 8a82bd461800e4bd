/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Devices come and go (containers, tunnels), and the programs have a limited
 * number of slots.  When a set of slots is crowded, its longest idle device loses
 * the slot.  The device's counters are kept here.
 *
 * This takes two steps, because running programs and skbs in flight know the slot
 * by its number.  First the key is removed, so that no program finds the slot any
 * more.  In a later housekeeping, when no entry of the in-flight table names the
 * slot, the counters are copied and the slot is free.  If the device gets packets
 * again, it takes another slot, and the read functions add the parts.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "build/bpf/netflowd.skel.h"
#include "common/cleanup.h"
#include "common/time.h"
#include "daemon/core/histogram.h"
#include "daemon/probe/bpf/internal.h"

/* Retired devices kept separately, 18 KiB each.  Older ones count with NF_SLOT_OTHER. */
#define RETIRED_MAX 96

/* A set with fewer free slots than this is crowded. */
#define FREE_MIN 2

struct bpf_retired {
	uint64_t key;
	struct nf_device_info info;
	struct nf_device_stats stats;
};

struct bpf_slot {
	uint64_t closing;   /* the key that was removed, 0 = not closing */
	uint64_t activity;  /* activity() at the last check */
	uint64_t active_ns; /* when it last changed, or the first check */
};

int bpf_slots_new(struct backend_bpf_state *state, uint64_t idle_seconds)
{
	state->device_idle_ns = idle_seconds * TIME_NS_PER_SECOND;
	state->slot = calloc(state->slots, sizeof(*state->slot));
	return state->slot ? 0 : -ENOMEM;
}

void bpf_slots_free(struct backend_bpf_state *state)
{
	free(state->slot);
	free(state->retired);
}

static __u64 *key_of(const struct backend_bpf_state *state, uint32_t slot)
{
	return &state->device_sets[slot / NF_DEVICE_SET].key[slot % NF_DEVICE_SET];
}

static struct nf_device_stats *stats_of(const struct backend_bpf_state *state, uint32_t cpu,
					uint32_t slot)
{
	return &state->device_stats[(size_t)cpu * state->slots + slot];
}

static void stats_merge(struct nf_device_stats *into, const struct nf_device_stats *from)
{
	for (int i = 0; i < NF_HIST_COUNT; i++)
		histogram_merge(&into->hist[i], &from->hist[i]);
	into->polls += from->polls;
	into->poll_packets += from->poll_packets;
	into->full_budgets += from->full_budgets;
}

/* A number that changes with the packets of the slot's device. */
static uint64_t activity(const struct backend_bpf_state *state, uint32_t slot)
{
	uint64_t sum = 0;

	for (uint32_t cpu = 0; cpu < state->cpus; cpu++) {
		const struct nf_device_stats *stats = stats_of(state, cpu, slot);

		sum += stats->polls;
		for (int i = 0; i < NF_HIST_COUNT; i++)
			sum += stats->hist[i].sum_ns;
	}
	return sum;
}

static bool in_use(const struct backend_bpf_state *state, uint32_t slot)
{
	for (uint32_t i = 0; i < state->inflight_entries; i++)
		if (state->inflight[i].skb && state->inflight[i].slot == slot)
			return true;
	return false;
}

/* A new entry; if there is no room, the oldest is merged into the devices without a slot. */
static struct bpf_retired *retired_add(struct backend_bpf_state *state)
{
	struct bpf_retired *fresh;

	if (state->retired_count < RETIRED_MAX) {
		fresh = realloc(state->retired, (state->retired_count + 1) * sizeof(*fresh));
		if (!fresh)
			return NULL;
		state->retired = fresh;
	} else {
		stats_merge(&state->forgotten, &state->retired[0].stats);
		memmove(&state->retired[0], &state->retired[1],
			(--state->retired_count) * sizeof(*state->retired));
	}
	fresh = &state->retired[state->retired_count++];
	memset(fresh, 0, sizeof(*fresh));
	return fresh;
}

static void close_slot(struct backend_bpf_state *state, uint32_t slot)
{
	__u64 *key = key_of(state, slot);

	state->slot[slot].closing = *key;
	__atomic_store_n(key, 0, __ATOMIC_RELEASE);
}

static void free_slot(struct backend_bpf_state *state, uint32_t slot)
{
	struct bpf_retired *retired = retired_add(state);

	if (!retired)
		return;
	retired->key = state->slot[slot].closing;
	retired->info = state->device_infos[slot];
	for (uint32_t cpu = 0; cpu < state->cpus; cpu++) {
		stats_merge(&retired->stats, stats_of(state, cpu, slot));
		memset(stats_of(state, cpu, slot), 0, sizeof(struct nf_device_stats));
	}
	state->slot[slot] = (struct bpf_slot){0};
	bpf_map_delete_elem(bpf_map__fd(state->skel->maps.nf_device_claims), &slot);
}

/* The longest idle slot of a set, idle for at least device_idle_ns; 0 = none. */
static uint32_t idlest(struct backend_bpf_state *state, uint32_t set, uint64_t now)
{
	uint64_t longest = state->device_idle_ns;
	uint32_t found = 0;

	for (uint32_t slot = set * NF_DEVICE_SET; slot < (set + 1) * NF_DEVICE_SET; slot++) {
		struct bpf_slot *seen = &state->slot[slot];
		uint64_t is = activity(state, slot);

		if (slot < NF_SLOT_RESERVED || !*key_of(state, slot))
			continue;
		if (is != seen->activity || !seen->active_ns) {
			seen->activity = is;
			seen->active_ns = now;
		}
		if (now - seen->active_ns >= longest) {
			longest = now - seen->active_ns;
			found = slot;
		}
	}
	return found;
}

static unsigned int free_slots(const struct backend_bpf_state *state, uint32_t set)
{
	unsigned int n = 0;

	for (uint32_t slot = set * NF_DEVICE_SET; slot < (set + 1) * NF_DEVICE_SET; slot++)
		n += !*key_of(state, slot);
	return n;
}

void bpf_housekeep(struct backend *backend)
{
	struct backend_bpf_state *state = (struct backend_bpf_state *)backend;
	uint64_t now = time_monotonic();

	for (uint32_t slot = NF_SLOT_RESERVED; slot < state->slots; slot++)
		if (state->slot[slot].closing && !in_use(state, slot))
			free_slot(state, slot);
	for (uint32_t set = 0; set < state->slots / NF_DEVICE_SET; set++) {
		unsigned int free = free_slots(state, set);

		for (uint32_t slot; free < FREE_MIN && (slot = idlest(state, set, now)); free++)
			close_slot(state, slot);
	}
}

/* ---- reading live and retired slots as one --------------------------------- */

/* The counters of a device in one slot, or its retired counters. */
struct part {
	uint64_t key;
	uint32_t slot;			   /* of a live part */
	const struct bpf_retired *retired; /* NULL for a live part */
};

static int by_key(const void *x, const void *y)
{
	const struct part *a = x, *b = y;

	return a->key < b->key ? -1 : a->key > b->key;
}

static size_t collect_parts(const struct backend_bpf_state *state, struct part *parts)
{
	size_t n = 0;

	for (uint32_t slot = NF_SLOT_RESERVED; slot < state->slots; slot++) {
		uint64_t key = __atomic_load_n(key_of(state, slot), __ATOMIC_RELAXED);

		if (!key)
			key = state->slot[slot].closing;
		if (key)
			parts[n++] = (struct part){.key = key, .slot = slot};
	}
	for (size_t i = 0; i < state->retired_count; i++)
		parts[n++] =
			(struct part){.key = state->retired[i].key, .retired = &state->retired[i]};
	qsort(parts, n, sizeof(*parts), by_key);
	return n;
}

static void add_part(const struct backend_bpf_state *state, const struct part *part,
		     struct nf_device_stats *stats)
{
	if (part->retired) {
		stats_merge(stats, &part->retired->stats);
		return;
	}
	for (uint32_t cpu = 0; cpu < state->cpus; cpu++)
		stats_merge(stats, stats_of(state, cpu, part->slot));
}

static int visit_device(const struct nf_device_stats *stats, const struct nf_device_info *info,
			uint64_t key, int (*visit)(const struct backend_device *, void *),
			void *userdata)
{
	char name[NF_DEVICE_NAME + 1] = "";
	struct backend_device device = {
		.polls = stats->polls,
		.poll_packets = stats->poll_packets,
		.full_budgets = stats->full_budgets,
	};

	memcpy(device.segment, stats->hist, sizeof(device.segment));
	histogram_merge(&device.segment[NF_SEGMENT_RECEIVE_TO_COPY],
			&stats->hist[NF_HIST_SOFTIRQ_RECEIVE_TO_COPY]);
	histogram_merge(&device.segment[NF_SEGMENT_RX_TOTAL],
			&stats->hist[NF_HIST_SOFTIRQ_RX_TOTAL]);
	if (info) {
		memcpy(name, info->name, NF_DEVICE_NAME);
		device.name = name;
		device.netns = info->netns;
		device.ifindex = NF_KEY_IFINDEX(key);
	}
	return visit(&device, userdata);
}

/* Pairs of slot and CPU that one call looks at: about 1 ms. */
#define NAPI_STEP 4096

/* `next` of the cursor counts pairs of slot and CPU, from the slot NF_SLOT_BACKLOG on. */
int bpf_read_napi(const struct backend *backend, struct backend_cursor *cursor,
		  int (*visit)(const struct backend_napi *, void *), void *userdata)
{
	const struct backend_bpf_state *state = bpf_state(backend);
	uint32_t slot = NF_SLOT_BACKLOG + (uint32_t)(cursor->next / state->cpus);
	uint32_t cpu = (uint32_t)(cursor->next % state->cpus);
	unsigned int steps = 0;
	int r = 0;

	for (; slot < state->slots && r == 0; slot++, cpu = 0)
		for (; cpu < state->cpus && r == 0; cpu++) {
			const struct nf_device_stats *stats = stats_of(state, cpu, slot);
			uint64_t key = *key_of(state, slot);
			char name[NF_DEVICE_NAME + 1] = "";
			struct backend_napi napi = {
				.cpu = cpu,
				.polls = stats->polls,
				.poll_packets = stats->poll_packets,
				.full_budgets = stats->full_budgets,
			};

			if (steps++ == NAPI_STEP)
				return 1;
			cursor->next++;
			if (!stats->polls || !key)
				continue;
			if (slot >= NF_SLOT_RESERVED) {
				memcpy(name, state->device_infos[slot].name, NF_DEVICE_NAME);
				napi.name = name;
				napi.ifindex = NF_KEY_IFINDEX(key);
				napi.netns = state->device_infos[slot].netns;
			}
			r = visit(&napi, userdata);
		}
	return r;
}

void bpf_read_softirq_wait(const struct backend *backend, uint32_t cpu, struct nf_hist *hist)
{
	const struct backend_bpf_state *state = bpf_state(backend);

	for (uint32_t slot = 0; slot < state->slots && cpu < state->cpus; slot++)
		if (*key_of(state, slot))
			histogram_merge(
				hist,
				&stats_of(state, cpu, slot)->hist[NF_SEGMENT_RAISE_TO_SOFTIRQ]);
}

/* The counters without a device: of the reserved slots, and of the oldest retired devices. */
static int visit_reserved(const struct backend_bpf_state *state,
			  int (*visit)(const struct backend_device *, void *), void *userdata)
{
	struct nf_device_stats stats = state->forgotten;

	for (uint32_t slot = 0; slot < NF_SLOT_RESERVED; slot++)
		add_part(state, &(struct part){.slot = slot}, &stats);
	return visit_device(&stats, NULL, 0, visit, userdata);
}

/* `next` of the cursor is the key of the device visited last; the row of those without a slot is first. */
int bpf_read_devices(const struct backend *backend, struct backend_cursor *cursor,
		     int (*visit)(const struct backend_device *, void *), void *userdata)
{
	const struct backend_bpf_state *state = bpf_state(backend);
	OWN_FREE struct part *parts = calloc(state->slots + state->retired_count, sizeof(*parts));
	size_t n = parts ? collect_parts(state, parts) : 0, i = 0;
	int r = parts ? 0 : -ENOMEM;

	if (parts && !cursor->begun) {
		cursor->begun = true;
		r = visit_reserved(state, visit, userdata);
	}
	while (i < n && parts[i].key <= cursor->next)
		i++;
	for (size_t next; i < n && r == 0; i = next) {
		struct nf_device_stats stats = {0};
		const struct nf_device_info *info = parts[i].retired
							    ? &parts[i].retired->info
							    : &state->device_infos[parts[i].slot];

		for (next = i; next < n && parts[next].key == parts[i].key; next++)
			add_part(state, &parts[next], &stats);
		cursor->next = parts[i].key;
		r = visit_device(&stats, info, parts[i].key, visit, userdata);
	}
	return r;
}
