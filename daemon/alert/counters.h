/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The counters of the daemon and of the host as the source of alert rules (source.h). */
#ifndef DAEMON_ALERT_COUNTERS_H
#define DAEMON_ALERT_COUNTERS_H

#include <stdbool.h>

#include "daemon/alert/source.h"

struct alert_input_state;
struct backend;
struct names;
struct rockets;
struct symbols;

/*
 * Fill `source`, which reads the backend; all arguments must live as long as the source.  `reason` says
 * why this backend runs.  `disabled` has NF_PROBE_COUNT elements, true for a probe that the settings
 * disable.  `rockets` are those of the kernel's log, NULL if the log is not read.  `names` and `symbols`
 * are the kernel's.  -ENOMEM.  Free with alert_source_free.
 */
int alert_source_new(struct alert_input_state **state, struct alert_source *source,
		     const struct backend *backend, const char *reason, const bool *disabled,
		     const struct rockets *rockets, const struct names *names,
		     const struct symbols *symbols);
void alert_source_free(struct alert_input_state **state);

#endif
