/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files that write families. */
#ifndef DAEMON_METRICS_INTERNAL_H
#define DAEMON_METRICS_INTERNAL_H

#include "daemon/metrics/metrics.h"
#include "daemon/metrics/series.h"
#include "daemon/metrics/snapshot.h"

struct kinds;

/* /proc/net/softnet_stat has 32 bits that wrap; these sums do not. */
struct cpu_counts {
	uint32_t cpu;
	uint32_t last[3];
	uint64_t sum[3];
};

/* The labels that all drops of a group have in common; its number in the series is its index. */
struct drop_group {
	char reason[METRICS_NAME_MAX], subsystem[METRICS_NAME_MAX];
	const char *class; /* static */
	bool inferred;
};

struct metrics {
	struct metrics_series *drops, *napi, *slots, *traffic;
	struct drop_group *group; /* reasons in their classes: some hundred at most */
	size_t groups, groups_room;
	uint64_t messages;   /* never decreases */
	uint64_t drops_ns;   /* the reading of drops of the last round; 0: none */
	bool unmeasured;     /* segments and bytes of drops are not known */
	struct kinds *kinds; /* histograms by kind of device */
	struct cpu_counts *cpu;
	size_t cpus, cpus_room;
	uint64_t limit; /* of drop series */
};

/* drops.c */
int metrics_add_drops(struct metrics *metrics, const struct metrics_snapshot *snapshot);
void metrics_write_drops(struct metrics_text *text, const struct metrics *metrics);

/* devices.c */
int metrics_add_napi(struct metrics *metrics, const struct metrics_snapshot *snapshot);
int metrics_add_slots(struct metrics *metrics, const struct metrics_snapshot *snapshot);
int metrics_add_traffic(struct metrics *metrics, const struct metrics_snapshot *snapshot);
void metrics_write_traffic(struct metrics_text *text, const struct metrics *metrics);
void metrics_write_napi(struct metrics_text *text, const struct metrics *metrics);
void metrics_write_slots(struct metrics_text *text, const struct metrics *metrics);

/* latency.c */
int kinds_new(struct kinds **kinds);
void kinds_free(struct kinds **kinds);
int kinds_update(struct kinds *kinds, const struct metrics_snapshot *snapshot);
void metrics_write_latency(struct metrics_text *text, const struct metrics *metrics);

/* cpus.c */
int metrics_update_cpus(struct metrics *metrics);
void metrics_write_cpus(struct metrics_text *text, const struct metrics *metrics,
			const struct metrics_snapshot *snapshot);

/* ledger.c */
void metrics_write_ledger(struct metrics_text *text, const struct metrics_snapshot *snapshot);

/* self.c */
void metrics_write_self(struct metrics_text *text, const struct metrics_snapshot *snapshot);

#endif
