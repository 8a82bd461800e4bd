/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ring slots of the correlator, as a backend reports them. */
#ifndef DAEMON_PROBE_EVENTS_SLOTS_H
#define DAEMON_PROBE_EVENTS_SLOTS_H

#include "daemon/probe/events/backend_events.h"

/* What trace events do not show of ring slots, from `known` and from what was not counted; NULL: the probe is off. */
const char *events_slots_blind(const struct backend_events *events, const char *known);

#endif
