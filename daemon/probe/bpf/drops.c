/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The counters of drops: their sizes, their reading, and room for new keys.
 *
 * Keys never run out, because the daemon takes them from the programs.  When the keys of a generation reach the setting
 * drops.keys, it begins the other generation: from then on the programs insert and count keys of that one only.  When
 * no program can still count in the old generation, the daemon moves its counts into core/drop_sums.h and deletes its
 * keys. A key whose drops go on is inserted again, so its drops stay exact.  The hash has room for two full
 * generations.
 *
 * Which programs can still count in the old generation?  Those that ran when it ended.  A program counts its hit at its
 * begin and the fate of its record at its end, so a CPU is past all of them when the ends have reached the hits that it
 * had SETTLE_NS after the change, or when both are equal.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <bpf/bpf.h>

#include "build/bpf/netflowd.skel.h"
#include "common/array.h"
#include "common/cleanup.h"
#include "daemon/core/drop_sums.h"
#include "daemon/probe/bpf/internal.h"

/* Entries that one system call reads. */
#define CHUNK 256

/* By then, every CPU has seen a store of the daemon, and the daemon sees every earlier store of the CPU. */
#define SETTLE_NS (TIME_NS_PER_SECOND / 100)
/* By then, the daemon sees the counts of a program whose end it has seen. */
#define VISIBLE_NS (TIME_NS_PER_SECOND / 1000)
/* The shortest time from one generation to the next, per key: limits the cost where keys exceed drops.keys. */
#define PAUSE_NS_PER_KEY 16000

struct bpf_drops {
	struct drop_sums *sums;
	uint32_t shards, entries, limit;
	size_t entry_bytes;
	struct nf_drop_key keys[CHUNK], old_keys[CHUNK];
	struct drop_sum old[CHUNK];
	unsigned char *values; /* CHUNK of entry_bytes */
	__u64 *quotas;	       /* mapped */
	uint32_t generation;
	uint64_t begun_ns; /* when the generation began */
	/* The generation before it ends: */
	bool ending, hits_known;
	uint64_t quiet_ns; /* when the last CPU was seen past it; 0: not yet */
	uint64_t *
		hits; /* of each CPU after SETTLE_NS; UINT64_MAX: the CPU is past the old generation */
};

/* ---- sizes --------------------------------------------------------------- */

static uint32_t shards_for(uint32_t cpus)
{
	uint32_t shards = 1;

	while (shards < cpus && shards < NF_DROP_SHARDS)
		shards *= 2;
	return shards;
}

static uint64_t at_least_1(uint64_t n)
{
	return n ? n : 1;
}

int bpf_drops_size(struct netflowd *skel, const struct backend_settings *settings, uint32_t cpus,
		   bool no_reentry)
{
	typeof(skel->rodata->settings) *to = &skel->rodata->settings;
	struct bpf_map *const maps[] = {skel->maps.nf_drops, skel->maps.nf_drop_reasons,
					skel->maps.nf_drop_zero};
	struct stat netns;
	int r;

	to->drop_keys = settings->drop_keys;
	to->drop_quota = at_least_1(settings->drop_keys / 4);
	to->host_quota = at_least_1(settings->drop_keys / 2);
	to->host_netns = stat("/proc/self/ns/net", &netns) ? 0 : (__u32)netns.st_ino;
	to->drop_shards = shards_for(cpus);
	to->drop_shared = cpus > to->drop_shards || !no_reentry;
	for (size_t i = 0; i < ARRAY_SIZE(maps); i++) {
		r = bpf_map__set_value_size(maps[i], NF_DROP_ENTRY_BYTES(to->drop_shards));
		if (r < 0)
			return r;
	}
	return bpf_map__set_max_entries(skel->maps.nf_drops, (__u32)(2 * settings->drop_keys));
}

/* ---- life ---------------------------------------------------------------- */

static int allocate(struct bpf_drops *drops, uint32_t cpus, size_t keys)
{
	drops->values = calloc(CHUNK, drops->entry_bytes);
	drops->hits = calloc(cpus, sizeof(*drops->hits));
	if (!drops->values || !drops->hits)
		return -ENOMEM;
	return drop_sums_new(&drops->sums, keys);
}

int bpf_drops_new(struct backend_bpf_state *state, const struct backend_settings *settings)
{
	const struct bpf_map *quotas = state->skel->maps.nf_drop_quotas;
	struct bpf_drops *drops = state->drops = calloc(1, sizeof(*drops));
	__u32 any = NF_DROP_REASON_ANY;
	void *memory;
	int r;

	if (!drops)
		return -ENOMEM;
	drops->shards = state->skel->rodata->settings.drop_shards;
	drops->entry_bytes = NF_DROP_ENTRY_BYTES(drops->shards);
	drops->entries = bpf_map__max_entries(state->skel->maps.nf_drops);
	drops->limit = (uint32_t)settings->drop_keys;
	r = allocate(drops, state->cpus, settings->drop_keys);
	if (r < 0)
		return r;
	memory = mmap(NULL, bpf_table_bytes(quotas), PROT_READ | PROT_WRITE, MAP_SHARED,
		      bpf_map__fd(quotas), 0);
	if (memory == MAP_FAILED)
		return -errno;
	drops->quotas = memory;
	/* The values are still all 0. */
	if (bpf_map_update_elem(bpf_map__fd(state->skel->maps.nf_drop_reasons), &any, drops->values,
				BPF_ANY))
		return -errno;
	return 0;
}

void bpf_drops_free(struct backend_bpf_state *state)
{
	struct bpf_drops *drops = TAKE_PTR(state->drops);

	if (!drops)
		return;
	if (drops->quotas)
		munmap(drops->quotas, bpf_table_bytes(state->skel->maps.nf_drop_quotas));
	drop_sums_free(&drops->sums);
	free(drops->values);
	free(drops->hits);
	free(drops);
}

/* ---- reading ------------------------------------------------------------- */

static void read_entry(const struct bpf_drops *drops, const struct nf_drop_entry *entry,
		       struct drop_sum *sum)
{
	sum->netns = entry->netns;
	sum->ifindex = entry->ifindex;
	memcpy(sum->device, entry->device, NF_DEVICE_NAME);
	for (uint32_t i = 0; i < drops->shards; i++) {
		const struct nf_drop_shard *shard = &entry->shard[i];

		sum->count.packets += shard->packets;
		sum->count.segments += shard->segments;
		sum->count.bytes += shard->bytes;
		if (shard->last_ns > sum->count.last_ns)
			sum->count.last_ns = shard->last_ns;
	}
}

static const struct nf_drop_entry *value_of(const struct bpf_drops *drops, uint32_t i)
{
	return (const void *)(drops->values + i * drops->entry_bytes);
}

/* Read some of the entries of a table.  Returns how many; 0 at the end, or a negative errno. */
static int read_chunk(const struct bpf_drops *drops, int fd, void *keys, bool *begun, __u32 *batch)
{
	__u32 count = CHUNK;
	int r = bpf_map_lookup_batch(fd, *begun ? batch : NULL, batch, keys, drops->values, &count,
				     NULL);

	*begun = true;
	/* -ENOENT: these are the last. */
	if (r < 0 && r != -ENOENT)
		return r;
	return (int)count;
}

/* Visit all entries of the hash of keys.  Stops when `visit` returns non-zero, and returns its result. */
static int for_each_key(const struct backend_bpf_state *state,
			int (*visit)(struct bpf_drops *drops, uint32_t i, void *userdata),
			int (*chunk_done)(struct bpf_drops *drops, void *userdata), void *userdata)
{
	struct bpf_drops *drops = state->drops;
	int fd = bpf_map__fd(state->skel->maps.nf_drops), n, r = 0;
	bool begun = false;
	__u32 batch = 0;

	do {
		n = read_chunk(drops, fd, drops->keys, &begun, &batch);
		for (int i = 0; i < n && r == 0; i++)
			r = visit(drops, (uint32_t)i, userdata);
		if (r == 0 && n > 0 && chunk_done)
			r = chunk_done(drops, userdata);
	} while (n > 0 && r == 0);
	return n < 0 ? n : r;
}

static void read_key(const struct bpf_drops *drops, uint32_t i, struct drop_sum *sum)
{
	*sum = (struct drop_sum){.key = drops->keys[i]};
	sum->key.flags &= (__u8)~NF_KEY_GENERATION;
	read_entry(drops, value_of(drops, i), sum);
}

static int add_key(struct bpf_drops *drops, uint32_t i, void *userdata)
{
	struct drop_sum sum;

	(void)userdata;
	read_key(drops, i, &sum);
	return drop_sums_add(drops->sums, &sum);
}

struct drops_visit {
	int (*visit)(const struct backend_drops *drops, void *userdata);
	void *userdata;
};

/*
 * A walk over all rows takes about 2 ms and cannot pause: drop_sums_begin() and bpf_drops_tend() would change the rows
 * that are left.  So a visitor that wants to stop gets them all the same.
 */
static int visit_row(const struct drops_visit *to, const struct backend_drops *drops)
{
	int r = to->visit(drops, to->userdata);

	return r < 0 ? r : 0;
}

static int visit_sum(const struct drop_sum *sum, void *userdata)
{
	const struct drops_visit *to = userdata;
	struct backend_drops drops = {
		.key = sum->key,
		.identity = NF_DEVICE_KEY(sum->key.netns, sum->key.device),
		.netns = sum->netns,
		.ifindex = sum->ifindex,
		.packets = sum->count.packets,
		.segments = sum->count.segments,
		.bytes = sum->count.bytes,
		.last_ns = sum->count.last_ns,
		.gone = sum->gone,
		.mixed = sum->mixed,
	};

	memcpy(drops.device, sum->device, sizeof(drops.device));
	return visit_row(to, &drops);
}

static int visit_reason(const struct bpf_drops *drops, uint32_t i, const __u32 *reasons,
			const struct drops_visit *to)
{
	struct drop_sum sum = {0};
	struct backend_drops row = {.key.reason = reasons[i], .unkeyed = true};

	read_entry(drops, value_of(drops, i), &sum);
	row.packets = sum.count.packets;
	row.segments = sum.count.segments;
	row.bytes = sum.count.bytes;
	row.last_ns = sum.count.last_ns;
	return row.packets ? visit_row(to, &row) : 0;
}

static int read_reasons(const struct backend_bpf_state *state, const struct drops_visit *to)
{
	const struct bpf_drops *drops = state->drops;
	int fd = bpf_map__fd(state->skel->maps.nf_drop_reasons), n, r = 0;
	bool begun = false;
	__u32 batch = 0, reasons[CHUNK];

	do {
		n = read_chunk(drops, fd, reasons, &begun, &batch);
		for (int i = 0; i < n && r == 0; i++)
			r = visit_reason(drops, (uint32_t)i, reasons, to);
	} while (n > 0 && r == 0);
	return n < 0 ? n : r;
}

int bpf_read_drops(const struct backend *backend, struct backend_cursor *cursor,
		   int (*visit)(const struct backend_drops *, void *), void *userdata)
{
	const struct backend_bpf_state *state = bpf_state(backend);
	struct drops_visit to = {visit, userdata};
	int r;

	cursor->begun = true;
	drop_sums_begin(state->drops->sums);
	r = for_each_key(state, add_key, NULL, NULL);
	if (r == 0)
		r = drop_sums_visit(state->drops->sums, visit_sum, &to);
	return r ? r : read_reasons(state, &to);
}

static uint64_t keys_of(const struct backend_bpf_state *state, uint32_t generation)
{
	return __atomic_load_n(&state->skel->bss->drop_generations[generation].keys,
			       __ATOMIC_RELAXED);
}

/* Two CPUs that insert a key at once both count it, so the sum can be a little too high. */
uint64_t bpf_drops_used(const struct backend_bpf_state *state)
{
	const struct bpf_drops *drops = state->drops;
	uint64_t used = keys_of(state, drops->generation);

	if (drops->ending)
		used += keys_of(state, !drops->generation);
	return used < drops->entries ? used : drops->entries;
}

/* ---- generations --------------------------------------------------------- */

static void begin_generation(struct backend_bpf_state *state, uint64_t now)
{
	struct bpf_drops *drops = state->drops;
	uint32_t next = !drops->generation;

	memset(&drops->quotas[next * NF_DROP_QUOTAS], 0, NF_DROP_QUOTAS * sizeof(*drops->quotas));
	state->skel->bss->drop_generations[next].keys = 0;
	state->skel->bss->drop_generations[next].full = 0;
	__atomic_store_n(&state->skel->bss->live.drop_generation, next, __ATOMIC_SEQ_CST);
	drops->generation = next;
	drops->begun_ns = now;
	drops->ending = true;
	drops->hits_known = false;
	drops->quiet_ns = 0;
}

/* The programs that have ended on a CPU, and those that have begun by then or later. */
static void read_runs(const struct backend_bpf_state *state, uint32_t cpu, uint64_t *ends,
		      uint64_t *hits)
{
	static const enum nf_event end_events[] = {NF_EVENT_DROP_RECORDED, NF_EVENT_DROP_THROTTLED,
						   NF_EVENT_DROP_RING_FULL, NF_EVENT_COMPLETED};
	const __u64 *row = state->cpu[cpu].events[NF_PROBE_KFREE_SKB];

	*ends = 0;
	for (size_t i = 0; i < ARRAY_SIZE(end_events); i++)
		*ends += __atomic_load_n(&row[end_events[i]], __ATOMIC_SEQ_CST);
	*hits = __atomic_load_n(&state->cpu[cpu].calls[NF_PROBE_KFREE_SKB], __ATOMIC_SEQ_CST);
}

/*
 * Where a program can interrupt itself, the ends of the inner ones can reach the hits before the outer one ends.  There
 * only equal numbers count.
 */
static bool is_past(const struct backend_bpf_state *state, uint32_t cpu)
{
	const struct bpf_drops *drops = state->drops;
	uint64_t ends, hits;

	read_runs(state, cpu, &ends, &hits);
	return ends == hits || (state->features.no_reentry && ends >= drops->hits[cpu]);
}

/* Whether no program can count in the old generation any more. */
static bool has_ended(const struct backend_bpf_state *state, uint64_t now)
{
	struct bpf_drops *drops = state->drops;
	uint32_t past = 0;
	uint64_t ends;

	if (now - drops->begun_ns < SETTLE_NS)
		return false;
	for (uint32_t cpu = 0; cpu < state->cpus && !drops->hits_known; cpu++)
		read_runs(state, cpu, &ends, &drops->hits[cpu]);
	drops->hits_known = true;
	for (uint32_t cpu = 0; cpu < state->cpus; cpu++) {
		if (drops->hits[cpu] != UINT64_MAX && is_past(state, cpu))
			drops->hits[cpu] = UINT64_MAX;
		past += drops->hits[cpu] == UINT64_MAX;
	}
	if (past < state->cpus)
		return false;
	/* arm64 may show the end of a program before its counts. */
	if (!drops->quiet_ns)
		drops->quiet_ns = now;
	return now - drops->quiet_ns >= VISIBLE_NS;
}

/* The keys of the old generation in one chunk. */
struct taking {
	int fd;
	uint32_t generation;
	__u32 count;
};

static int take_key(struct bpf_drops *drops, uint32_t i, void *userdata)
{
	struct taking *taking = userdata;

	if (drops->keys[i].flags >> NF_KEY_GENERATION_SHIFT != taking->generation)
		return 0;
	drops->old_keys[taking->count] = drops->keys[i];
	read_key(drops, i, &drops->old[taking->count++]);
	return 0;
}

/* Keep the counts of the keys that are deleted, no others. */
static int take_chunk(struct bpf_drops *drops, void *userdata)
{
	struct taking *taking = userdata;
	__u32 count = taking->count;
	int r = count ? bpf_map_delete_batch(taking->fd, drops->old_keys, &count, NULL) : 0;

	for (__u32 i = 0; i < count; i++)
		drop_sums_keep(drops->sums, &drops->old[i]);
	taking->count = 0;
	return r;
}

/* Move the counts of the old generation.  If that fails, the rest of it stays for the next attempt. */
static void take_generation(struct backend_bpf_state *state)
{
	struct bpf_drops *drops = state->drops;
	struct taking taking = {.fd = bpf_map__fd(state->skel->maps.nf_drops),
				.generation = !drops->generation};

	drop_sums_begin(drops->sums);
	if (drop_sums_reserve(drops->sums, drops->entries) < 0 ||
	    for_each_key(state, take_key, take_chunk, &taking) < 0)
		return;
	drop_sums_fold(drops->sums);
	drops->ending = false;
}

void bpf_drops_tend(struct backend_bpf_state *state)
{
	struct bpf_drops *drops = state->drops;
	uint64_t now = time_monotonic();

	if (drops->ending && has_ended(state, now))
		take_generation(state);
	if (!drops->ending && keys_of(state, drops->generation) >= drops->limit &&
	    now - drops->begun_ns >= (uint64_t)drops->limit * PAUSE_NS_PER_KEY)
		begin_generation(state, now);
	/* Until then, look whenever records arrive, not only every second. */
	state->drops_full = drops->ending || keys_of(state, drops->generation) >= drops->limit;
}
