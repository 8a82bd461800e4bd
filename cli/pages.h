/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slots records (io.netflowd's SlotsRecord) for people: a head line, then a line per piece. */
#ifndef CLI_PAGES_H
#define CLI_PAGES_H

#include "cli/page.h"

#include <jansson.h>

/*
 * Put `record`: what it is, and its page layout: the linear part and each
 * fragment as the pages that they touch, with the bytes that they use in each.
 * `now` as in field_time().
 */
void pages_put(struct page *page, const json_t *record, const char *now);

/* "19 slots of 18": what is over the limit stands out. */
void pages_put_slots(struct page *page, const json_t *record);

#endif
