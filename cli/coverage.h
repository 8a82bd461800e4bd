/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the daemon cannot see, beside what it shows. */
#ifndef CLI_COVERAGE_H
#define CLI_COVERAGE_H

#include "cli/session.h"

/*
 * Put a line for each question whose state is not full.  Only those whose name
 * begins with one of `about` (NULL at the end), or all for NULL.  Returns how
 * many there were.
 */
size_t coverage_put(struct page *page, const json_t *coverage, const char *const *about);

/* Ask the daemon for its coverage and do the same.  A failure is reported. */
enum report_status coverage_ask(struct session *session, struct page *page,
				const char *const *about);

#endif
