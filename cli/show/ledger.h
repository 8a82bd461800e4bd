/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ledger for people: its equations with their numbers, and whether they hold. */
#ifndef CLI_SHOW_LEDGER_H
#define CLI_SHOW_LEDGER_H

#include <jansson.h>

#include "cli/terminal/page.h"

/* Put each equation of a GetStatus reply on a line of its own. */
void ledger_put(struct page *page, const json_t *status);

/* Say how many slow journeys were probably not seen, in a LatencyLedger; nothing if there are none. */
void ledger_put_unseen(struct page *page, const json_t *latency, size_t column);

struct ledger_verdict {
	enum page_style style;
	const char *text;
};

/* The worst state of all equations, in a few words. */
struct ledger_verdict ledger_verdict(const json_t *status);

/* An equation as text: "hits 3 = counted 2 + …". */
struct ledger_line {
	const char *of; /* the member of GetStatus that it is about */
	struct ledger_verdict verdict;
	char *text; /* the caller frees it; NULL when out of memory */
};

/* The equation `index` of a GetStatus reply; false, with *line untouched, after the last one. */
bool ledger_line(const json_t *status, size_t index, struct ledger_line *line);

#endif
