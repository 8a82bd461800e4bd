/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One picture of the live view, out of a reading. */
#ifndef CLI_LIVE_FRAME_H
#define CLI_LIVE_FRAME_H

#include "cli/live/reading.h"
#include "cli/terminal/page.h"

/* What stays from one picture to the next. */
struct frame {
	json_t *measured; /* cost in the last answer that measured the programs; NULL for none */
	bool has_axis;	  /* of the histograms, in powers of two ns; only grows, so that it stands
			     still */
	unsigned int axis_first;
	unsigned int axis_last;
};

void frame_done(struct frame *frame);

/* Take note of what a reading measured; before it is put. */
void frame_note(struct frame *frame, const struct reading *reading);

/* Its first lines: the host, rates of packets, cost, the ledger in a word. */
void frame_put_summary(const struct frame *frame, struct page *page, const struct reading *reading,
		       int64_t interval_ms);

/*
 * Put the picture on the page, fitted to the page's limits.  `interval_ms` is
 * how often it is drawn.  0 or -ENOMEM.
 */
int frame_put(struct frame *frame, struct page *page, const struct reading *reading,
	      int64_t interval_ms);

#endif
