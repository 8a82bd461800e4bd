/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Alerts for Alertmanager (API v2).
 *
 * Alertmanager wants to know the state of each alert, again and again: an alert that it does not hear of for a while is
 * resolved.  So there is no queue of messages that could grow: each request has all alerts that fire, and those that
 * were resolved since the last one that Alertmanager accepted.  A failed request is simply tried again with the state
 * of that time, later and later, up to the interval of the repeats.
 *
 * The program netflowd-post sends the request.  It runs as the programs of alerts do (exec.h): without privileges, with
 * a time limit, one at a time.  So no byte from the network reaches the daemon, and the daemon never waits.
 *
 * A silenced alert is not posted, as it is not reported otherwise.
 */
#ifndef DAEMON_ALERT_ALERTMANAGER_H
#define DAEMON_ALERT_ALERTMANAGER_H

#include <stdint.h>

#include "common/time.h"
#include "daemon/alert/engine.h"

struct alertmanager;
struct alert_exec_result;
struct helper;
struct loop;

#define ALERTMANAGER_URL_MAX 512
/* Resolved alerts that wait for Alertmanager; beyond it the oldest is forgotten, and ends there by its time limit. */
#define ALERTMANAGER_RESOLVED_MAX 1024
/*
 * A test ends there after this time: Alertmanager notifies after its group_wait (30 s), and of further alerts of a
 * group after its group_interval (5 min).
 */
#define ALERTMANAGER_TEST_NS (600 * TIME_NS_PER_SECOND)
/* Alertmanager resolves an alert that is not repeated for this many intervals. */
#define ALERTMANAGER_LIFE 4

struct alertmanager_settings {
	char url[ALERTMANAGER_URL_MAX]; /* of the server, without /api/v2; empty: none */
	uint64_t repeat_ns, timeout_ns;
};

struct alertmanager_stats {
	uint64_t posts, failures;
	uint64_t pending; /* alerts whose newest state was not accepted yet */
};

/* A test has ended; `data` is that of alertmanager_test(). */
typedef void alertmanager_tested(void *userdata, void *data,
				 const struct alert_exec_result *result);

/* The engine, the loop and the helper must outlive it.  -ENOMEM, or another negative errno. */
int alertmanager_new(struct alertmanager **alertmanager, struct loop *loop, struct helper *helper,
		     const struct alert_engine *engine, alertmanager_tested *tested,
		     void *userdata);
void alertmanager_free(struct alertmanager **alertmanager);

/* From now on, post to this server; all alerts that fire are posted to a new one.  0 or a negative errno. */
int alertmanager_set(struct alertmanager *alertmanager,
		     const struct alertmanager_settings *settings);

/* An alert changed.  Logs a failure. */
void alertmanager_event(struct alertmanager *alertmanager, const struct alert_event *event);

/*
 * Post this alert once as if it fired now, with the label test="true".  1: `tested` is called with `data`, later; 0: no
 * server is set; or a negative errno.
 */
int alertmanager_test(struct alertmanager *alertmanager, const struct alert *alert, void *data);
/* Do not call `tested` for this `data`. */
void alertmanager_forget(struct alertmanager *alertmanager, const void *data);

struct alertmanager_stats alertmanager_stats(const struct alertmanager *alertmanager);

#endif
