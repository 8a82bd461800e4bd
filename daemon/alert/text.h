/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An alert in words: its value, its subject, a reading, and the line for the log. */
#ifndef DAEMON_ALERT_TEXT_H
#define DAEMON_ALERT_TEXT_H

#include "daemon/alert/engine.h"

#define ALERT_TEXT_MAX 1536

/* "42.0/s", "5.00 ms", "3": a value in its kind's unit. */
struct units_text alert_text_value(const struct alert_rule *rule, double value);

/* What the rule watches: "dropped packets on device eth0, netns 4026531840, protocol ipv4/udp". */
void alert_text_subject(const struct alert_rule *rule, char text[static ALERT_TEXT_MAX]);

/* A reading of the rule: "42.0/s dropped packets on device eth0 over 10.0 s, threshold 10.0/s". */
void alert_text_reading(const struct alert_rule *rule, const struct alert_reading *reading,
			char text[static ALERT_TEXT_MAX]);

/* The line for the log: "alert NAME fired (critical): …". */
void alert_text_event(const struct alert_event *event, char text[static ALERT_TEXT_MAX]);

#endif
