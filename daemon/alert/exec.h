/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs that alerts run.  Each gets the alert as JSON on its standard input
 * and runs as an unprivileged user, without capabilities and without a way to
 * new ones, in a session of its own, in /, with no file of the daemon open.  It
 * is killed, with its process group, when its time is over.  What it prints is
 * logged, so much of it.
 *
 * Nothing here waits: programs are started, read and reaped by the loop.  Of
 * one rule only one program runs at a time, and they run in the order in which
 * they were asked for; of all rules, EXEC_RUNNING_MAX.  The others wait; beyond
 * EXEC_WAITING_MAX they are refused.
 */
#ifndef DAEMON_ALERT_EXEC_H
#define DAEMON_ALERT_EXEC_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/alert/engine.h"

#define EXEC_RUNNING_MAX 4
#define EXEC_WAITING_MAX 64
#define EXEC_OUTPUT_MAX 4096 /* bytes kept; the rest is read and counted */
#define EXEC_LINES_MAX 32    /* of them logged */

struct alert_exec;
struct loop;

/*
 * How a program ended: its rule by name, which may be gone.  `data` as given to
 * alert_exec_run(), or NULL after alert_exec_forget().
 */
typedef void (*alert_exec_ended)(void *userdata, const char *name,
				 const struct alert_exec_result *result, void *data);

/*
 * `user` runs the programs when the daemon is root (which takes CAP_SETUID,
 * CAP_SETGID and, to kill them, CAP_KILL), else the daemon's own user does.
 * -ENOENT: there is no such user; -ENOMEM.  Free before the loop; what
 * runs then is killed.
 */
int alert_exec_new(struct alert_exec **exec, struct loop *loop, const char *user,
		   alert_exec_ended ended, void *userdata);
void alert_exec_free(struct alert_exec **exec);

/*
 * Run the rule's program with `json` on its standard input, now or when its
 * turn comes.  `ended` is called once for each 0, never before this returns.
 * -EBUSY: too many wait already; -ENOMEM, or another negative errno.
 */
int alert_exec_run(struct alert_exec *exec, const struct alert_rule *rule, const char *json,
		   void *data);

/* Whoever gave `data` to alert_exec_run() wants to hear no more of it. */
void alert_exec_forget(struct alert_exec *exec, const void *data);

#endif
