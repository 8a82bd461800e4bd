/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A row of latency: the times that packets of a device, or of several, took for a segment.  Replies about now and about
 * the past are made of these.
 */
#ifndef DAEMON_ROWS_LATENCY_ROW_H
#define DAEMON_ROWS_LATENCY_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/records.h"
#include "daemon/core/device.h"

struct latency_row {
	enum nf_segment segment;
	struct device device; /* without a name: a group, or several devices together */
	const char *group;    /* their kind; NULL: none */
	int64_t devices;      /* in the group; below 0: not known */
	struct nf_hist hist;
	uint64_t variance; /* of the count; that of the histogram is of its buckets, too */
	uint64_t tied;	   /* packets that the count lacks at most, see daemon/history/tie.h */
	const uint64_t *packets; /* of the device, as the kernel counted them; NULL: not known */
};

/* Add the times of `other`, of the same segment. */
void latency_row_merge(struct latency_row *row, const struct latency_row *other);

/* Why counts are not exact, beside what was drawn. */
struct latency_doubt {
	uint64_t unseen;   /* packets of the whole host that passed while no journey began */
	uint64_t unended;  /* packets of journeys whose end was not seen */
	uint64_t missable; /* see reading_missable() */
	bool limits;	   /* latency_row.packets is not older than the histogram */
};

/* Half the widths of the 95 % intervals of a count. */
struct latency_margin {
	uint64_t drawn, all;
};

/*
 * The margin of the row's count; false: it is exact.  What passed while no journey began is not in the histogram, or
 * only as what windows and ties make of it: the margin includes all of it, what no journey was drawn of, and what has
 * no end.  Of a device of which the kernel counted all packets, these are no more than the difference, and what is in
 * `tied`.
 */
bool latency_row_margin(const struct latency_row *row, const struct latency_doubt *doubt,
			struct latency_margin *margin);

/* ---- the worst devices ------------------------------------------------------ */

#define WORST_ROWS 10
/* Packets below which a row comes after the others. */
#define WORST_PACKETS 100

struct worst_row {
	size_t row; /* the caller's number */
	uint64_t count, p99_ns;
};

/* One that is all zeros is empty. */
struct worst {
	struct worst_row row[WORST_ROWS]; /* the worst first */
	size_t considered;
};

/* The rows that it has. */
static inline size_t worst_count(const struct worst *worst)
{
	return worst->considered < WORST_ROWS ? worst->considered : WORST_ROWS;
}

/* Rows with many packets are worse than those with few. */
bool worst_is_before(const struct worst_row *a, const struct worst_row *b);
void worst_consider(struct worst *worst, const struct worst_row *row);

#endif
