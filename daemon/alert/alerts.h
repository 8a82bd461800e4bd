/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon's alerts: the engine, what it reads, the programs that it runs,
 * and when: a timer judges the rules, SIGHUP reads them again.
 */
#ifndef DAEMON_ALERT_ALERTS_H
#define DAEMON_ALERT_ALERTS_H

#include <stdbool.h>
#include <stdint.h>

struct alert_engine;
struct alert_exec;
struct alerts;
struct backend;
struct control;
struct loop;
struct names;
struct rockets;
struct symbols;

/* All but the control are the caller's and must outlive the alerts. */
struct alerts_parts {
	struct loop *loop;
	const struct backend *backend;
	const char *backend_reason;
	const struct names *names;
	const struct symbols *symbols;
	const bool *disabled;	       /* probes, NF_PROBE_COUNT of them */
	const struct rockets *rockets; /* of the kernel's log, NULL where it is not read */
	const char *directory;
	const char *exec_user;
	uint64_t interval_ns;
};

/* Nothing is read or judged yet.  Says what failed.  A negative errno; free with alerts_free. */
int alerts_new(struct alerts **alerts, const struct alerts_parts *parts);

/* Free what tells of them, `control`, before. */
void alerts_free(struct alerts **alerts);

struct alert_engine *alerts_engine(const struct alerts *alerts);
struct alert_exec *alerts_exec(const struct alerts *alerts);

/* Read the rules and begin; changes go to `control`.  Says what failed. */
int alerts_start(struct alerts *alerts, struct control *control);

#endif
