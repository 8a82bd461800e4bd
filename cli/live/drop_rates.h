/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The drops that the live view shows: a GetDrops reply, and rates since an earlier one. */
#ifndef CLI_LIVE_DROP_RATES_H
#define CLI_LIVE_DROP_RATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

/* The parameter `by` of GetDrops: rows are of all devices, namespaces and protocols together. */
#define DROP_RATES_BY "reason,location"

struct drop_rate {
	char *cause;
	char *reason;
	char *location;
	char *mark;	   /* new, grown, recurring or background; NULL: none */
	const char *class; /* static */
	size_t rank;	   /* of its class, see drop_lines_rank() */
	uint64_t packets;  /* since the daemon started */
	double per_second; /* since the earlier reply; RATE_UNKNOWN if that does not have it */
};

/* Faults first; then by rate and by packets, the highest first. */
struct drop_rates {
	struct drop_rate *at;
	size_t count, room;
	bool whole; /* the reply had all rows; otherwise a cause that is not here is no new one */
};

/*
 * Read a reply of GetDrops by DROP_RATES_BY.  `before` is the reading that was taken `seconds` earlier, or NULL.
 * `rates` must be zeroed; on failure, the caller frees what it has.  0 or -ENOMEM.
 */
int drop_rates_read(struct drop_rates *rates, const json_t *reply, const struct drop_rates *before,
		    double seconds);

/* Free the list and leave it empty. */
void drop_rates_free(struct drop_rates *rates);

#endif
