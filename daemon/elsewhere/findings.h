/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows and the totals of a scan, from its tally. */
#ifndef DAEMON_ELSEWHERE_FINDINGS_H
#define DAEMON_ELSEWHERE_FINDINGS_H

#include "daemon/elsewhere/elsewhere.h"

struct tally;

/*
 * Add all counters of the tally that have moved: the rows, sorted and cut at ELSEWHERE_ROWS_MAX, and the totals.  One
 * row for each counter of a place; one total for each source, counter, class and `seen`.  -ENOMEM.
 */
int findings_add(struct elsewhere_findings *findings, const struct tally *tally);

/* Add a bypass, unless there are too many; those are counted.  `count` is the number of programs or sockets. */
void findings_add_bypass(struct elsewhere_findings *findings, const struct elsewhere_bypass *bypass,
			 uint64_t count);

#endif
