/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an alert says, in sentences. */
#ifndef DAEMON_ALERT_TEXT_H
#define DAEMON_ALERT_TEXT_H

#include "daemon/alert/engine.h"

#define ALERT_TEXT_MAX 1536

/* "42.0/s", "5.00 ms", "3": a value in its kind's unit. */
struct units_text alert_text_value(const struct alert_rule *rule, double value);

/* What is watched: "dropped packets on device eth0 with protocol ipv4/udp". */
void alert_text_subject(const struct alert_rule *rule, char text[static ALERT_TEXT_MAX]);

/* What `reading` says of the rule: "42.0/s dropped packets on device eth0 over 10.0 s,
 * bound 10.0/s". */
void alert_text_reading(const struct alert_rule *rule, const struct alert_reading *reading,
			char text[static ALERT_TEXT_MAX]);

/* The line for a log: "alert NAME fired (critical): …". */
void alert_text_event(const struct alert_event *event, char text[static ALERT_TEXT_MAX]);

#endif
