/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Alerts as JSON: types Alert, AlertEvent and AlertFault of the interface. */
#ifndef DAEMON_ALERT_ALERT_JSON_H
#define DAEMON_ALERT_ALERT_JSON_H

#include <jansson.h>

struct alert;
struct alert_event;
struct records;

/*
 * Each function returns a new reference, which the caller owns; NULL if memory runs out.  The evidence comes from
 * `records`.
 */
json_t *alert_json(const struct alert *alert, struct records *records);
json_t *alert_event_json(const struct alert_event *event, struct records *records);

#endif
