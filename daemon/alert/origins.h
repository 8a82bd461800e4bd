/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the drops of a window come from: their growth by reason, place, device
 * and namespace, told apart by those of them that most drops have.
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

/* A reading of all counters begins. */
void alert_origins_begin(struct alert_origins *origins);
/* What such drops have counted so far; those of one origin are added up.  -ENOMEM. */
int alert_origins_add(struct alert_origins *origins, const struct alert_drops *drops);
/*
 * Another reading was added to `window`, always the same one: the counters stand
 * as they were read last.  -ENOMEM.
 */
int alert_origins_end(struct alert_origins *origins, const struct alert_window *window);

struct alert_main_origin {
	uint32_t reason;
	uint64_t reason_packets; /* of the reason that most drops in the window have */
	/* and where most of these were dropped */
	uint64_t location;
	char device[NF_DEVICE_NAME + 1]; /* empty: without one */
	uint32_t netns;			 /* inode number, 0 = not known */
	uint64_t packets;
};

/* False when nothing was dropped in the window. */
bool alert_origins_main(const struct alert_origins *origins, const struct alert_window *window,
			struct alert_main_origin *main);

#endif
