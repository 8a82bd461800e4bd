/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon's tables in the kernel (io.netflowd's Table): how full they are, and their memory. */
#ifndef CLI_SHOW_KERNEL_TABLES_H
#define CLI_SHOW_KERNEL_TABLES_H

#include <jansson.h>

#include "cli/terminal/page.h"

/* A row for each of `tables`, an array, below a heading.  0 or -ENOMEM. */
int kernel_tables_put(struct page *page, const json_t *tables);

#endif
