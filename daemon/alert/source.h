/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The counters from which rules are evaluated, behind one struct of functions, so that the engine knows
 * no backend and a test needs none.
 *
 * Counters only grow.  `userdata` belongs to the source.
 */
#ifndef DAEMON_ALERT_SOURCE_H
#define DAEMON_ALERT_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/records.h"
#include "daemon/core/names.h"
#include "daemon/kernel/symbols.h"

struct alert_rule;
struct cause;

enum alert_input {
	ALERT_INPUT_DROPS,
	ALERT_INPUT_LATENCY,
	ALERT_INPUT_SOFTNET,
	ALERT_INPUT_LEDGER,
	ALERT_INPUT_PROBES,
	ALERT_INPUT_SLOTS,
	ALERT_INPUT_PAUSE,
};

struct alert_drops {
	uint64_t location;	   /* address of the caller of kfree_skb */
	const struct cause *cause; /* without evidence; valid until the next reading */
	uint64_t evidence;	   /* as in struct nf_drop_key */
	uint64_t identity;	   /* as of a device */
	uint64_t
		named_ns; /* when its device got this name, as a mark of drops_mark(); 0: it never had another one */
	uint32_t netns; /* inode number; 0: not known */
	uint32_t ifindex;
	uint16_t protocol;
	uint8_t key_flags; /* NF_KEY_* */
	uint8_t l4;
	/* Without device, namespace and protocol: of keys that folded, or of a full table, see probe/backend.h. */
	bool gone, unkeyed;
	bool mixed;	    /* folded, and of another reason or class than some of its keys had */
	const char *device; /* at most NF_DEVICE_NAME bytes; empty: not known */
	uint64_t packets;
};

struct alert_drop_names {
	char reason[NAMES_LENGTH_MAX + 1]; /* a number if it has no name; empty: no reason */
	bool inferred;			   /* by netflowd: the kernel did not give it */
	char location[SYMBOLS_TEXT_MAX];
};

struct alert_device {
	const char *name; /* NULL: all devices without a slot of their own */
	uint64_t identity;
	uint32_t ifindex;
	uint32_t netns;
	const struct nf_hist *hist; /* of the segment that was asked for */
};

struct alert_slots {
	const char *device;
	uint32_t ifindex;
	uint32_t netns;
	bool ring; /* has a ring of slots; others count only for rules that name them */
	uint64_t linearized, dropped; /* overflows, by outcome */
	uint64_t others;      /* overflows with another outcome, or with one that was not seen */
	uint64_t logged;      /* overflows that only the kernel's log has */
	uint64_t near_misses; /* at the limit, or one below */
};

/* Events that should have been recorded or followed and were not. */
struct alert_ledger {
	uint64_t begun; /* journeys and drops: events that could get lost */
	uint64_t ring_full, unkeyed, overwritten, missed;
	uint64_t unaccounted; /* journeys neither in flight nor counted as ended */
};

#define ALERT_PROBES_TEXT_MAX 512

struct alert_probes {
	uint64_t lost;
	char text[ALERT_PROBES_TEXT_MAX]; /* which probes, and why; cut if it is too long */
};

struct alert_source {
	/* Why the rule has nothing to read, or NULL if it has.  Valid until the next call. */
	const char *(*missing)(void *userdata, enum alert_input input,
			       const struct alert_rule *rule);
	/* The inode number of the network namespace that `text` names now, as netns_names_number(). */
	int (*netns)(void *userdata, const char *text, uint32_t *inode);
	/* The time of the numbers that drops() visits. */
	uint64_t (*drops_mark)(void *userdata);
	/*
	 * The functions with a visitor return 0, their own negative errno, or that of the visitor.  -EAGAIN: these
	 * counters have not been read yet.
	 */
	int (*drops)(void *userdata, int (*visit)(const struct alert_drops *drops, void *data),
		     void *data);
	/* Names reason and location; of the key only these and the evidence count. */
	void (*name_drops)(void *userdata, const struct nf_drop_key *key,
			   struct alert_drop_names *names);
	int (*devices)(void *userdata, enum nf_segment segment,
		       int (*visit)(const struct alert_device *device, void *data), void *data);
	int (*slots)(void *userdata, int (*visit)(const struct alert_slots *slots, void *data),
		     void *data);
	/* The sum of all CPUs. */
	int (*squeezed)(void *userdata, uint64_t *squeezed);
	int (*ledger)(void *userdata, struct alert_ledger *ledger);
	int (*probes)(void *userdata, struct alert_probes *probes);
	/* The pause in force, in words; NULL: none. */
	const char *(*paused)(void *userdata);
	void *userdata;
};

#endif
