/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The drops that the live view shows: a GetDrops reply, and rates since an earlier one. */
#ifndef CLI_LIVE_DROP_RATES_H
#define CLI_LIVE_DROP_RATES_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

/* Drops of one reason and class at one location, for all devices, namespaces and protocols together. */
struct drop_rate {
	char *reason;
	char *location;
	const char *class; /* static */
	const char *mark;  /* static: the first of new, grown, recurring, background; NULL: none */
	size_t rank;	   /* of its class, see drop_lines_rank() */
	uint64_t packets;  /* since the daemon started */
	double per_second; /* since the earlier reply; RATE_UNKNOWN without one */
};

/* Faults first; then by rate and by packets, the highest first. */
struct drop_rates {
	struct drop_rate *at;
	size_t count;
};

/*
 * Read a GetDrops reply.  `before` is the reading that was taken `seconds` earlier, or NULL.  `rates` must be zeroed;
 * on failure, the caller frees what it has.  0 or -ENOMEM.
 */
int drop_rates_read(struct drop_rates *rates, const json_t *reply, const struct drop_rates *before,
		    double seconds);

/* Free the list and leave it empty. */
void drop_rates_free(struct drop_rates *rates);

#endif
