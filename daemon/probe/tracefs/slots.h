/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kprobe events on xennet_start_xmit(), which show what the slots of a transmit depend on.
 *
 * The fragments of an skb are described behind its linear part, at skb->head + skb->end.  An argument of a kprobe event
 * cannot add two variables, so there is an event for each usual skb->end, in which it is a constant.  Another event
 * shows all other skbs: the linear ones, which have no fragments, and those whose fragments stay unknown.
 */
#ifndef DAEMON_PROBE_TRACEFS_SLOTS_H
#define DAEMON_PROBE_TRACEFS_SLOTS_H

#include <stdbool.h>

#include "common/cleanup.h"
#include "daemon/probe/events/tracepoints.h"

struct slots_layout;

#define SLOTS_POINTS_MAX 16

struct slots_points {
	size_t count;
	struct tracepoint point[SLOTS_POINTS_MAX]; /* the last shows all other skbs */
	char *text[SLOTS_POINTS_MAX][3];	   /* names, filters and arguments of them */
};

/* Whether this host runs on Xen, and so can have devices of xen-netfront, and whether it has their driver. */
bool slots_has_xen(void);
bool slots_has_driver(void);

/* The events for a kernel of this layout.  -ENOMEM; -EOPNOTSUPP: not on this machine.  Free with slots_points_free. */
int slots_points_new(struct slots_points **points, const struct slots_layout *layout);
void slots_points_free(struct slots_points **points);
#define OWN_SLOTS_POINTS CLEANUP(slots_points_free)

#endif
