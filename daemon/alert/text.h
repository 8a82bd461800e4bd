/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An alert in words: its value, its subject, a reading, and the line for the log. */
#ifndef DAEMON_ALERT_TEXT_H
#define DAEMON_ALERT_TEXT_H

#include "daemon/alert/engine.h"

#define ALERT_TEXT_MAX 1536

/* A reading of the rule: "42.0/s dropped packets on device eth0 over 10.0 s, threshold 10.0/s". */
void alert_text_reading(const struct alert_rule *rule, const struct alert_reading *reading,
			char text[static ALERT_TEXT_MAX]);

/* The line for the log: "alert NAME fired (critical): …". */
void alert_text_event(const struct alert_event *event, char text[static ALERT_TEXT_MAX]);

#endif
