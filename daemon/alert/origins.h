/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the drops of a window come from: their growth by reason, location, device and namespace, and the
 * reason and the origin that most of them have.
 */
#ifndef DAEMON_ALERT_ORIGINS_H
#define DAEMON_ALERT_ORIGINS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/alert/source.h"

struct alert_origins;
struct alert_window;

/* -ENOMEM.  Free with alert_origins_free. */
int alert_origins_new(struct alert_origins **origins);
void alert_origins_free(struct alert_origins **origins);

/* Begin a reading of all counters. */
void alert_origins_begin(struct alert_origins *origins);
/*
 * Add a counter; counters of the same origin are summed.  `moved`: the counter was not one of these at the reading
 * before, and so has not grown since.  -ENOMEM.
 */
int alert_origins_add(struct alert_origins *origins, const struct alert_drops *drops, bool moved);
/*
 * End a reading, after it was added to `window`, which must always be the same one.  Without counters
 * added since the last time, their totals are those of the last reading.  -ENOMEM.
 */
int alert_origins_end(struct alert_origins *origins, const struct alert_window *window);

/* Between adding and ending: the growth of all origins since the last reading.  A key that folds takes none back. */
uint64_t alert_origins_grown(const struct alert_origins *origins);

struct alert_main_origin {
	uint64_t reason_packets; /* of the reason that most drops in the window have */
	/* the origin of most of these */
	struct nf_drop_key key;		 /* only reason, location and evidence */
	char device[NF_DEVICE_NAME + 1]; /* empty: none */
	uint32_t netns;			 /* inode number; 0: not known */
	uint64_t packets;
};

/* False if nothing was dropped in the window. */
bool alert_origins_main(const struct alert_origins *origins, const struct alert_window *window,
			struct alert_main_origin *main);

#endif
