/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The counters of a block in few bytes: only the histograms that are not empty,
 * and of each only the range of buckets that are used.
 *
 * A device that moved 50 packets takes about 200 bytes instead of 18 KiB.
 */
#ifndef DAEMON_PROBE_BPF_COMPACT_H
#define DAEMON_PROBE_BPF_COMPACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nf_device_stats;
struct nf_hist;

struct compact {
	uint32_t bytes;
	unsigned char data[];
};

bool compact_hist_is_empty(const struct nf_hist *hist);

/* Add all counters of `from` to `into`; what is empty costs nothing. */
void compact_merge(struct nf_device_stats *into, const struct nf_device_stats *from);

/* The counters in a new allocation that the caller frees.  -ENOMEM. */
int compact_new(struct compact **compact, const struct nf_device_stats *stats);

/* Add the counters to `into`.  NULL-safe. */
void compact_add(const struct compact *compact, struct nf_device_stats *into);

#endif
