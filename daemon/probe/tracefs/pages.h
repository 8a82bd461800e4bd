/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The events of an instance while it runs: the ring buffers of all CPUs, read as raw pages and merged by time.
 *
 * A CPU whose buffer was found empty at a moment has no event from before it, apart from one that was just being
 * written.  So all events that are a little older than the last look at every empty buffer can be given in their order.
 */
#ifndef DAEMON_PROBE_TRACEFS_PAGES_H
#define DAEMON_PROBE_TRACEFS_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"

struct instance;
struct pages;

/* An event that is being written is at most this old; a CPU that a hypervisor stops can take longer. */
#define PAGES_MARGIN_NS UINT64_C(1000000)

struct pages_sink {
	/* The bytes are valid during the call. */
	void (*event)(void *userdata, uint32_t cpu, uint64_t time_ns, const void *data,
		      size_t size);
	/* The ring buffer of a CPU lost events before its next one; 0: not known how many. */
	void (*lost)(void *userdata, uint32_t cpu, uint64_t events);
	void *userdata;
};

/* The instance must outlive the pages.  Free with pages_free. */
int pages_new(struct pages **pages, const struct instance *instance, const struct pages_sink *sink);
void pages_free(struct pages **pages);
#define OWN_PAGES CLEANUP(pages_free)

/*
 * Give events in the order of their times, at most `limit`.  1: there may be more now; 0: there are no more that are
 * old enough; or the negative errno of read(2).
 */
int pages_take(struct pages *pages, uint64_t limit);

/*
 * Make the epoll instance readable when a ring buffer has more than a part of its size, see instance_wakes_early().  0
 * or a negative errno.
 */
int pages_watch(const struct pages *pages, int epoll);

#endif
