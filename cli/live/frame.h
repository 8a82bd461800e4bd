/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One frame of the live view's overview, drawn from a reading. */
#ifndef CLI_LIVE_FRAME_H
#define CLI_LIVE_FRAME_H

#include "cli/live/reading.h"
#include "cli/live/summary.h"
#include "cli/terminal/page.h"

/* State that is kept from one frame to the next.  A zeroed struct is empty. */
struct frame {
	struct summary summary;
	/* The axis of the histograms, in powers of two ns.  It only grows, so that the histograms do not shift. */
	bool has_axis;
	unsigned int axis_first;
	unsigned int axis_last;
};

void frame_done(struct frame *frame);

/*
 * Put the frame on the page, fitted to the page's limits.  `interval_ms` is the time from one frame to the next.
 * 0 or -ENOMEM.
 */
int frame_put(struct frame *frame, struct page *page, const struct live_reading *reading,
	      int64_t interval_ms);

#endif
