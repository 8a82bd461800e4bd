/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Everything that the metrics of one moment show, with all names resolved: render.c looks nothing up, so it can run in
 * a thread of its own.
 *
 * The owner fills the plain members.  Strings are borrowed and must last as long as the snapshot, if no comment says
 * otherwise.
 */
#ifndef DAEMON_METRICS_SNAPSHOT_H
#define DAEMON_METRICS_SNAPSHOT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/core/coverage.h"
#include "daemon/probe/backend.h"
#include "daemon/store/reading.h"

#define METRICS_NAME_MAX 64

/* Why and where packets were dropped.  Texts that are not known are empty. */
struct metrics_cause {
	char reason[METRICS_NAME_MAX]; /* the name, or the number if it has none */
	char subsystem[METRICS_NAME_MAX];
	bool inferred;	   /* the reason is not the kernel's own */
	bool message;	   /* the skbs were not packets, so they are not drops */
	const char *class; /* static */
	char *location;	   /* owned */
};

/* A network namespace that has a name. */
struct metrics_netns {
	uint32_t inode;
	char *name; /* owned */
};

/* Network namespaces whose names are looked up; of more, those with the lowest numbers. */
#define METRICS_NETNS_MAX 512

struct metrics_probe {
	const char *name, *group, *state, *how; /* static; how: NULL if it is not attached */
	bool up, unneeded;
	bool missed_known;
	uint64_t hits, missed;
};

struct metrics_alert {
	char name[METRICS_NAME_MAX];
	const char *severity; /* static */
	bool firing, evaluated;
	uint64_t fired;
};

struct metrics_part_cost {
	const char *name; /* static */
	uint64_t readings, cpu_ns;
};

/* A counter of dropped packets that is the kernel's, over all devices. */
struct metrics_elsewhere {
	const char *source, *class; /* static */
	char counter[METRICS_NAME_MAX];
	bool overlaps;
	uint64_t packets;
};

#define METRICS_BYPASSES_MAX 8

/* Counts of netflowd's exports, kept by their owner. */
struct metrics_exports {
	uint64_t http_ok, http_refused, http_missing, http_failed, http_timed_out;
	uint64_t files_textfile, files_json, errors_textfile, errors_json;
	uint64_t cpu_ns;
	uint64_t posts, post_failures, posts_pending;
};

/* Intervals of the history on disk. */
struct metrics_history {
	bool wanted; /* by its setting */
	bool known;  /* it runs: the counts are known */
	bool writing;
	uint64_t written, lost, lost_records, file_bytes;
	uint64_t begin_ns, written_ns; /* since 1970; 0: there is no such moment */
};

struct metrics_clients {
	uint64_t connected, streams, refused, displaced, timed_out, over_budget, gaps;
};

/* The budget, and what is shed to keep it.  Shares are fractions of 1. */
struct metrics_governor {
	double host_budget, cpu_budget, hooks, programs, daemon, cpu, seen;
	bool wake_shed;
	uint64_t windows_one_in, packets_one_in;
};

struct metrics_snapshot {
	uint64_t now_ns;     /* CLOCK_MONOTONIC */
	double started_unix; /* seconds since the epoch */
	char kernel[METRICS_NAME_MAX * 2], machine[METRICS_NAME_MAX * 2];
	const char *backend;
	bool paused[2];	     /* stages, all */
	uint32_t host_netns; /* inode number; 0: not known */
	bool traced; /* a backend runs: without one, only the daemon's own numbers are known */

	/* Held.  Parts that were not read are NULL. */
	const struct reading *reading[READING_PARTS];
	/* Of each row of READING_DROPS, an index into cause[]. */
	uint32_t *drop_cause;
	struct metrics_cause *cause;
	size_t causes, causes_room;

	struct metrics_netns *netns;
	size_t netns_count;
	struct coverage coverage;
	struct metrics_probe probe[NF_PROBE_COUNT];
	struct metrics_alert *alert;
	size_t alerts, alerts_room;
	bool reload_refused;
	struct metrics_part_cost part[READING_PARTS];
	uint64_t cpu_ns, resident_bytes, anonymous_bytes, longest_turn_ns;
	struct metrics_governor governor;
	struct metrics_clients clients;
	struct metrics_history history;
	bool log_read; /* the kernel's log */
	uint64_t rockets, rockets_unseen;
	struct metrics_exports exports;
	struct metrics_elsewhere *elsewhere; /* owned; NULL: no scan has succeeded */
	size_t elsewhere_rows;
	struct {
		const char *kind; /* static */
		uint64_t count;
	} bypass[METRICS_BYPASSES_MAX];
	size_t bypasses;
	uint64_t elsewhere_scans, elsewhere_cpu_ns;
};

/* Releases the readings, so call it in the thread of the loop.  NULL-safe; sets *snapshot to NULL. */
void metrics_snapshot_free(struct metrics_snapshot **snapshot);

struct cause;

/*
 * Resolve the causes of READING_DROPS with `resolve`, once for each reason, location and evidence.  Call it in the
 * thread of the loop.  -ENOMEM.
 */
int metrics_snapshot_causes(struct metrics_snapshot *snapshot,
			    void (*resolve)(const struct nf_drop_key *key, struct cause *cause,
					    void *userdata),
			    void *userdata);

/*
 * Name the network namespaces of the readings with `name`, which returns its buffer, or NULL if there is no name.  Call
 * it in the thread of the loop.  -ENOMEM.
 */
int metrics_snapshot_netns(struct metrics_snapshot *snapshot,
			   const char *(*name)(uint32_t inode, char buffer[static NAME_MAX + 1],
					       void *userdata),
			   void *userdata);

#endif
