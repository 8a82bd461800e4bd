/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gives the metrics to other programs: over HTTP, and as a file for node_exporter.
 *
 * A request asks for readings of the counters, which all users share.  The loop then resolves names into a snapshot,
 * and a thread formats it and writes files: neither waits for a disk or a client, nor keeps the loop from its records.
 */
#ifndef DAEMON_EXPORT_EXPORTER_H
#define DAEMON_EXPORT_EXPORTER_H

#include <limits.h>
#include <stdint.h>

#include "daemon/http/address.h"
#include "daemon/metrics/metrics.h"
#include "daemon/metrics/snapshot.h"

struct exporter;
struct loop;
struct readings;

#define EXPORTER_PATH "/metrics"
#define EXPORTER_SOCKET "metrics.sock"
/* A text that is younger answers further requests. */
#define EXPORTER_FRESH_NS UINT64_C(250000000)
/* The walk of the in-flight table costs more than all other readings, so this one may be older. */
#define EXPORTER_LEDGER_NS UINT64_C(10000000000)

/* See the settings of section metrics. */
struct exporter_settings {
	char listen[256];
	uint64_t connections;
	uint64_t timeout_ns;
	struct metrics_limits limits;
	char textfile[PATH_MAX]; /* empty: none */
	uint64_t interval_ns;	 /* of the file */
};

/* The caller owns all of these, and they must outlive the exporter. */
struct exporter_parts {
	struct loop *loop;
	struct readings *readings;
	const char *runtime_dir; /* of the socket */
	uint64_t started_ns;	 /* CLOCK_MONOTONIC */
	/* Fill in all but the readings and the exports, in the loop.  0 or -ENOMEM. */
	int (*fill)(struct metrics_snapshot *snapshot, void *userdata);
	void *userdata;
};

/*
 * Listen and serve, if the settings say so.  Logs the cause of a failure.  Returns 0 or a negative errno.  Free with
 * exporter_free, before the loop and the readings.
 */
int exporter_new(struct exporter **exporter, const struct exporter_parts *parts,
		 const struct exporter_settings *settings);
void exporter_free(struct exporter **exporter);
#define OWN_EXPORTER CLEANUP(exporter_free)

/* New values of all settings but `listen` and `connections`.  0 or a negative errno. */
int exporter_set(struct exporter *exporter, const struct exporter_settings *settings);

#endif
