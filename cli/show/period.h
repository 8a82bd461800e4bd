/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The time that a reply covers: since the daemon started, or the period of the history that it has. */
#ifndef CLI_SHOW_PERIOD_H
#define CLI_SHOW_PERIOD_H

#include <stdbool.h>

#include <jansson.h>

struct page;

/* Put " since DATE", or for the past " from DATE to DATE". */
void period_put_since(struct page *page, const json_t *reply);

/*
 * Whether netflowd recorded in the whole period of the past, and could answer `question` (of coverage) in all of it.
 * Otherwise a count of nothing is not proof that nothing happened.  True for a reply that is not about the past.
 */
bool period_is_whole(const json_t *reply, const char *question);

/*
 * For the past: put a line about what the period really covers, its gaps, and the questions that it could not answer
 * fully, those that begin with one of `about`; see coverage_put().  Nothing otherwise.
 */
void period_put(struct page *page, const json_t *reply, const char *const *about);

/* Put the sentence about one period, after "NAME: ", and its gaps. */
void period_put_covered(struct page *page, const json_t *period, const char *name);

#endif
