/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon's program, started by a command for work that needs no daemon: netflowctl links no library of the kernel's
 * tracing.
 */
#ifndef CLI_ASK_NETFLOWD_H
#define CLI_ASK_NETFLOWD_H

#include <stdbool.h>

#include "cli/ask/report.h"
#include "common/cleanup.h"

struct netflowd;

/*
 * Start netflowd with these arguments, NULL at the end, without its own name.  It is the program in $NETFLOWD;
 * otherwise the one beside netflowctl, in $PATH, in /usr/sbin or in /usr/local/sbin.  It gets SIGTERM if netflowctl
 * ends first.  Its standard error is that of netflowctl.  A failure is reported.
 */
enum report_status netflowd_start(struct netflowd **netflowd, const char *const arguments[]);

/* End the program if it still runs, and wait for it. */
void netflowd_free(struct netflowd **netflowd);
#define OWN_NETFLOWD CLEANUP(netflowd_free)

/* A non-blocking descriptor that is readable when there is more of the program's standard output; not the caller's. */
int netflowd_output(const struct netflowd *netflowd);

/*
 * The next line of the program's standard output, without its end; valid until the next call.  NULL: there is no whole
 * line yet, or none will come, and *ended is true.
 */
const char *netflowd_line(struct netflowd *netflowd, bool *ended);

/* Ask the program to end, with SIGTERM. */
void netflowd_end(const struct netflowd *netflowd);

/* Wait for the end of the program.  Returns its exit status, or 128 and the number of the signal that ended it. */
int netflowd_wait(struct netflowd *netflowd);

#endif
