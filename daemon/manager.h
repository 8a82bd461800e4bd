/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon as the service manager and the journal see it: ready, its status line, reloading, watchdog pings, and one
 * journal entry for each change of state.  Without a manager, only the journal entries remain, as lines of the log.
 */
#ifndef DAEMON_MANAGER_H
#define DAEMON_MANAGER_H

#include "common/cleanup.h"

struct backend;
struct control;
struct control_reloaded;
struct loop;
struct pause;
struct manager;
struct readings;

/* The status line is brought up to date at this interval, if it changed. */
#define MANAGER_STATUS_NS 10000000000ULL

/* A change of coverage is logged at most once in this time; what it became in the end is always logged. */
#define MANAGER_COVERAGE_NS 60000000000ULL

/* The caller owns all of these, and they must outlive the manager. */
struct manager_parts {
	struct loop *loop;
	struct backend *backend;
	const char *backend_reason; /* why this backend runs */
	struct readings *readings;
	const struct pause *pause;
	struct control *control;
	const char *socket_path;
};

/* 0 or a negative errno.  Free with manager_free. */
int manager_new(struct manager **manager, const struct manager_parts *parts);
/* NULL-safe; sets *manager to NULL. */
void manager_free(struct manager **manager);
#define OWN_MANAGER CLEANUP(manager_free)

/* The daemon serves: READY=1.  Pings of the watchdog begin. */
int manager_ready(struct manager *manager);

/* A probe was attached or lost. */
void manager_probes_changed(struct manager *manager);

/* The daemon begins to read its settings again (RELOADING=1), and has done so (READY=1). */
void manager_reloading(struct manager *manager);
void manager_reloaded(struct manager *manager, const struct control_reloaded *reloaded);

/* The backend's housekeeping ran.  NULL-safe. */
void manager_housekept(struct manager *manager);

#endif
