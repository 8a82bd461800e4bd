/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the daemon cannot see, beside what it shows. */
#ifndef CLI_SHOW_COVERAGE_H
#define CLI_SHOW_COVERAGE_H

#include "cli/ask/session.h"

/*
 * A sentence about the questions whose state is not full, those with the same
 * reason together.  Only those whose name begins with one of `about` (NULL at
 * the end), or all for NULL.
 */
void coverage_put(struct page *page, const json_t *coverage, const char *const *about);

/* All questions, a line each. */
void coverage_put_all(struct page *page, const json_t *coverage);

/* Ask the daemon for its coverage and do the same.  A failure is reported. */
enum report_status coverage_ask(struct session *session, struct page *page,
				const char *const *about);

/* End a page with coverage_ask() and write it: session_print(), with the failure of either. */
enum report_status coverage_print(struct session *session, struct page *page, int put,
				  const char *const *about);

#endif
