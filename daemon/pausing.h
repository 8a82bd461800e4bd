/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the journal says of a pause (daemon/cost/pause.h). */
#ifndef DAEMON_PAUSING_H
#define DAEMON_PAUSING_H

#include "daemon/cost/pause.h"

void pausing_report(enum pause_event event, const struct pause_state *state, const char *text);

#endif
