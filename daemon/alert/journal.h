/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Alerts in the system's journal, as structured entries:
 *
 *   MESSAGE_ID           ALERT_JOURNAL_FIRED (also of repeats and tests) or ALERT_JOURNAL_RESOLVED
 *   MESSAGE              what happened, one line
 *   PRIORITY             2 critical, 4 warning, 6 info; 5 resolved
 *   NETFLOWD_ALERT       the rule's name
 *   NETFLOWD_CHANGE      fired, repeated, resolved
 *   NETFLOWD_SEVERITY    critical, warning, info
 *   NETFLOWD_CONDITION   the kind of condition: drop_rate, …
 *   NETFLOWD_VALUE       the value in its unit: a count, a number per second, or ns; absent when
 *   NETFLOWD_BOUND       not known
 *   NETFLOWD_COUNT       events, or packets, in the window
 *   NETFLOWD_CAUSE       likely cause
 *   NETFLOWD_REMEDY      what to do
 *   NETFLOWD_EVENT       all of it with the newest records, JSON: type AlertEvent of the interface
 *   NETFLOWD_TEST        1: made by `netflowctl alerts test`
 */
#ifndef DAEMON_ALERT_JOURNAL_H
#define DAEMON_ALERT_JOURNAL_H

#include "daemon/alert/engine.h"

#define ALERT_JOURNAL_FIRED "96a51bc4d28446abf3f1f556d38a9b0a"
#define ALERT_JOURNAL_RESOLVED "134e662124490ad7e5cd8689a87e97d5"

/*
 * To the journal; where there is none, the message alone to the daemon's own
 * log, and 1 is returned.  `json` is the event's.  0, or the negative errno of a journal that did
 * not take it.
 */
int alert_journal_send(const struct alert_event *event, const char *json);

#endif
