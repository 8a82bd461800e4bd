/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What went wrong, as a plain sentence on the standard error, and as an exit status. */
#ifndef CLI_ASK_REPORT_H
#define CLI_ASK_REPORT_H

#include "cli/ask/varlink.h"

enum report_status {
	REPORT_FINE = 0,
	REPORT_FAILED = 1,
	REPORT_USAGE = 2,	/* the command line is wrong, or names what does not exist */
	REPORT_UNREACHABLE = 3, /* no daemon to ask */
};

/* "netflowctl: …", one line; unprintable characters are escaped. */
void report(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Say that `path` could not be connected to, for `error`, a negative errno. */
enum report_status report_connect(const char *path, int error);

/*
 * Say how the call of `method` failed: `error` is what varlink_call() or
 * varlink_next() returned.
 */
enum report_status report_call(const struct varlink *varlink, const char *method, int error);

#endif
