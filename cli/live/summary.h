/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first lines of the live view: the host, rates of packets, the cost, the ledger in a few words. */
#ifndef CLI_LIVE_SUMMARY_H
#define CLI_LIVE_SUMMARY_H

#include "cli/live/reading.h"
#include "cli/terminal/page.h"

/* State that is kept from one frame to the next.  A zeroed struct is empty. */
struct summary {
	json_t *measured; /* `cost` of the last reading that measured the programs; NULL before the first */
};

void summary_done(struct summary *summary);

/* Keep the cost of the programs if the reading measured it.  Call it before summary_put(). */
void summary_note(struct summary *summary, const struct live_reading *reading);

/* Put the lines on the page.  `interval_ms` is the time from one frame to the next. */
void summary_put(const struct summary *summary, struct page *page,
		 const struct live_reading *reading, int64_t interval_ms);

#endif
