/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drops that the probes do not see, in GetDrops, GetStatus and coverage. */
#ifndef DAEMON_CONTROL_ELSEWHERE_H
#define DAEMON_CONTROL_ELSEWHERE_H

#include <jansson.h>

#include "daemon/elsewhere/elsewhere.h"

struct control;
struct filter;

/* Type Elsewhere: the counters that the filter selects; NULL if none was read yet, or if memory runs out. */
json_t *control_elsewhere(const struct control *control, const struct filter *filter);

/* Type ElsewhereScan; NULL if memory runs out. */
json_t *control_elsewhere_scan(const struct control *control);

/*
 * Write to `reason` why packets bypass the probes of a question of coverage on this host.  Returns false, with `reason`
 * as it was, if none do as far as is known.
 */
bool control_bypassed(const struct control *control, const char *question,
		      char reason[static ELSEWHERE_REASON_MAX]);

/*
 * Whether netflowd can read the kernel's other counters of drops; if it cannot, or not all of them, `reason` says why,
 * otherwise it is empty.
 */
bool control_elsewhere_reason(const struct control *control,
			      char reason[static ELSEWHERE_REASON_MAX]);

#endif
