/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Errors: one sentence on the standard error, and an exit status. */
#ifndef CLI_ASK_REPORT_H
#define CLI_ASK_REPORT_H

#include "common/varlink.h"

enum report_status {
	REPORT_FINE = 0,
	REPORT_FAILED = 1,
	REPORT_USAGE = 2,	/* the command line is wrong, or names something unknown */
	REPORT_UNREACHABLE = 3, /* there is no daemon to ask, or it did not reply */
};

/* Print "netflowctl: …" as one line, with unprintable characters escaped. */
void report(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Report that connecting to `path` failed with `error`, a negative errno. */
enum report_status report_connect(const char *path, int error);

/*
 * Report that a call of `method` failed with `error`, which varlink_call() or
 * varlink_next() returned.
 */
enum report_status report_call(const struct varlink *varlink, const char *method, int error);

#endif
