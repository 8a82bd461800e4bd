/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What rules are judged by: the counters that somebody else keeps, behind one
 * struct of functions, so that the engine knows no backend and a test needs none.
 *
 * All counters only grow.  `userdata` is the source's own.
 */
#ifndef DAEMON_ALERT_SOURCE_H
#define DAEMON_ALERT_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/records.h"
#include "daemon/core/names.h"
#include "daemon/kernel/symbols.h"

struct alert_rule;

enum alert_input {
	ALERT_INPUT_DROPS,
	ALERT_INPUT_LATENCY,
	ALERT_INPUT_SOFTNET,
	ALERT_INPUT_LEDGER,
	ALERT_INPUT_PROBES,
	ALERT_INPUT_SLOTS,
};

struct alert_drops {
	uint64_t location; /* the caller of kfree_skb */
	uint32_t reason;
	uint32_t netns; /* inode number, 0 = not known */
	uint32_t ifindex;
	uint16_t protocol;
	bool l4_known;
	uint8_t l4;
	const char *device; /* up to NF_DEVICE_NAME bytes; empty: not known */
	uint64_t packets;
};

struct alert_drop_names {
	char reason[NAMES_LENGTH_MAX + 1]; /* a number where it has no name; empty: there is none */
	char place[SYMBOLS_TEXT_MAX];
};

struct alert_device {
	const char *name; /* NULL: all that had no slot of their own */
	uint32_t ifindex;
	uint32_t netns;
	const struct nf_hist *segment; /* NF_SEGMENT_COUNT of them */
};

struct alert_slots {
	const char *device;
	uint32_t ifindex;
	uint32_t netns;
	bool ring; /* it has a ring of slots; else it is only measured, for who names it */
	uint64_t linearized, dropped; /* overflows, by outcome */
	uint64_t others;      /* overflows of another outcome, or of one that was not seen */
	uint64_t logged;      /* overflows that the kernel's log tells of, and no probe */
	uint64_t near_misses; /* at the limit, or one below */
};

/* What should have been recorded or followed and was not. */
struct alert_ledger {
	uint64_t ring_full, unkeyed, overwritten, missed;
	uint64_t unaccounted; /* journeys whose end nothing tells, when nothing moved; else 0 */
};

#define ALERT_PROBES_TEXT_MAX 512

struct alert_probes {
	uint64_t lost;
	char text[ALERT_PROBES_TEXT_MAX]; /* which, and why, as far as it fits */
};

struct alert_source {
	/* Why there is nothing to read for that rule, NULL = there is.  Lives until the next call.
	 */
	const char *(*missing)(void *userdata, enum alert_input input,
			       const struct alert_rule *rule);
	/* The inode number of the network namespace that `text` names now, as netns_names_number(). */
	int (*netns)(void *userdata, const char *text, uint32_t *inode);
	/* Some number that is another one when a drop was counted since. */
	uint64_t (*drops_mark)(void *userdata);
	/* The three that visit return 0, or the negative errno of their own or of the visitor. */
	int (*drops)(void *userdata, int (*visit)(const struct alert_drops *drops, void *data),
		     void *data);
	void (*name_drops)(void *userdata, uint32_t reason, uint64_t location,
			   struct alert_drop_names *names);
	int (*devices)(void *userdata, int (*visit)(const struct alert_device *device, void *data),
		       void *data);
	int (*slots)(void *userdata, int (*visit)(const struct alert_slots *slots, void *data),
		     void *data);
	/* All CPUs together. */
	int (*squeezed)(void *userdata, uint64_t *squeezed);
	int (*ledger)(void *userdata, struct alert_ledger *ledger);
	int (*probes)(void *userdata, struct alert_probes *probes);
	void *userdata;
};

#endif
