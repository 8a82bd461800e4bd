/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What GetSlots answers, for people: histograms, overflows, the remedy, the kernel's log. */
#ifndef CLI_SHOW_SLOTS_REPORT_H
#define CLI_SHOW_SLOTS_REPORT_H

#include <stdint.h>

#include <jansson.h>

#include "cli/terminal/page.h"

/* A device's transmits by slots, its near misses and overflows.  0 or -ENOMEM. */
int slots_put_device(struct page *page, const json_t *device, uint64_t limit);

/*
 * What to do about a device's overflows.  `records` are slots records of any
 * devices, which tell what kind of packets they were.  Nothing where there are
 * no overflows.
 */
void slots_put_remedy(struct page *page, const json_t *device, const json_t *records);

/* Why no device is there. */
void slots_put_nothing(struct page *page, const json_t *reply);

/* Rockets of the kernel's log, where there are any. */
void slots_put_log(struct page *page, const json_t *reply, const char *now);

#endif
