/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An answer of GetNapi as two tables. */
#ifndef CLI_SHOW_NAPI_TABLES_H
#define CLI_SHOW_NAPI_TABLES_H

#include <jansson.h>

#include "cli/terminal/page.h"

/* Polls by device and CPU; with `device` only of the device of that name.  0 or -ENOMEM. */
int napi_put_polls(struct page *page, const json_t *reply, const char *device);

/* Receive softirqs by CPU.  0 or -ENOMEM. */
int napi_put_cpus(struct page *page, const json_t *reply);

#endif
