/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the daemon counts, as alert rules are judged by it (daemon/alert/source.h). */
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
 * `source` reads the backend from now on; all arguments must live as long as it.
 * `reason` is why it is this backend, `disabled` the probes that are not wanted
 * (NF_PROBE_COUNT of them); `rockets` are those of the kernel's log, NULL where it
 * is not read; `names` and
 * `symbols` are the kernel's.  -ENOMEM.  Free with alert_source_free.
 */
int alert_source_new(struct alert_input_state **state, struct alert_source *source,
		     const struct backend *backend, const char *reason, const bool *disabled,
		     const struct rockets *rockets, const struct names *names,
		     const struct symbols *symbols);
void alert_source_free(struct alert_input_state **state);

#endif
