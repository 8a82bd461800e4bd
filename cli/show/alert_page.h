/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Alerts (io.netflowd's Alert, AlertEvent, AlertFault) for people. */
#ifndef CLI_SHOW_ALERT_PAGE_H
#define CLI_SHOW_ALERT_PAGE_H

#include <jansson.h>

#include "cli/terminal/page.h"

/*
 * Put a GetAlerts reply: all rules in a table, then the details of firing and resolved alerts, then the mistakes in
 * rule files.  0 or -ENOMEM.
 */
int alert_page_put(struct page *page, const json_t *reply);

/* Put a change of state in one line, followed by the details of the alert unless it is resolved. */
void alert_page_put_event(struct page *page, const json_t *event);

#endif
