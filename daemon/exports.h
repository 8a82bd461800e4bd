/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The exports with their sources: what each metric shows comes from the part of the daemon that owns it. */
#ifndef DAEMON_EXPORTS_H
#define DAEMON_EXPORTS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/export/exporter.h"
#include "daemon/export/lines.h"

struct alerts;
struct attribution;
struct backend;
struct control;
struct governor;
struct exports;
struct elsewhere;
struct history;
struct pause;
struct records;
struct rockets;

/* The caller owns all of these, and they must outlive the exports. */
struct exports_parts {
	struct loop *loop;
	struct backend *backend;
	struct readings *readings;
	struct records *records;	 /* resolves the causes of drops */
	struct attribution *attribution; /* names network namespaces */
	const struct rockets *rockets;	 /* NULL: netflowd does not read the kernel's log */
	const struct alerts *alerts;
	const struct governor *governor;
	const struct control *control;
	const struct pause *pause;
	const struct history *history;
	const struct elsewhere *elsewhere;
	const bool *reload_refused; /* whether the last reload was */
	const char *runtime_dir, *socket_path;
	uint64_t started_ns; /* CLOCK_MONOTONIC */
};

/* Logs the cause of a failure.  Returns 0 or a negative errno.  Free with exports_free, before the parts. */
int exports_new(struct exports **exports, const struct exports_parts *parts,
		const struct exporter_settings *settings, const struct lines_settings *lines);
void exports_free(struct exports **exports);

/* New values of the settings that can change without a restart. */
void exports_set(struct exports *exports, const struct exporter_settings *settings,
		 const struct lines_settings *lines);

#endif
