/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What GetLatency replies with, whether a reading or the history has it. */
#ifndef DAEMON_SOURCES_LATENCY_LIST_H
#define DAEMON_SOURCES_LATENCY_LIST_H

#include <jansson.h>

#include "common/cleanup.h"
#include "daemon/rows/latency_row.h"
#include "daemon/store/reading.h"

struct seen_part;

struct latency_list {
	/* What was not followed. */
	struct latency_doubt doubt; /* unended is that of the next member */
	struct reading_unended unended;
	struct latency_row *sum; /* by segment */
	struct worst worst;	 /* of the devices */
};

/* Make the sums, of nothing.  -ENOMEM.  Clear the list in any case. */
int latency_list_init(struct latency_list *list);
void latency_list_clear(struct latency_list *list);
#define OWN_LATENCY_LIST CLEANUP(latency_list_clear)

/* Add a row to the sum of its segment. */
void latency_list_add(struct latency_list *list, const struct latency_row *row);

/* The sums that are not empty, type Latency. */
json_t *latency_list_segments(const struct latency_list *list);

/* Type Followed; NULL: journeys began to be followed all the time, or no memory. */
json_t *latency_list_followed(const struct latency_list *list, const struct seen_part *seen);

#endif
