/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CLOCK_MONOTONIC inside, the host's time of day outside. */
#ifndef COMMON_TIME_H
#define COMMON_TIME_H

#include <stdint.h>

#define TIME_NS_PER_SECOND 1000000000ULL

/* "2026-11-21T09:30:00.123456789+01:00" and the 0 at its end. */
#define TIME_TEXT_MAX 36

/* CLOCK_MONOTONIC, ns. */
uint64_t time_monotonic(void);

/* CLOCK_MONOTONIC, ms, signed because deadlines are subtracted from it. */
int64_t time_monotonic_ms(void);

/*
 * A moment of CLOCK_MONOTONIC as RFC 3339 with nanoseconds, in local time with
 * its offset.  A step of the host's clock between then and now counts as if it
 * had been before.
 */
void time_format(uint64_t monotonic_ns, char text[static TIME_TEXT_MAX]);

#endif
