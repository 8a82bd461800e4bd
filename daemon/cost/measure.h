/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cost of the programs, measured with the kernel's program statistics, which
 * are switched on only during a measurement.
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
	struct probe_runs probe[NF_PROBE_COUNT]; /* ns: without the reading of the clock */
};

/* Called once at the end of the measurement; `measured` is valid during the call. */
typedef void (*measure_done)(const struct measured *measured, void *userdata);

int measurer_new(struct measurer **measurer, struct loop *loop, struct backend *backend);
/* NULL-safe.  Free its measurements first. */
void measurer_free(struct measurer **measurer);

/*
 * Measure for `ms` milliseconds (1 to MEASURE_MS_MAX).  Several measurements can
 * run at the same time.  Free the measurement with measurement_free(), in `done`
 * or before it.  Without a backend this fails with -EOPNOTSUPP.
 */
int measurement_start(struct measurement **measurement, struct measurer *measurer, uint64_t ms,
		      measure_done done, void *userdata);
void measurement_free(struct measurement **measurement);

#endif
