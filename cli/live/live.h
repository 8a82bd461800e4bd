/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The live view: takes a reading per interval and draws it, until it is quit. */
#ifndef CLI_LIVE_LIVE_H
#define CLI_LIVE_LIVE_H

#include "cli/ask/session.h"

/*
 * Draw on the whole terminal; or, with --count or without a terminal, print one
 * frame per interval below the other.  --interval must be given, --dev may be.
 * Ends at the key q, after --count frames, or on SIGINT, SIGTERM, SIGHUP or
 * SIGQUIT.  A failure is reported.
 */
enum report_status live_run(struct session *session);

#endif
