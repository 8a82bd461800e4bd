/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The counters of the daemon and of the host as the source of alert rules (source.h). */
#ifndef DAEMON_ALERT_COUNTERS_H
#define DAEMON_ALERT_COUNTERS_H

#include "daemon/alert/source.h"

struct alert_input_state;
struct alerts_parts;

/* Fill `source`, which from now on reads the counters of these parts.  -ENOMEM.  Free with alert_source_free. */
int alert_source_new(struct alert_input_state **state, struct alert_source *source,
		     const struct alerts_parts *parts);
void alert_source_free(struct alert_input_state **state);

#endif
