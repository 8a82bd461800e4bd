/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An alert as Alertmanager's API v2 takes it (postableAlert). */
#ifndef DAEMON_ALERT_ALERTMANAGER_JSON_H
#define DAEMON_ALERT_ALERTMANAGER_JSON_H

#include <stdint.h>

#include <jansson.h>

struct alert;

/*
 * The labels, which identify the alert, come from its rule and its host only, so that they are the same when it is
 * resolved: alertname, severity, condition, instance, job, and what the rule is about.  The annotations are the reading
 * in words, and what `netflowctl explain` says.  `ended_ns`: when it was resolved; 0: it fires.  The caller owns the
 * result; NULL if memory runs out.
 */
json_t *alertmanager_alert(const struct alert *alert, uint64_t ended_ns);

/* The same alert as a test: it starts at `now_ns`, and the label test="true" makes it an alert of its own. */
json_t *alertmanager_test_alert(const struct alert *alert, uint64_t now_ns);

/* Set the time, of CLOCK_MONOTONIC, at which the alert ends or ended. */
void alertmanager_set_end(json_t *alert, uint64_t time_ns);

#endif
