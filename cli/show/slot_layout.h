/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slots records (io.netflowd's SlotsRecord) for people: a head line, then a line per piece. */
#ifndef CLI_SHOW_SLOT_LAYOUT_H
#define CLI_SHOW_SLOT_LAYOUT_H

#include <jansson.h>

#include "cli/terminal/page.h"

/*
 * Put `record`: what it is, and its page layout: the linear part and each
 * fragment as the pages that they touch, with the bytes that they use in each.
 * `now` as in field_time().
 */
void slot_layout_put(struct page *page, const json_t *record, const char *now);

/* "19 slots of 18": what is over the limit stands out. */
void slot_layout_put_slots(struct page *page, const json_t *record);

#endif
