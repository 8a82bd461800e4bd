/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file of JSON lines for log shippers, see docs/export.md.  A thread is a client of the daemon's own socket: it gets
 * what every other client gets, within the same limits, and waits for the disk.
 */
#ifndef DAEMON_EXPORT_LINES_H
#define DAEMON_EXPORT_LINES_H

#include <limits.h>
#include <stdint.h>

struct lines;
struct loop;

/* See the settings of section export. */
struct lines_settings {
	char path[PATH_MAX]; /* empty: no file */
	uint64_t interval_ns;
	uint64_t bytes; /* of the file, before it becomes PATH.1 */
};

struct lines_stats {
	uint64_t written, errors; /* intervals */
};

/* `socket_path` must outlive it.  -ENOMEM or another negative errno.  Free it before the owner of the socket. */
int lines_new(struct lines **lines, struct loop *loop, const char *socket_path);
void lines_free(struct lines **lines);

/* 0 or a negative errno. */
int lines_set(struct lines *lines, const struct lines_settings *settings);

struct lines_stats lines_stats(const struct lines *lines);

#endif
