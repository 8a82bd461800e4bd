/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One scan of the kernel's counters of drops in all namespaces, and what is known after it.  A scan runs in a thread of
 * its own; no other thread may use the scanner at that time.
 */
#ifndef DAEMON_ELSEWHERE_SCAN_H
#define DAEMON_ELSEWHERE_SCAN_H

#include <stdatomic.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "daemon/elsewhere/elsewhere.h"

struct scanner;

int scanner_new(struct scanner **scanner);
void scanner_free(struct scanner **scanner);
#define OWN_SCANNER CLEANUP(scanner_free)

/*
 * Scan, until *stop is true.  The calling thread stays in another namespace.  *findings are new, and the caller frees
 * them with elsewhere_findings_free().  -ECANCELED: stopped; -ENOMEM, or the errno of reading /proc.
 */
int scanner_run(struct scanner *scanner, const atomic_bool *stop,
		struct elsewhere_findings **findings);

#endif
