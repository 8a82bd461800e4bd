/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A GetSlots reply for people: histograms, overflows, the remedy, the kernel log. */
#ifndef CLI_SHOW_SLOTS_REPORT_H
#define CLI_SHOW_SLOTS_REPORT_H

#include <stdint.h>

#include <jansson.h>

#include "cli/terminal/page.h"

/* Put a device: its near misses and overflows, and a histogram of its transmits by slots.  0 or -ENOMEM. */
int slots_put_device(struct page *page, const json_t *device, uint64_t limit);

/*
 * Put the remedy for the overflows of a xen-netfront device; put nothing if it has none.  `records` are slots records
 * of any devices, or NULL; they show the kind of packets that overflowed.
 */
void slots_put_remedy(struct page *page, const json_t *device, const json_t *records);

/* Put the reason why the reply has no devices. */
void slots_put_nothing(struct page *page, const json_t *reply);

/* Put the rockets that the kernel logged, if there are any; `now` as in field_time(). */
void slots_put_log(struct page *page, const json_t *reply, const char *now);

#endif
