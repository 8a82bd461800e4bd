/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The count of a Latency for people: "12,300", or "≈ 12,300 ±4 %" if it is an estimate. */
#ifndef CLI_SHOW_ESTIMATE_H
#define CLI_SHOW_ESTIMATE_H

#include <stdbool.h>

#include <jansson.h>

struct estimate_text {
	char s[80];
};

bool estimate_is(const json_t *latency);

/* "-" if there is no count. */
struct estimate_text estimate_count(const json_t *latency);

#endif
