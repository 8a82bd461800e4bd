/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pause in force, for people. */
#ifndef CLI_SHOW_PAUSE_H
#define CLI_SHOW_PAUSE_H

#include <jansson.h>

#include "cli/terminal/page.h"

/* Put lines for `paused`, of type Paused; NULL: none. */
void pause_put(struct page *page, const json_t *paused);

#endif
