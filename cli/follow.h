/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drop records as they happen: the Monitor stream, until it is interrupted. */
#ifndef CLI_FOLLOW_H
#define CLI_FOLLOW_H

#include "cli/session.h"

/*
 * Print records until SIGINT, SIGTERM or SIGHUP, or until --limit of them were
 * printed: that is fine.  The daemon ending the stream is not, and is reported.
 */
enum report_status follow_drops(struct session *session);

#endif
