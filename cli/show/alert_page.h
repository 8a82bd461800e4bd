/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Alerts (io.netflowd's Alert, AlertEvent, AlertFault) on a page. */
#ifndef CLI_SHOW_ALERT_PAGE_H
#define CLI_SHOW_ALERT_PAGE_H

#include <jansson.h>

#include "cli/terminal/page.h"

/*
 * A reply of GetAlerts: all rules in a table, below it those that fire or did so
 * lately at length, and what is wrong with the files.  0 or a negative errno.
 */
int alert_page_put(struct page *page, const json_t *reply);

/* A change: one line, and when it fired what there is to know. */
void alert_page_put_event(struct page *page, const json_t *event);

#endif
