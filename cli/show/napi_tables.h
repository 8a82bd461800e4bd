/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A GetNapi reply as two tables. */
#ifndef CLI_SHOW_NAPI_TABLES_H
#define CLI_SHOW_NAPI_TABLES_H

#include <jansson.h>

#include "cli/terminal/page.h"

/* The device of a Napi object; "(backlog)" for the backlog of its CPU. */
const char *napi_device(const json_t *napi);

/* Put polls by device and CPU; if `device` is not NULL, only those of this device.  0 or -ENOMEM. */
int napi_put_polls(struct page *page, const json_t *reply, const char *device);

/* Put the receive softirqs of each CPU.  0 or -ENOMEM. */
int napi_put_cpus(struct page *page, const json_t *reply, size_t most);

#endif
