/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The programs of alerts.  A program reads the alert as JSON from its standard input.  It runs as an
 * unprivileged user, without capabilities and unable to gain any, in a session of its own, in /, with no
 * file of the daemon open.  At its time limit, it is killed with its process group.  Its output is logged,
 * up to EXEC_LINES_MAX lines and EXEC_OUTPUT_MAX bytes.
 *
 * Nothing here blocks: the event loop starts, reads and reaps programs.  Each rule runs one program at a
 * time, in the order of the requests, and all rules together EXEC_RUNNING_MAX.  Up to EXEC_WAITING_MAX
 * requests wait; more are refused.
 */
#ifndef DAEMON_ALERT_EXEC_H
#define DAEMON_ALERT_EXEC_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/alert/engine.h"

#define EXEC_RUNNING_MAX 4
#define EXEC_WAITING_MAX 64
#define EXEC_OUTPUT_MAX 4096 /* bytes of output kept; the rest is only counted */
#define EXEC_LINES_MAX 32    /* lines of output logged */

struct alert_exec;
struct helper;
struct loop;

/*
 * Called when a program ended.  `name` is its rule, which may no longer exist; `data` is that of
 * alert_exec_run(), or NULL after alert_exec_forget().
 */
typedef void (*alert_exec_ended)(void *userdata, const char *name,
				 const struct alert_exec_result *result, void *data);

/*
 * `helper`, of exec_child_helper(), starts the programs and must outlive this.  To kill programs of another user, the
 * daemon needs CAP_KILL.  Returns 0 or -ENOMEM.  Free it before the loop; programs that still run are then killed.
 */
int alert_exec_new(struct alert_exec **exec, struct loop *loop, struct helper *helper,
		   alert_exec_ended ended, void *userdata);
void alert_exec_free(struct alert_exec **exec);

/*
 * Run the rule's program with `json` on its standard input, as soon as it is its turn.  If this returns 0,
 * `ended` is called exactly once, later.  -EBUSY: EXEC_WAITING_MAX programs wait already; -ENOMEM, or
 * another negative errno.
 */
int alert_exec_run(struct alert_exec *exec, const struct alert_rule *rule, const char *json,
		   void *data);

/* Log nothing: the text of a failure is then the first line that the program printed, if there is one. */
void alert_exec_set_quiet(struct alert_exec *exec);

/* Pass NULL instead of `data` to `ended` from now on, because the caller is about to free it. */
void alert_exec_forget(struct alert_exec *exec, const void *data);

#endif
