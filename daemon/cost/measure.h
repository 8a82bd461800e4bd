/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cost of the programs, measured with the kernel's program statistics, which
 * are switched on only during a measurement.
 */
#ifndef DAEMON_COST_MEASURE_H
#define DAEMON_COST_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/probe/backend.h"

#define MEASURE_MS_MAX 10000

struct loop;
struct measurement;
struct measurer;

struct measured {
	uint64_t elapsed_ns;
	uint64_t age_ns;			 /* how long ago it ended; 0: just now */
	struct probe_runs probe[NF_PROBE_COUNT]; /* ns: without the reading of the clock */
};

/* Called once at the end of the measurement; `measured` is valid during the call. */
typedef void (*measure_done)(const struct measured *measured, void *userdata);

int measurer_new(struct measurer **measurer, struct loop *loop, struct backend *backend);
/* NULL-safe.  Free its measurements first. */
void measurer_free(struct measurer **measurer);

/*
 * The statistics slow down every BPF program of the host, so users other than root share one measurement at a time, of
 * at most 1 s, and get its result again for 9 times as long: at most a tenth of the time.  Returns true while that time
 * lasts, with the result.
 */
bool measurer_recent(const struct measurer *measurer, uint64_t now, struct measured *recent);

/*
 * Measure for `ms` milliseconds (1 to MEASURE_MS_MAX).  `shared`: join the
 * measurement of other users, or begin it, see measurer_recent().  Several others
 * can run at the same time.  Free the measurement with measurement_free(), in `done`
 * or before it.  Without a backend this fails with -EOPNOTSUPP.
 */
int measurement_start(struct measurement **measurement, struct measurer *measurer, uint64_t ms,
		      bool shared, measure_done done, void *userdata);
void measurement_free(struct measurement **measurement);

#endif
