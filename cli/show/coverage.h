/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Coverage for people: the questions that the daemon can answer on this host, and the reasons why it cannot. */
#ifndef CLI_SHOW_COVERAGE_H
#define CLI_SHOW_COVERAGE_H

#include "cli/ask/session.h"

/*
 * Put a line for the questions whose state is not "full"; questions with the same state and reason share a line.
 * `about` limits them to questions whose names begin with one of its strings; NULL ends it.  `about` may be NULL: then
 * all questions count.
 */
void coverage_put(struct page *page, const json_t *coverage, const char *const *about);

/* Put all questions, one per line. */
void coverage_put_all(struct page *page, const json_t *coverage);

/*
 * Ask the daemon for its coverage, end a page with coverage_put() and write it: session_print(), with the failure of
 * either.  For a past it asks nothing: what cannot be seen now says nothing of it, and period_put() says what could not
 * be seen then.
 */
enum report_status coverage_print(struct session *session, struct page *page, int put,
				  const char *const *about);

#endif
