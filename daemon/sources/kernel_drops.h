/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drops that the probes do not see, in GetDrops, GetStatus and coverage. */
#ifndef DAEMON_SOURCES_KERNEL_DROPS_H
#define DAEMON_SOURCES_KERNEL_DROPS_H

#include <jansson.h>

#include "daemon/elsewhere/elsewhere.h"

struct sources;
struct filter;

/* Type Elsewhere: the counters that the filter selects; NULL if none was read yet, or if memory runs out. */
json_t *kernel_drops_json(const struct sources *sources, const struct filter *filter);

/* Type ElsewhereScan; NULL if memory runs out. */
json_t *kernel_drops_scan_json(const struct sources *sources);

/*
 * Write to `reason` why packets bypass the probes of a question of coverage on this host.  Returns false, with `reason`
 * as it was, if none do as far as is known.
 */
bool kernel_drops_bypassed(const struct sources *sources, const char *question,
			   char reason[static ELSEWHERE_REASON_MAX]);

/*
 * Whether netflowd can read the kernel's other counters of drops; if it cannot, or not all of them, `reason` says why,
 * otherwise it is empty.
 */
bool kernel_drops_reason(const struct sources *sources, char reason[static ELSEWHERE_REASON_MAX]);

#endif
