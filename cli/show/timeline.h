/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Latency records (io.netflowd's LatencyRecord) for people: a head line, then a line per stage. */
#ifndef CLI_SHOW_TIMELINE_H
#define CLI_SHOW_TIMELINE_H

#include <jansson.h>

#include "cli/terminal/page.h"

/* Put `record`; `now` as in field_time(). */
void timeline_put(struct page *page, const json_t *record, const char *now);

/* "rx", "tx" or "fwd", as segments are named, of its outcome. */
const char *timeline_direction(const json_t *record);

/* "eth0 → br0", as many as are known, or "-"; the caller frees it, NULL when out of memory. */
char *timeline_devices(const json_t *record);

#endif
