/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drops that netflowd's probe does not see: the kernel's other counters, and the scans that read them. */
#ifndef CLI_SHOW_ELSEWHERE_H
#define CLI_SHOW_ELSEWHERE_H

#include <stdbool.h>

#include <jansson.h>

struct page;

/*
 * Whether a fault of the member `elsewhere` of a reply of GetDrops comes before the reply's own rows: it counts more
 * packets than each of their faults, and the drops of its device do not explain it.
 */
bool elsewhere_leads(const json_t *reply);

enum elsewhere_part {
	ELSEWHERE_FAULTS = 1,
	ELSEWHERE_OTHERS = 2,
	ELSEWHERE_ALL = 3,
};

/*
 * Put that member's counters of class fault, the others, or all of them with the faults first, as a table with its
 * title; nothing if there is no such row.  Without `all`, counters that the drops on their device can explain are left
 * out, and counted below the others.  0 or -ENOMEM.
 */
int elsewhere_put(struct page *page, const json_t *reply, enum elsewhere_part part, bool all);

/* Put the member `elsewhere` of a reply of GetStatus, with its lines' values at `column`. */
void elsewhere_put_scan(struct page *page, const json_t *status, size_t column);

#endif
