/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slots records (io.netflowd's SlotsRecord) for people: a header, then a line for the linear part and per fragment. */
#ifndef CLI_SHOW_SLOT_LAYOUT_H
#define CLI_SHOW_SLOT_LAYOUT_H

#include <jansson.h>

#include "cli/terminal/page.h"

/*
 * Put `record` and its page layout: the pages that the linear part and each fragment touch, and the bytes that they use
 * in each page.  `now` as in field_time().
 */
void slot_layout_put(struct page *page, const json_t *record, const char *now);

#endif
