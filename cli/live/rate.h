/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rates of counters that are read twice. */
#ifndef CLI_LIVE_RATE_H
#define CLI_LIVE_RATE_H

#include <stdint.h>

#include "common/units.h"

/* The rate of a counter without an earlier reading.  Every rate below 0 is unknown. */
#define RATE_UNKNOWN (-1.0)

/*
 * Events per second between two values of a counter.  A value below `before` means that the counter was reset, so all
 * of `now` is new.  RATE_UNKNOWN if `seconds` is not above 0.
 */
double rate_between(uint64_t before, uint64_t now, double seconds);

/* "123 k/s"; "-" if the rate is not known. */
struct units_text rate_text(double per_second);

#endif
