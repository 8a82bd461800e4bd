/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pings for the service manager's watchdog (WatchdogSec=).  A ping means: the event loop turns, and the backend
 * delivered since the last one.  Without pings the manager restarts the daemon.
 *
 * Delivery is proven, each time, by three facts:
 *
 *   - housekeeping ran, which a reading of the counters that never ends would keep from it;
 *   - the ring buffer was emptied without an error;
 *   - the programs saw a packet: the watchdog sends itself a datagram over a pair of Unix sockets, whose skb the kernel
 *     copies and frees.  One of the probes skb_copy_datagram_iovec and consume_skb must count that.
 *
 * If neither is attached, that fact is left out: a lack of probes is coverage, and a restart would not help.  Without a
 * backend, a ping means only that the loop turns.
 */
#ifndef DAEMON_WATCHDOG_H
#define DAEMON_WATCHDOG_H

#include <stdint.h>

#include "common/cleanup.h"

struct backend;
struct loop;
struct watchdog;

/* Parts of the manager's limit: it accepts three pings that fail before it acts. */
#define WATCHDOG_PARTS 4

/*
 * Send a ping WATCHDOG_PARTS times per `limit_ns`, unless delivery is not proven: that is logged, once, and so is the
 * next ping.  The loop and the backend must outlive the watchdog.  0 or a negative errno.  Free with watchdog_free.
 */
int watchdog_new(struct watchdog **watchdog, struct loop *loop, struct backend *backend,
		 uint64_t limit_ns);
/* NULL-safe; sets *watchdog to NULL. */
void watchdog_free(struct watchdog **watchdog);
#define OWN_WATCHDOG CLEANUP(watchdog_free)

/* Housekeeping ran.  NULL-safe. */
void watchdog_housekept(struct watchdog *watchdog);

#endif
