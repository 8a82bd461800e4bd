/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The drops of all keys, with the part of each that the programs no longer count themselves.  Pure arithmetic.
 *
 * Namespaces, devices and cgroups come and go, so keys pile up.  When there are more than the limit, keys fold: their
 * counts move to a sum by reason, location and evidence that no longer names a device, namespace, protocol or cgroup.
 * Keys of namespaces that are certainly gone fold first, then those idle for longest, but not the keys that come again
 * and again.  No packet leaves the sums, so totals by reason stay exact.
 */
#ifndef DAEMON_CORE_DROP_SUMS_H
#define DAEMON_CORE_DROP_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/records.h"
#include "common/cleanup.h"

struct drop_sums;

/*
 * Locations are in kernel text, so there are few.  Evidence is some ten kinds at each, but strangers can choose much of
 * it: beyond this many kinds, a reason and location has one sum without evidence for the rest, and one for messages.
 */
#define DROP_SUMS_EVIDENCES_MAX 64
/* Folded sums of all reasons and locations.  Beyond this many, a reason has one for the rest, and one for messages. */
#define DROP_SUMS_GONE_MAX 4096

struct drop_count {
	uint64_t packets, segments, bytes;
	uint64_t last_ns; /* of the newest, CLOCK_MONOTONIC */
};

struct drop_sum {
	struct nf_drop_key
		key; /* without NF_KEY_GENERATION; of a folded sum only reason, evidence and location, 0 = any */
	uint32_t netns;			 /* inode number, 0 = not known */
	uint32_t ifindex;		 /* 0 = not known */
	char device[NF_DEVICE_NAME + 1]; /* its name at the newest drop, empty = not known */
	struct drop_count count;
	bool gone; /* a folded sum */
	bool mixed; /* a folded sum of keys that had other evidence or locations than its own: they meant others */
};

/* `keys`: the limit, at least 1.  -ENOMEM. */
int drop_sums_new(struct drop_sums **sums, size_t keys);
void drop_sums_free(struct drop_sums **sums);
#define OWN_DROP_SUMS CLEANUP(drop_sums_free)

/* Begin a reading: forget the counts that were added with drop_sums_add(). */
void drop_sums_begin(struct drop_sums *sums);
/* Add counts for this reading.  `sum->gone` is not used.  -ENOMEM. */
int drop_sums_add(struct drop_sums *sums, const struct drop_sum *sum);

/* Make room for `more` keys, so that this many calls of drop_sums_keep() cannot fail.  -ENOMEM. */
int drop_sums_reserve(struct drop_sums *sums, size_t more);
/* Add counts for good, between a drop_sums_begin() and the first drop_sums_add(). */
void drop_sums_keep(struct drop_sums *sums, const struct drop_sum *sum);

/*
 * If more keys than the limit are kept, fold until half the limit is.  Call it where drop_sums_keep() may be called.
 * Returns the number of keys folded.  If memory runs out, keys stay as they are.
 */
size_t drop_sums_fold(struct drop_sums *sums);

/* Visit all keys with drops, then the folded sums.  Stops when `visit` returns non-zero, and returns its result. */
int drop_sums_visit(const struct drop_sums *sums,
		    int (*visit)(const struct drop_sum *sum, void *userdata), void *userdata);

/* Keys that are kept, folded ones not included. */
size_t drop_sums_kept(const struct drop_sums *sums);

#endif
