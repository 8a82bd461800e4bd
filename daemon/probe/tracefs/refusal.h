/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Errors of a recording, as texts for people: what happened, why, what to do. */
#ifndef DAEMON_PROBE_TRACEFS_REFUSAL_H
#define DAEMON_PROBE_TRACEFS_REFUSAL_H

#define REFUSAL_MAX 1024

/* Write the text to `error` (REFUSAL_MAX bytes) and return `r`, a negative errno. */
int refusal(char *error, int r, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
