/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which questions the sources can answer, and why not the others. */
#ifndef DAEMON_SOURCES_COVERAGE_H
#define DAEMON_SOURCES_COVERAGE_H

#include <jansson.h>

#include "daemon/core/coverage.h"

struct reading;
struct sources;

/*
 * What can be answered now; the caller clears it.  `counters` is a reading with counters, NULL: the newest one.
 * -ENOMEM, and it is empty.
 */
int coverage_find(const struct sources *sources, const struct reading *counters,
		  struct coverage *coverage);

/* An array of type Coverage, which the caller owns; NULL if memory runs out. */
json_t *coverage_json(const struct coverage *coverage);

#endif
