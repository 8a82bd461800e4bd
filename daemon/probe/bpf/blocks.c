/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/probe/bpf/blocks.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "build/bpf/netflowd.skel.h"
#include "daemon/probe/bpf/internal.h"

/* Blocks of a chunk: 2.4 MiB.  Smaller if the memory of devices is less than four chunks. */
#define CHUNK_SHIFT 7

/*
 * Free blocks at which the daemon makes more, and those that it then makes: enough for devices that
 * appear within the few graces that this takes.
 */
#define LOW 256
#define ENOUGH 320

/* Kinds of devices for which groups have memory, on all CPUs. */
#define GROUPS_MAX 16

struct chunk {
	int fd;
	struct nf_device_stats *blocks;
};

struct bpf_blocks {
	int outer, free_queue, group_queue; /* maps of the skeleton */
	__typeof__(((struct netflowd *)NULL)->bss->nf_block_counts) *counts;
	uint32_t shift, cap, chunks_max; /* log2 of a chunk's blocks; blocks for devices; chunks */
	uint64_t group_enough;

	/* The thread changes these; the loop reads them. */
	struct chunk *chunk;
	uint32_t chunks;
	uint64_t free_pushed, group_pushed; /* numbers put into each queue, since the start */
	uint32_t device_blocks;		    /* that the devices' queue or devices have */
	uint64_t grace_begun, grace_over;
	int error;

	/* Block numbers beyond the cap, for groups.  Only the thread uses them, or the loop without it. */
	uint16_t *spare;
	uint32_t spares;

	pthread_t thread;
	bool running;  /* of the loop: there is a thread, or one that is to be joined */
	uint32_t done; /* the thread is at its end */
	uint64_t grace_wanted;
};

#define LOAD(member) __atomic_load_n(&(member), __ATOMIC_ACQUIRE)
#define STORE(member, value) __atomic_store_n(&(member), (value), __ATOMIC_RELEASE)
#define ADD(member, value) __atomic_fetch_add(&(member), (value), __ATOMIC_ACQ_REL)

static uint32_t cap_of(uint64_t memory_bytes)
{
	return (uint32_t)(memory_bytes / sizeof(struct nf_device_stats));
}

uint32_t blocks_chunk_shift(uint64_t memory_bytes)
{
	uint32_t shift = CHUNK_SHIFT;

	while (shift > 1 && (UINT32_C(4) << shift) > cap_of(memory_bytes))
		shift--;
	return shift;
}

uint64_t blocks_chunk_bytes(uint64_t memory_bytes)
{
	return (uint64_t)sizeof(struct nf_device_stats) << blocks_chunk_shift(memory_bytes);
}

uint32_t blocks_chunks_max(uint64_t memory_bytes, uint32_t cpus)
{
	uint64_t blocks = cap_of(memory_bytes) + (uint64_t)GROUPS_MAX * cpus + 1;
	uint32_t shift = blocks_chunk_shift(memory_bytes);

	/* A block's number has 16 bits. */
	if (blocks > UINT16_MAX)
		blocks = UINT16_MAX;
	return (uint32_t)((blocks + (UINT32_C(1) << shift) - 1) >> shift);
}

uint32_t blocks_end(const struct bpf_blocks *blocks)
{
	return LOAD(blocks->chunks) << blocks->shift;
}

uint32_t blocks_limit(const struct bpf_blocks *blocks)
{
	return blocks->chunks_max << blocks->shift;
}

struct nf_device_stats *blocks_get(const struct bpf_blocks *blocks, uint32_t block)
{
	return &blocks->chunk[block >> blocks->shift]
			.blocks[block & ((UINT32_C(1) << blocks->shift) - 1)];
}

uint64_t blocks_free_now(const struct bpf_blocks *blocks)
{
	uint64_t taken = blocks->counts->taken, pushed = LOAD(blocks->free_pushed);

	return pushed > taken ? pushed - taken : 0;
}

static uint64_t group_free_now(const struct bpf_blocks *blocks)
{
	uint64_t taken = blocks->counts->group_taken, pushed = LOAD(blocks->group_pushed);

	return pushed > taken ? pushed - taken : 0;
}

uint64_t blocks_low(const struct bpf_blocks *blocks)
{
	return blocks->cap / 4 < LOW ? blocks->cap / 4 : LOW;
}

static uint64_t enough(const struct bpf_blocks *blocks)
{
	return blocks->cap / 2 < ENOUGH ? blocks->cap / 2 : ENOUGH;
}

bool blocks_exhausted(const struct bpf_blocks *blocks)
{
	return LOAD(blocks->device_blocks) >= blocks->cap || LOAD(blocks->error) < 0;
}

int blocks_error(const struct bpf_blocks *blocks)
{
	return LOAD(blocks->error);
}

uint64_t blocks_taken(const struct bpf_blocks *blocks)
{
	return LOAD(blocks->device_blocks) - blocks_free_now(blocks) + blocks->counts->group_taken;
}

uint64_t blocks_bytes(const struct bpf_blocks *blocks)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < LOAD(blocks->chunks); i++)
		bytes += bpf_map_memory(blocks->chunk[i].fd);
	return bytes;
}

/* ---- the queues ------------------------------------------------------------ */

/* The queues have room for all blocks, so this cannot fail. */
static void push_free(struct bpf_blocks *blocks, uint32_t block)
{
	if (bpf_map_update_elem(blocks->free_queue, NULL, &block, BPF_ANY) == 0)
		ADD(blocks->free_pushed, 1);
}

static void push_group(struct bpf_blocks *blocks, uint32_t block)
{
	if (bpf_map_update_elem(blocks->group_queue, NULL, &block, BPF_ANY) == 0)
		ADD(blocks->group_pushed, 1);
}

uint32_t blocks_take(struct bpf_blocks *blocks, uint64_t owner)
{
	uint32_t block;

	if (bpf_map_lookup_and_delete_elem(blocks->free_queue, NULL, &block))
		return 0;
	blocks_get(blocks, block)->owner = owner;
	ADD(blocks->counts->taken, 1);
	return block;
}

void blocks_release(struct bpf_blocks *blocks, uint32_t block)
{
	memset(blocks_get(blocks, block), 0, sizeof(struct nf_device_stats));
	__atomic_thread_fence(__ATOMIC_RELEASE);
	push_free(blocks, block);
}

/* Groups first: they are few, and without them counters would be missing. */
static void share_out(struct bpf_blocks *blocks, uint32_t block)
{
	if (group_free_now(blocks) < blocks->group_enough) {
		push_group(blocks, block);
	} else if (LOAD(blocks->device_blocks) < blocks->cap) {
		ADD(blocks->device_blocks, 1);
		push_free(blocks, block);
	} else {
		blocks->spare[blocks->spares++] = (uint16_t)block;
	}
}

/* ---- chunks ---------------------------------------------------------------- */

static int put_chunk(const struct bpf_blocks *blocks, uint32_t index)
{
	return bpf_map_update_elem(blocks->outer, &index, &blocks->chunk[index].fd, BPF_ANY)
		       ? -errno
		       : 0;
}

int blocks_chunk_create(uint32_t shift)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "nf_chunk", sizeof(__u32),
				sizeof(struct nf_device_stats), UINT32_C(1) << shift, &options);

	return fd < 0 ? -errno : fd;
}

static int add_chunk(struct bpf_blocks *blocks)
{
	uint32_t count = UINT32_C(1) << blocks->shift, index = blocks->chunks;
	size_t bytes = count * sizeof(struct nf_device_stats);
	struct chunk *chunk = &blocks->chunk[index];
	void *memory;
	int r;

	if (index == blocks->chunks_max)
		return -ENOSPC;
	chunk->fd = blocks_chunk_create(blocks->shift);
	if (chunk->fd < 0)
		return chunk->fd;
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, chunk->fd, 0);
	chunk->blocks = memory == MAP_FAILED ? NULL : memory;
	r = chunk->blocks ? put_chunk(blocks, index) : -errno;
	if (r < 0) {
		if (chunk->blocks)
			munmap(chunk->blocks, bytes);
		close(chunk->fd);
		return r;
	}
	STORE(blocks->chunks, index + 1);
	for (uint32_t i = 0; i < count; i++)
		if (index || i) /* no block has the number 0 */
			share_out(blocks, (index << blocks->shift) + i);
	return 0;
}

static bool wants_groups(const struct bpf_blocks *blocks)
{
	return group_free_now(blocks) < blocks->group_enough / 2;
}

static bool wants_free(const struct bpf_blocks *blocks, uint64_t least)
{
	return blocks_free_now(blocks) < least && LOAD(blocks->device_blocks) < blocks->cap;
}

static bool wants_chunk(const struct bpf_blocks *blocks, uint64_t least)
{
	return LOAD(blocks->chunks) < blocks->chunks_max &&
	       (wants_groups(blocks) || wants_free(blocks, least));
}

/* Make chunks until enough blocks are free; each is a grace too.  Returns the first error. */
static int grow(struct bpf_blocks *blocks)
{
	int r = 0;

	while (blocks->spares && wants_groups(blocks))
		push_group(blocks, blocks->spare[--blocks->spares]);
	while (r == 0 && wants_chunk(blocks, enough(blocks)))
		r = add_chunk(blocks);
	STORE(blocks->error, r);
	return r;
}

static void *work(void *userdata)
{
	struct bpf_blocks *blocks = userdata;
	uint64_t grace = LOAD(blocks->grace_begun);

	grow(blocks);
	/* Replace a chunk by itself: the kernel waits for the programs, see blocks.h. */
	if (LOAD(blocks->grace_over) < grace && put_chunk(blocks, 0) == 0)
		STORE(blocks->grace_over, grace);
	STORE(blocks->done, 1);
	return NULL;
}

/* The marks at which a program wakes the daemon; never while the thread is making chunks. */
static void set_marks(struct bpf_blocks *blocks)
{
	bool can_grow = LOAD(blocks->chunks) < blocks->chunks_max && !LOAD(blocks->error);
	uint64_t low = blocks_low(blocks), group = blocks->group_enough / 2;

	blocks->counts->low = can_grow && LOAD(blocks->device_blocks) < blocks->cap
				      ? LOAD(blocks->free_pushed) - low + 1
				      : UINT64_MAX;
	blocks->counts->group_low =
		can_grow || blocks->spares ? LOAD(blocks->group_pushed) - group + 1 : UINT64_MAX;
}

static void join(struct bpf_blocks *blocks)
{
	if (!blocks->running)
		return;
	pthread_join(blocks->thread, NULL);
	blocks->running = false;
	blocks->done = 0;
}

void blocks_refill(struct bpf_blocks *blocks)
{
	bool wanted;

	if (blocks->running && !LOAD(blocks->done))
		return;
	join(blocks);
	set_marks(blocks);
	wanted = blocks->grace_wanted > blocks->grace_over;
	if (!wanted && !wants_chunk(blocks, blocks_low(blocks)) &&
	    !(blocks->spares && wants_groups(blocks)))
		return;
	if (wanted)
		blocks->grace_begun = blocks->grace_wanted;
	if (pthread_create(&blocks->thread, NULL, work, blocks) == 0)
		blocks->running = true;
	else
		work(blocks);
}

uint64_t blocks_grace(struct bpf_blocks *blocks)
{
	/* The grace that has begun may have begun too early. */
	blocks->grace_wanted = blocks->grace_begun + 1;
	return blocks->grace_wanted;
}

bool blocks_grace_over(const struct bpf_blocks *blocks, uint64_t grace)
{
	return LOAD(blocks->grace_over) >= grace;
}

/* ---- start and stop -------------------------------------------------------- */

int blocks_new(struct bpf_blocks **blocks, struct backend_bpf_state *state,
	       const struct backend_settings *settings)
{
	struct bpf_blocks *fresh = calloc(1, sizeof(*fresh));
	int r;

	if (!fresh)
		return -ENOMEM;
	fresh->outer = bpf_map__fd(state->skel->maps.nf_chunks);
	fresh->free_queue = bpf_map__fd(state->skel->maps.nf_free_blocks);
	fresh->group_queue = bpf_map__fd(state->skel->maps.nf_group_blocks);
	fresh->counts = &state->skel->bss->nf_block_counts;
	fresh->shift = blocks_chunk_shift(settings->device_memory);
	fresh->cap = cap_of(settings->device_memory);
	fresh->chunks_max = blocks_chunks_max(settings->device_memory, state->cpus);
	fresh->group_enough = 16 + (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
	fresh->chunk = calloc(fresh->chunks_max, sizeof(*fresh->chunk));
	fresh->spare = calloc(blocks_limit(fresh), sizeof(*fresh->spare));
	r = fresh->chunk && fresh->spare ? grow(fresh) : -ENOMEM;
	if (r < 0) {
		blocks_free(&fresh);
		return r;
	}
	set_marks(fresh);
	*blocks = fresh;
	return 0;
}

void blocks_free(struct bpf_blocks **blocks)
{
	struct bpf_blocks *old = *blocks;

	if (!old)
		return;
	join(old);
	for (uint32_t i = 0; i < old->chunks; i++) {
		munmap(old->chunk[i].blocks, sizeof(struct nf_device_stats) << old->shift);
		close(old->chunk[i].fd);
	}
	free(old->chunk);
	free(old->spare);
	free(old);
	*blocks = NULL;
}
