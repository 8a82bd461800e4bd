/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The name that each device has now, and the one that it had before.
 *
 * Counters and records have a device's identity, which a rename does not change, and the name that it had when a packet
 * last passed.  So of all names of one device, only the newest is that of now, and all its counters belong to it.
 */
#ifndef DAEMON_STORE_DEVICE_NAMES_H
#define DAEMON_STORE_DEVICE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/records.h"
#include "common/cleanup.h"

struct device_names;

/* Devices that are kept; beyond that, those that the last readings did not have are forgotten. */
#define DEVICE_NAMES_MAX 16384

struct device_name {
	char name[NF_DEVICE_NAME + 1];
	char was[NF_DEVICE_NAME + 1]; /* the name before; empty: none is known */
	uint64_t since_ns;	      /* when it was first seen with the name, CLOCK_MONOTONIC */
};

/* -ENOMEM. */
int device_names_new(struct device_names **names);
void device_names_free(struct device_names **names);
#define OWN_DEVICE_NAMES CLEANUP(device_names_free)

/* A reading begins; forgets devices if there are too many. */
void device_names_begin(struct device_names *names, uint64_t now_ns);
/* The name that a device had when it dropped a packet. */
void device_names_dropped(struct device_names *names, uint64_t identity, const char *name,
			  uint64_t time_ns);
/* The name that is read again as packets pass: as long as it stays the same, it says nothing new. */
void device_names_passed(struct device_names *names, uint64_t identity, const char *name);
/* The name that a device has now. */
void device_names_is(struct device_names *names, uint64_t identity, const char *name,
		     uint64_t now_ns);

/* NULL: the device is not known. */
const struct device_name *device_names_find(const struct device_names *names, uint64_t identity);

/* ---- who is meant by a name --------------------------------------------------------- */

/* The device that has the name in a namespace: two identities, or keys that stand for them. */
struct device_holder {
	uint64_t netns, device;
};

/* One of each namespace. */
struct device_holders {
	struct device_holder *at; /* sorted by namespace */
	size_t count;
};

/*
 * The devices that have the name now; in a namespace it is the one that got the name last, because only one can have it
 * at a time.  If there are none, those that had the name before, and `*now` is the newest name of one of them,
 * otherwise NULL.  -ENOMEM.  Free with device_holders_clear().
 */
int device_names_holders(const struct device_names *names, const char *name,
			 struct device_holders *holders, const char **now);
void device_holders_clear(struct device_holders *holders);
/* After a change of the members. */
void device_holders_sort(struct device_holders *holders);

enum device_place {
	DEVICE_ELSEWHERE,
	DEVICE_HERE,
	DEVICE_EARLIER, /* another device had the name before */
};

/* `device` 0: not known; `named`: what asks has the name. */
enum device_place device_holders_place(const struct device_holders *holders, uint64_t netns,
				       uint64_t device, bool named);

/* The identity of a device, or 0: a number that is an ifindex does not distinguish a device from its successor. */
static inline uint64_t device_own_identity(uint64_t identity)
{
	uint32_t number = NF_KEY_DEVICE(identity);

	return number && !(number & NF_DEVICE_BY_INDEX) ? identity : 0;
}

#endif
