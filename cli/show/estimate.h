/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The count of a Latency for people: "12,300"; or "≈ 12,300 ±4.00 %" if it is an estimate, and "≈ 12, up to 1,500" if
 * its margin is at least as large.
 */
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

/* Sentences. */
struct estimate_sentences {
	char s[1000];
};

/* For how much of the time journeys were followed and which were not to their end, of type Followed; empty: all. */
struct estimate_sentences estimate_unfollowed(const json_t *followed);

#endif
