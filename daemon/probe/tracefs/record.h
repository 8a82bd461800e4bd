/* SPDX-License-Identifier: GPL-2.0-or-later */
/* netflowd --record: the trace events of the packet path, from now until a signal, in a file for any other host. */
#ifndef DAEMON_PROBE_TRACEFS_RECORD_H
#define DAEMON_PROBE_TRACEFS_RECORD_H

#include <stdint.h>

#include "daemon/probe/exclusion.h"
#include "daemon/probe/tracefs/refusal.h"

/* Limits of the ring buffer of each CPU. */
#define RECORD_BUFFER_MIN_KIB 64
#define RECORD_BUFFER_MAX_KIB (1 << 20)

/*
 * Record into the file `path` until SIGINT, SIGTERM or SIGHUP, which stay blocked.  `buffer_kib` is the size of the
 * ring buffer of each CPU, 0: the default of instance.h.  Devices of `excluded` are not recorded.  Prints a line when
 * the recording has begun, and two about what is in it at the end; logs what is missing in it.
 *
 * The file appears when it is complete, and replaces an older one then.  Its mode is 0600.
 *
 * Returns 0, or a negative errno, and `error` (REFUSAL_MAX bytes) is what happened, why, and what to do.
 */
int record(const char *path, uint64_t buffer_kib, const struct exclusion *excluded, char *error);

#endif
