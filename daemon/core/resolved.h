/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records with everything that they mean: names, class, location, the parsed
 * packet, the stages, the owner.  store/resolve.h makes these out of raw
 * records, in one step; selection, JSON, alerts and all other
 * users take these and look nothing up.
 *
 * Each points to its raw record, which lives until the next record is stored,
 * and so do the names.
 */
#ifndef DAEMON_CORE_RESOLVED_H
#define DAEMON_CORE_RESOLVED_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/records.h"
#include "daemon/core/packet.h"
#include "daemon/core/path.h"

/* Bytes of a location's text with the 0 at the end: KSYM_NAME_LEN is 512, plus offset and module. */
#define LOCATION_TEXT_MAX 640

/* Why and where packets were dropped: what a drop record and a drop counter have in common. */
struct cause {
	bool has_reason; /* false on a kernel that gives none */
	uint32_t reason;
	const char *name;      /* of the reason; NULL: it has none */
	const char *subsystem; /* NULL: not known */
	const char *class;     /* "fault", "policy", "benign"; NULL: the knowledge has no entry */
	bool intended;	       /* policy or benign; false where the class is not known */
	char location[LOCATION_TEXT_MAX];
};

/* The packet, as far as its first bytes were recorded. */
struct contents {
	struct packet packet;
	char flow[PACKET_FLOW_MAX]; /* empty: neither IP nor ARP */
	char protocol[PACKET_PROTOCOL_MAX];
};

/* Whose a packet is.  Empty texts and NULL: not known. */
struct owner {
	const char *cgroup; /* its path */
	char unit[NAME_MAX + 1];
	char container[NAME_MAX + 1];
};

struct drop {
	const struct nf_drop_record *record;
	struct cause cause;
	struct contents contents;
	const char *netns_name; /* NULL: it has none */
	/* The kernel's own frames, from the caller of kfree_skb on. */
	size_t stack_len;
	char stack[NF_DROP_STACK_MAX][LOCATION_TEXT_MAX];
};

/* A finished journey: a latency record. */
struct journey {
	const struct nf_path_record *record;
	struct path path;
	bool has_contents; /* false: the skb was gone before anything of it was kept */
	struct contents contents;
	size_t devices;
	const char *netns_name[NF_PATH_DEVICES]; /* of each device; NULL: it has none */
	struct owner owner;
};

/* A transmit near or above the limit of ring slots: a slots record. */
struct transmit {
	const struct nf_slots_record *record;
	struct contents contents;
	const char *netns_name; /* NULL: it has none */
};

#endif
