/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One segment of an answer of GetLatency: its buckets, and a histogram for people. */
#ifndef CLI_SHOW_SEGMENT_H
#define CLI_SHOW_SEGMENT_H

#include <jansson.h>

#include "cli/show/buckets.h"
#include "cli/terminal/page.h"

/* The buckets of a Latency; `buckets` must be empty.  0 or -ENOMEM. */
int segment_buckets(const json_t *latency, struct buckets *buckets);

/* A bar for each row, as wide as the page allows; not more than about 20 rows. */
void segment_put_histogram(struct page *page, const struct buckets *buckets);

#endif
