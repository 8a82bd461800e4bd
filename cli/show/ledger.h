/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ledger in words: its equations with their numbers, and whether they hold. */
#ifndef CLI_SHOW_LEDGER_H
#define CLI_SHOW_LEDGER_H

#include <jansson.h>

#include "cli/terminal/page.h"

/* Each equation on a line of its own, out of an answer of GetStatus. */
void ledger_put(struct page *page, const json_t *status);

struct ledger_verdict {
	enum page_style style;
	const char *text;
};

/* Whether all equations hold, in a word or two. */
struct ledger_verdict ledger_verdict(const json_t *status);

#endif
