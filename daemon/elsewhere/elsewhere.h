/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Drops that pass no kfree_skb, so that netflowd's probe does not see them: the kernel's other counters of drops, which
 * a slow scan in a thread of its own reads, and what bypasses the probes on this host.  See docs/elsewhere.md.
 */
#ifndef DAEMON_ELSEWHERE_ELSEWHERE_H
#define DAEMON_ELSEWHERE_ELSEWHERE_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "daemon/elsewhere/judge.h"

struct elsewhere;
struct loop;

/* Counters and bypasses that are listed; `rows_left_out` and `bypasses_left_out` count more. */
#define ELSEWHERE_ROWS_MAX 1024
#define ELSEWHERE_BYPASSES_MAX 64
#define ELSEWHERE_LABEL_MAX 48
#define ELSEWHERE_REASON_MAX 256

/* From the end of a scan to the next one at least this multiple of its CPU time passes: 2 % of one CPU. */
#define ELSEWHERE_PAUSES 50

/* A counter that has moved since netflowd started or first met it. */
struct elsewhere_row {
	enum elsewhere_source source;
	const struct elsewhere_judgement *judgement;
	char counter[ELSEWHERE_LABEL_MAX];
	char device[ELSEWHERE_LABEL_MAX]; /* empty: none, or deleted ones */
	uint32_t ifindex;		  /* 0: no network device */
	uint32_t netns;			  /* inode number; 0: deleted ones */
	bool gone;			  /* the sum of deleted devices and namespaces */
	uint64_t packets;
	uint64_t moved_ns; /* begin of the scan that last found it moved, CLOCK_MONOTONIC */
};

/* What keeps packets from netflowd's probes. */
enum elsewhere_bypass_kind {
	ELSEWHERE_XDP_NATIVE,
	ELSEWHERE_XDP_OFFLOADED,
	ELSEWHERE_XDP_GENERIC, /* the kernel frees its drops with kfree_skb, so it bypasses nothing */
	ELSEWHERE_XDP_SOCKETS,
	ELSEWHERE_PACKET_SOCKETS, /* those with PACKET_QDISC_BYPASS; the kernel does not show which */
	ELSEWHERE_BYPASSES,
};

/* "xdp_native", …: in JSON. */
extern const char *const elsewhere_bypass_names[ELSEWHERE_BYPASSES];

struct elsewhere_bypass {
	enum elsewhere_bypass_kind kind;
	char device[IF_NAMESIZE]; /* empty for sockets */
	uint32_t ifindex, netns;
	uint32_t number; /* of the program; of sockets: how many */
};

struct elsewhere_findings {
	uint64_t begun_ns, wall_ns, cpu_ns; /* of the scan; CLOCK_MONOTONIC */
	uint64_t left_out; /* devices and counters beyond the limits of the tally */
	size_t devices, namespaces;
	size_t closed;	  /* namespaces whose devices could not be read, those in `kept` included */
	size_t outside;	  /* of those, namespaces whose standard counters /proc shows */
	size_t kept;	  /* namespaces whose devices are as in an earlier scan */
	size_t unread;	  /* devices and namespaces of which some counters could not be read */
	int unread_error; /* why, of the last one; a negative errno */
	uint64_t repeated; /* lists that changed, so that they were read again */
	char closed_why[ELSEWHERE_REASON_MAX];	   /* empty: all was read that netflowd found */
	uint64_t bypass_count[ELSEWHERE_BYPASSES]; /* programs, and sockets */
	struct elsewhere_bypass bypass[ELSEWHERE_BYPASSES_MAX];
	size_t bypasses;
	uint64_t bypasses_left_out;
	struct elsewhere_row *row; /* faults first, then the others; of each most packets first */
	size_t rows;
	uint64_t rows_left_out;
	/* Sums over all places, deleted ones included, by source and counter; they never go back. */
	struct elsewhere_row *total;
	size_t totals;
};

void elsewhere_findings_free(struct elsewhere_findings **findings);
#define OWN_FINDINGS CLEANUP(elsewhere_findings_free)

struct elsewhere_state {
	const struct elsewhere_findings *findings; /* of the last scan; NULL: none yet, or off */
	uint64_t scans;
	uint64_t interval_ns; /* 0: scans are off */
	uint64_t
		late_ns; /* the time by which the next scan is late, because scans are expensive here */
	int error;	 /* of the last scan, a negative errno; 0: it succeeded */
};

/* Nothing is scanned before elsewhere_start().  Free with elsewhere_free(), which ends a scan.  -ENOMEM. */
int elsewhere_new(struct elsewhere **elsewhere, struct loop *loop);
void elsewhere_free(struct elsewhere **elsewhere);

/*
 * Scan every `interval_ns`; 0: never.  Call this once, before the loop runs: unless the interval is 0 it makes the
 * first scan and waits for it, so that all that happens later counts.  Returns 0 or a negative errno; the error of a
 * scan is in the state, and the next scan comes nevertheless.
 */
int elsewhere_start(struct elsewhere *elsewhere, uint64_t interval_ns);

/*
 * Another interval, after elsewhere_start(); 0: no more scans, and the result of the last one is no longer shown.  It
 * never waits for a scan: the next one begins at the loop's next turn, if the interval changed.
 */
int elsewhere_set(struct elsewhere *elsewhere, uint64_t interval_ns);

/* Valid until the loop's next turn. */
struct elsewhere_state elsewhere_state(const struct elsewhere *elsewhere);

#endif
