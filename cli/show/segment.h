/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One Latency object of a GetLatency reply: its buckets, and a histogram for people. */
#ifndef CLI_SHOW_SEGMENT_H
#define CLI_SHOW_SEGMENT_H

#include <jansson.h>

#include "cli/show/buckets.h"
#include "cli/terminal/page.h"

/* Add the buckets of a Latency to `buckets`.  0 or -ENOMEM. */
int segment_buckets(const json_t *latency, struct buckets *buckets);

/* Put a histogram of at most 20 rows, with bars as wide as the terminal allows, from 10 to 60 columns. */
void segment_put_histogram(struct page *page, const struct buckets *buckets);

#endif
