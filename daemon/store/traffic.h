/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How many packets and bytes each device has received and sent, as the kernel counts them: sums since netflowd first
 * read a device, or since the device was made.  No I/O.
 *
 * The kernel shows the counters by name and not by number, so a device is a name in a network namespace.  A counter
 * that is smaller than before belongs to a new device of that name, which began at 0, unless it had 32 bits and began
 * again there.
 */
#ifndef DAEMON_STORE_TRAFFIC_H
#define DAEMON_STORE_TRAFFIC_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"

/* More devices than these are left out, and counted. */
#define TRAFFIC_DEVICES_MAX 65536

enum traffic_value {
	TRAFFIC_RX_PACKETS,
	TRAFFIC_RX_BYTES,
	TRAFFIC_TX_PACKETS,
	TRAFFIC_TX_BYTES,
	TRAFFIC_VALUES,
};

struct traffic_device {
	char name[IF_NAMESIZE];
	uint32_t netns;			/* inode number */
	uint32_t ifindex;		/* 0: not known */
	uint64_t id;			/* of the device, from 1; a renamed one keeps it */
	uint64_t since_ns;		/* when the sums began, CLOCK_MONOTONIC */
	uint64_t sum[TRAFFIC_VALUES];	/* since then */
	uint64_t value[TRAFFIC_VALUES]; /* in the kernel */
};

struct traffic_list {
	struct traffic_device *at; /* sorted by namespace and name */
	size_t count, room;
	size_t namespaces;
	uint64_t
		time_ns; /* of traffic_begin(): `since_ns` of the devices that are new in the list */
	uint64_t left_out;		/* devices beyond TRAFFIC_DEVICES_MAX */
	uint64_t total[TRAFFIC_VALUES]; /* of all devices that there were since the first reading */
};

void traffic_list_clear(struct traffic_list *list);
#define OWN_TRAFFIC_LIST CLEANUP(traffic_list_clear)

/* NULL: it is not known. */
const struct traffic_device *traffic_find(const struct traffic_list *list, uint32_t netns,
					  const char *name);

struct traffic;

/* `number_of` returns the ifindex of a device, 0 if it cannot.  -ENOMEM.  Free with traffic_free(). */
int traffic_new(struct traffic **traffic,
		uint32_t (*number_of)(uint32_t netns, const char *name, void *userdata),
		void *userdata);
void traffic_free(struct traffic **traffic);

/* Begin to read all devices; `now_ns` is CLOCK_MONOTONIC.  What an unfinished reading has added is forgotten. */
void traffic_begin(struct traffic *traffic, uint64_t now_ns);
/* The devices of a namespace follow. */
void traffic_add_netns(struct traffic *traffic, uint32_t netns);
/* -ENOMEM. */
int traffic_add(struct traffic *traffic, const char *name, const uint64_t value[TRAFFIC_VALUES]);
/* Forget the namespace that was added last. */
void traffic_forget_netns(struct traffic *traffic);
/* All were read.  `list` is a copy of what is known now, which the caller clears.  -ENOMEM. */
int traffic_end(struct traffic *traffic, struct traffic_list *list);

#endif
