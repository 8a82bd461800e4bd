/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ledger for people: its equations with their numbers, and whether they hold. */
#ifndef CLI_SHOW_LEDGER_H
#define CLI_SHOW_LEDGER_H

#include <jansson.h>

#include "cli/terminal/page.h"

/* Put each equation of a GetStatus reply on a line of its own. */
void ledger_put(struct page *page, const json_t *status);

struct ledger_verdict {
	enum page_style style;
	const char *text;
};

/* The worst state of all equations, in a few words. */
struct ledger_verdict ledger_verdict(const json_t *status);

#endif
