/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The criteria by which several methods select counters and records. */
#ifndef DAEMON_CONTROL_FILTER_H
#define DAEMON_CONTROL_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "bpf/records.h"
#include "common/cleanup.h"
#include "daemon/core/stages.h"

struct call;
struct cause;
struct control;
struct drop;
struct journey;
struct selection;
struct transmit;

/* A criterion that the client did not give matches everything; a filter of zeros selects everything. */
struct filter {
	bool by_reason, by_device, by_netns;
	bool faults; /* drops only: hide those whose reason is policy or benign */
	uint32_t reason;
	uint32_t netns;
	char device[NF_DEVICE_NAME];
	struct selection *selection; /* a tcpdump expression, owned; NULL: none */
	/* Latency records only. */
	bool by_segment, by_over, by_slow;
	struct segment segment; /* without by_segment: the total */
	uint64_t over_ns;
	bool slow;
};

/*
 * Read the members reason, device, netns, faults, filter, segment, over_ns and slow that `parameters` has.  A name that
 * nothing on this host has, or an invalid expression, ends the call with the nearest name or the error; -EINVAL.
 * -ENOMEM leaves the call open.  The caller clears the filter.
 */
int filter_read(struct filter *filter, const struct control *control, struct call *call,
		json_t *parameters);

/* Whether the host or the newest readings have a device of this name. */
bool filter_knows_device(const struct control *control, const char *name);

/* Free what the filter owns. */
void filter_clear(struct filter *filter);

#define OWN_FILTER CLEANUP(filter_clear)

/* Whether the filter selects a counter by reason, device and namespace; ignores `faults`. */
bool filter_takes(const struct filter *filter, uint32_t reason, const char *device, uint32_t netns);

/* Whether `faults` hides drops of this cause: policy or benign, never a reason without a class. */
bool filter_hides(const struct filter *filter, const struct cause *cause);

/* Whether the filter selects a record; ignores `faults`.  `reason` applies to drops only. */
bool filter_takes_drop(const struct filter *filter, const struct drop *drop);
bool filter_takes_journey(const struct filter *filter, const struct journey *journey);
bool filter_takes_transmit(const struct filter *filter, const struct transmit *transmit);

#endif
