/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the programs cost: the kernel's program statistics, switched on for a
 * moment while someone asks, and off otherwise.
 */
#ifndef DAEMON_COST_MEASURE_H
#define DAEMON_COST_MEASURE_H

#include <stdint.h>

#include "daemon/probe/backend.h"

#define MEASURE_MS_MAX 10000

struct loop;
struct measurement;
struct measurer;

struct measured {
	uint64_t elapsed_ns;
	struct probe_runs probe[NF_PROBE_COUNT]; /* ns: the reading of the clock taken off */
};

/* Called once when the time is up; `measured` is valid during the call. */
typedef void (*measure_done)(const struct measured *measured, void *userdata);

int measurer_new(struct measurer **measurer, struct loop *loop, struct backend *backend);
/* Any measurement still under way ends unheard. */
void measurer_free(struct measurer **measurer);

/*
 * Measure for `ms` (1 … MEASURE_MS_MAX).  Several may run at once.  Free it in
 * `done` or before, with measurement_free.  -EOPNOTSUPP without a backend.
 */
int measurement_start(struct measurement **measurement, struct measurer *measurer, uint64_t ms,
		      measure_done done, void *userdata);
void measurement_free(struct measurement **measurement);

#endif
