/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The comparison of two recordings for people. */
#ifndef CLI_DIFF_PAGE_H
#define CLI_DIFF_PAGE_H

#include <stddef.h>

#include <jansson.h>

#include "cli/terminal/page.h"

/* Put a comparison of diff_make(), with at most `most` rows of drops.  0 or -ENOMEM. */
int diff_put(struct page *page, const json_t *diff, size_t most);

#endif
