/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of blocks (struct nf_device_stats): chunks that are made when few
 * blocks are free, and the two queues from which the programs take them.
 *
 * A new chunk is put into a map of maps, and the kernel then waits until no
 * program uses the map's previous content (maybe_wait_bpf_programs(): an RCU grace
 * period, 10 to 30 ms).  A thread does this, so that the daemon's loop does not
 * wait.  The same wait shows that no program still has a pointer to a block whose
 * number was removed before: a grace.
 */
#ifndef DAEMON_PROBE_BPF_BLOCKS_H
#define DAEMON_PROBE_BPF_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

struct backend_bpf_state;
struct backend_settings;
struct bpf_blocks;
struct nf_device_stats;

/* log2 of the blocks of a chunk, for that much memory of devices. */
uint32_t blocks_chunk_shift(uint64_t memory_bytes);
/* Bytes of a chunk. */
uint64_t blocks_chunk_bytes(uint64_t memory_bytes);
/* The chunks that there can be; groups have memory of their own. */
uint32_t blocks_chunks_max(uint64_t memory_bytes, uint32_t cpus);

/* A map of that many blocks; its descriptor or a negative errno. */
int blocks_chunk_create(uint32_t shift);

/* After the maps are created and before programs are attached.  0 or negative errno. */
int blocks_new(struct bpf_blocks **blocks, struct backend_bpf_state *state,
	       const struct backend_settings *settings);
void blocks_free(struct bpf_blocks **blocks);

/* Blocks have the numbers from 1 to below this; some of them are not free and not taken. */
uint32_t blocks_end(const struct bpf_blocks *blocks);
/* The highest number that there can be, plus 1. */
uint32_t blocks_limit(const struct bpf_blocks *blocks);
struct nf_device_stats *blocks_get(const struct bpf_blocks *blocks, uint32_t block);

/* Free blocks for devices, and the number at which they are few. */
uint64_t blocks_free_now(const struct bpf_blocks *blocks);
uint64_t blocks_low(const struct bpf_blocks *blocks);
/* Whether devices have all the memory that the settings or the host allow. */
bool blocks_exhausted(const struct bpf_blocks *blocks);
/* 0, or the negative errno of the last chunk that could not be made. */
int blocks_error(const struct bpf_blocks *blocks);
/* Blocks taken from the device's queue or given to groups, and the bytes of all chunks. */
uint64_t blocks_taken(const struct bpf_blocks *blocks);
uint64_t blocks_bytes(const struct bpf_blocks *blocks);

/* Take a free block for an owner (NF_BLOCK_OWNER), as the programs do; 0: none is free. */
uint32_t blocks_take(struct bpf_blocks *blocks, uint64_t owner);
/* Clear a block that no program uses any more, and give it to the devices' queue. */
void blocks_release(struct bpf_blocks *blocks, uint32_t block);

/* Make chunks if few blocks are free, and begin a grace if one is awaited.  Does not wait. */
void blocks_refill(struct bpf_blocks *blocks);

/* A grace that begins after this call. */
uint64_t blocks_grace(struct bpf_blocks *blocks);
/* Whether it is over: what was removed before blocks_grace() is not used any more. */
bool blocks_grace_over(const struct bpf_blocks *blocks, uint64_t grace);

#endif
