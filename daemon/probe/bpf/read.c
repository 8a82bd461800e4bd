/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the counters of the programs: mapped arrays as memory, hashes key by key. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <bpf/bpf.h>

#include "build/bpf/netflowd.skel.h"
#include "common/array.h"
#include "common/cleanup.h"
#include "daemon/probe/bpf/blocks.h"
#include "daemon/probe/bpf/internal.h"

static uint64_t load_u64(const __u64 *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

/* Hits first: a program counts them before its other events. */
static void add_events(const struct nf_cpu *cpu, enum nf_probe probe,
		       uint64_t events[NF_EVENT_COUNT])
{
	const __u64 *hits =
		nf_counts_hits(probe) ? &cpu->events[probe][NF_EVENT_HIT] : &cpu->calls[probe];

	events[NF_EVENT_HIT] += load_u64(hits);
	for (int event = NF_EVENT_HIT + 1; event < NF_EVENT_COUNT; event++)
		events[event] += load_u64(&cpu->events[probe][event]);
}

void bpf_read_events(const struct backend *backend, uint64_t events[NF_PROBE_COUNT][NF_EVENT_COUNT])
{
	const struct backend_bpf_state *state = bpf_state(backend);
	uint64_t slots[NF_SLOTS_PROBES][NF_SLOTS_EVENTS];

	memset(events, 0, NF_PROBE_COUNT * sizeof(events[0]));
	for (uint32_t cpu = 0; cpu < state->cpus; cpu++)
		for (int probe = 0; probe < NF_PROBE_SLOTS_FIRST; probe++)
			add_events(&state->cpu[cpu], (enum nf_probe)probe, events[probe]);
	bpf_read_slots_events(backend, slots);
	for (int i = 0; i < NF_SLOTS_PROBES; i++)
		events[NF_PROBE_SLOTS_FIRST + i][NF_EVENT_HIT] = slots[i][NF_SLOTS_HIT];
}

/* Runs that were not followed are taken to have had as many packets as those that were. */
static uint32_t drawn_shift(const struct nf_gate *gate)
{
	uint8_t shift = __atomic_load_n(&gate->most_shift, __ATOMIC_RELAXED);

	return shift ? shift + __atomic_load_n(&gate->most_rank, __ATOMIC_RELAXED) : 0;
}

uint64_t bpf_read_most_drawn(const struct backend *backend)
{
	const struct backend_bpf_state *state = bpf_state(backend);
	uint32_t most = 0;

	for (uint32_t cpu = 0; cpu < state->cpus; cpu++)
		for (int i = 0; i < NF_GATES; i++) {
			uint32_t shift = drawn_shift(&state->cpu[cpu].gate[i]);

			most = shift > most ? shift : most;
		}
	return UINT64_C(1) << most;
}

void bpf_read_streams(const struct backend *backend, uint64_t bytes[NF_STREAM_COUNT])
{
	const struct backend_bpf_state *state = bpf_state(backend);

	memset(bytes, 0, NF_STREAM_COUNT * sizeof(bytes[0]));
	for (uint32_t cpu = 0; cpu < state->cpus; cpu++)
		for (int i = 0; i < NF_STREAM_COUNT; i++)
			bytes[i] += load_u64(&state->cpu[cpu].stream_bytes[i]);
}

/* Entries counted by one call: about 0.3 ms. */
#define INFLIGHT_STEP 16384

static void count_in_flight(const struct nf_inflight *entry, uint64_t now_ns,
			    struct backend_in_flight *count)
{
	uint64_t begin_ns = load_u64(&entry->begin_ns);

	if (!load_u64(&entry->skb))
		return;
	if (begin_ns < now_ns && now_ns - begin_ns >= BACKEND_STALE_NS)
		count->stale++;
	else
		count->young++;
}

bool bpf_read_in_flight(const struct backend *backend, struct backend_cursor *cursor,
			uint64_t now_ns, struct backend_in_flight *count)
{
	struct backend_bpf_state *state = (struct backend_bpf_state *)backend;
	uint32_t from = (uint32_t)cursor->next, to = state->inflight_entries;

	if (to - from > INFLIGHT_STEP)
		to = from + INFLIGHT_STEP;
	for (uint32_t i = from; i < to; i++)
		count_in_flight(&state->inflight[i], now_ns, count);
	cursor->next = to;
	if (to < state->inflight_entries)
		return false;
	for (uint32_t cpu = 0; cpu < state->cpus; cpu++)
		count_in_flight(&state->cpu[cpu].parted.path, now_ns, count);
	state->inflight_used = count->young + count->stale;
	return true;
}

/*
 * TCP frees an skb without payload (an ACK) where no tracepoint is.  So a received skb of at most this length that is
 * in no socket's queue after this time has probably ended unseen.
 */
#define ACK_BYTES_MAX 100
#define ACK_NS UINT64_C(4000000)

static bool awaits_end(const struct nf_inflight *entry, uint64_t since_ns, uint64_t now_ns)
{
	uint64_t begin_ns = load_u64(&entry->begin_ns);

	if (!load_u64(&entry->skb) || begin_ns < since_ns)
		return false;
	return entry->journey != NF_JOURNEY_RX || entry->sock_queue || entry->len > ACK_BYTES_MAX ||
	       now_ns < begin_ns + ACK_NS;
}

static uint64_t packets_of(const struct nf_inflight *entry, uint32_t window_shift)
{
	uint32_t shift = (entry->flags >> NF_INFLIGHT_SHARE_SHIFT) + window_shift;

	return UINT64_C(1) << (shift & 63);
}

/* Sets whose entries one call looks at, at most: all of the default table, which takes 1 ms. */
#define SETS_MAX 32768

/* With the governor, a set that is not present has no entry in use, see struct nf_presence. */
uint64_t bpf_read_awaited(const struct backend *backend, uint64_t now_ns, uint64_t enough)
{
	static const struct nf_presence absent;
	const struct backend_bpf_state *state = bpf_state(backend);
	uint64_t since_ns = load_u64(&state->skel->bss->live.since_ns), packets = 0;
	uint32_t sets = state->inflight_entries / NF_INFLIGHT_WAYS, looked = 0, set;
	bool present = state->skel->rodata->settings.governor;

	for (set = 0; set < sets && looked < SETS_MAX && packets < enough; set++) {
		const struct nf_presence *row = &state->presence[set / NF_PRESENCE_ROW];
		const struct nf_inflight *way = &state->inflight[(size_t)set * NF_INFLIGHT_WAYS];

		if (present && set % NF_PRESENCE_ROW == 0 &&
		    !memcmp(row, &absent, sizeof(absent))) {
			set += NF_PRESENCE_ROW - 1;
			continue;
		}
		if (present && !row->set[set % NF_PRESENCE_ROW])
			continue;
		looked++;
		for (int i = 0; i < NF_INFLIGHT_WAYS; i++)
			if (awaits_end(&way[i], since_ns, now_ns))
				packets += packets_of(&way[i], state->skel->bss->live.window_shift);
	}
	return set < sets ? packets * sets / set : packets;
}

/* ---- the tables themselves --------------------------------------------- */

uint64_t bpf_map_memory(int fd)
{
	char path[64], line[128];
	unsigned long long bytes;
	OWN_FILE FILE *info = NULL;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	info = fopen(path, "re");
	while (info && fgets(line, sizeof(line), info))
		if (sscanf(line, "memlock: %llu", &bytes) == 1)
			return bytes;
	return 0;
}

uint64_t bpf_count_keys(int fd, size_t key_bytes)
{
	OWN_FREE unsigned char *key = malloc(key_bytes);
	void *from = NULL;
	uint64_t n = 0;

	while (key && bpf_map_get_next_key(fd, from, key) == 0) {
		from = key;
		n++;
	}
	return n;
}

static uint64_t count_slots(const struct backend_bpf_state *state)
{
	uint64_t n = 0;

	for (uint32_t slot = NF_SLOT_RESERVED; slot < state->slots; slot++)
		n += load_u64(
			     &state->device_sets[slot / NF_DEVICE_SET].key[slot % NF_DEVICE_SET]) !=
		     0;
	return n;
}

/* As counted by the last walk of the in-flight table, so that status walks it once. */
static uint64_t inflight_used(const struct backend_bpf_state *state)
{
	return state->inflight_used;
}

/* The chunks of blocks, which are not maps of the skeleton. */
static int visit_blocks(const struct backend_bpf_state *state,
			int (*visit)(const struct backend_table *, void *), void *userdata)
{
	const struct backend_table table = {
		.name = "histograms",
		.what = "latency histograms per device and CPU",
		.entries = blocks_end(state->blocks) - 1,
		.used_known = true,
		.used = blocks_taken(state->blocks),
		.bytes = blocks_bytes(state->blocks),
	};

	return visit(&table, userdata);
}

/* The programs that are loaded: their instructions, as loaded and as compiled. */
static int visit_programs(const struct backend_bpf_state *state,
			  int (*visit)(const struct backend_table *, void *), void *userdata)
{
	struct backend_table table = {.name = "programs", .what = "programs in the kernel"};
	struct bpf_program *program;

	bpf_object__for_each_program(program, state->skel->obj)
	{
		if (bpf_program__fd(program) < 0)
			continue;
		table.entries++;
		table.bytes += bpf_map_memory(bpf_program__fd(program));
	}
	return visit(&table, userdata);
}

int bpf_read_tables(const struct backend *backend, struct backend_cursor *cursor,
		    int (*visit)(const struct backend_table *, void *), void *userdata)
{
	const struct backend_bpf_state *state = bpf_state(backend);
	struct netflowd *skel = state->skel;
	const struct {
		const char *name, *what;
		struct bpf_map *map;
		uint64_t (*used)(const struct backend_bpf_state *state); /* NULL: not counted */
		uint32_t ways; /* entries per entry of the map */
	} tables[] = {
		{"inflight", "skbs in flight", skel->maps.nf_inflights, inflight_used,
		 NF_INFLIGHT_WAYS},
		{"presence", "sets of inflight that are in use", skel->maps.nf_presences, NULL,
		 NF_PRESENCE_ROW},
		{"hops", "devices that forwarded and bridged skbs crossed", skel->maps.nf_hops,
		 NULL, 1},
		{"wakes", "readers between wake-up and copy", skel->maps.nf_wakes, NULL, 1},
		{"drop_keys",
		 "drop counters by reason, location, device, netns, protocol and cgroup",
		 skel->maps.nf_drops, bpf_drops_used, 1},
		{"drop_reasons", "drop counters by reason, for drops without room in drop_keys",
		 skel->maps.nf_drop_reasons, NULL, 1},
		{"devices", "devices with a slot of their own", skel->maps.nf_device_infos,
		 count_slots, 1},
		{"device_keys", "devices by slot, to take a slot once", skel->maps.nf_device_claims,
		 NULL, 1},
		{"block_numbers", "histograms' numbers by device and CPU", skel->maps.nf_block_rows,
		 NULL, NF_BLOCK_ROW},
		{"readers", "UDP sockets and the skb that each reads next", skel->maps.nf_readers,
		 NULL, 1},
		{"streams", "TCP sockets and the skb that each is read from", skel->maps.nf_streams,
		 NULL, 1},
		{"cpus", "event counters per CPU", skel->maps.nf_cpus, NULL, 1},
		{"contexts", "softirqs and transmits of tasks, on a real-time kernel",
		 skel->maps.nf_contexts, NULL, 1},
		{"ring", "bytes for records that the daemon has not yet read", skel->maps.nf_ring,
		 NULL, 1},
	};
	uint64_t further;
	int r;

	while (cursor->next < ARRAY_SIZE(tables)) {
		size_t i = cursor->next++;
		struct backend_table table = {
			.name = tables[i].name,
			.what = tables[i].what,
			.entries = (uint64_t)bpf_map__max_entries(tables[i].map) * tables[i].ways,
			.used_known = tables[i].used,
			.used = tables[i].used ? tables[i].used(state) : 0,
			.bytes = bpf_map_memory(bpf_map__fd(tables[i].map)),
		};

		r = visit(&table, userdata);
		if (r)
			return r;
	}
	if (cursor->next == ARRAY_SIZE(tables)) {
		cursor->next++;
		r = visit_blocks(state, visit, userdata);
		if (r)
			return r;
	}
	if (cursor->next == ARRAY_SIZE(tables) + 1) {
		cursor->next++;
		r = visit_programs(state, visit, userdata);
		if (r)
			return r;
	}
	further = cursor->next - ARRAY_SIZE(tables) - 2;
	r = bpf_ring_slots_tables(state, &further, visit, userdata);
	cursor->next = ARRAY_SIZE(tables) + 2 + further;
	return r;
}
