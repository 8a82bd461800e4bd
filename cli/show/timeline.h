/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Latency records (io.netflowd's LatencyRecord) for people: a header line, then one line per stage. */
#ifndef CLI_SHOW_TIMELINE_H
#define CLI_SHOW_TIMELINE_H

#include <jansson.h>

#include "cli/terminal/page.h"

/* Put `record`; `now` as in field_time(). */
void timeline_put(struct page *page, const json_t *record, const char *now);

/* The direction of the record's segments: "rx" if it was delivered, "fwd" if it was forwarded, otherwise "tx". */
const char *timeline_direction(const json_t *record);

/*
 * The devices of the record, in order: "eth0 → br0".  A "…" at the end stands for devices that the record does not
 * name; "-" means that it names none.  The caller frees it; NULL when out of memory.
 */
char *timeline_devices(const json_t *record);

#endif
