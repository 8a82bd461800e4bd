/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Alerts as structured entries of the system journal:
 *
 *   MESSAGE_ID           ALERT_JOURNAL_FIRED (also of repeats and tests) or ALERT_JOURNAL_RESOLVED
 *   MESSAGE              what happened, one line
 *   PRIORITY             2 critical, 4 warning, 6 info; 5 resolved
 *   NETFLOWD_ALERT       the rule's name
 *   NETFLOWD_CHANGE      fired, repeated, resolved
 *   NETFLOWD_SEVERITY    critical, warning, info
 *   NETFLOWD_CONDITION   the condition: drop_rate, …
 *   NETFLOWD_VALUE       the value: a count, a number per second, or ns; absent if it is not known
 *   NETFLOWD_BOUND       the threshold `over`, in the unit of the value
 *   NETFLOWD_COUNT       events, or packets, in the window; absent if the value is not known
 *   NETFLOWD_CAUSE       likely cause
 *   NETFLOWD_REMEDY      remedy
 *   NETFLOWD_EVENT       the whole event with the newest records, as JSON of type AlertEvent (interface)
 *   NETFLOWD_TEST        1: made by `netflowctl alerts test`
 */
#ifndef DAEMON_ALERT_JOURNAL_H
#define DAEMON_ALERT_JOURNAL_H

#include "daemon/alert/engine.h"

#define ALERT_JOURNAL_FIRED "96a51bc4d28446abf3f1f556d38a9b0a"
#define ALERT_JOURNAL_RESOLVED "134e662124490ad7e5cd8689a87e97d5"

/*
 * Send an event to the journal; `json` is the event as JSON.  Returns 0; 1 if there is no journal; or the
 * negative errno with which the journal refused the entry.  Unless it returns 0, the message alone is in
 * the log of netflowd.
 */
int alert_journal_send(const struct alert_event *event, const char *json);

#endif
