/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The selection that several methods take: which counters, which records. */
#ifndef DAEMON_CONTROL_FILTER_H
#define DAEMON_CONTROL_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "bpf/records.h"
#include "common/cleanup.h"
#include "daemon/core/path.h"

struct call;
struct cause;
struct control;
struct drop;
struct journey;
struct selection;
struct transmit;

/* What is not selected by matches everything; all zero is a filter that takes all. */
struct filter {
	bool by_reason, by_device, by_netns;
	bool faults; /* of drops only: not those whose reason is policy or benign */
	uint32_t reason;
	uint32_t netns;
	char device[NF_DEVICE_NAME];
	struct selection *selection; /* a tcpdump expression, owned; NULL: none */
	/* of latency records only */
	bool by_segment, by_over, by_slow;
	struct path_segment segment; /* the total without by_segment */
	uint64_t over_ns;
	bool slow;
};

/*
 * Read the members reason, device, netns, faults, filter, segment, over_ns and
 * slow of `parameters`, those that are there.  Something that nothing on this host is
 * called, and what is no expression, end the call with what is near or wrong;
 * -EINVAL.  -ENOMEM leaves the call alone.  The caller clears the filter.
 */
int filter_read(struct filter *filter, const struct control *control, struct call *call,
		json_t *parameters);

/* Free what the filter owns. */
void filter_clear(struct filter *filter);

#define OWN_FILTER CLEANUP(filter_clear)

/* For counters, by reason, device and namespace; `faults` is not considered. */
bool filter_takes(const struct filter *filter, uint32_t reason, const char *device, uint32_t netns);

/* Whether `faults` hides drops of this cause: policy or benign, never a reason without a class. */
bool filter_hides(const struct filter *filter, const struct cause *cause);

/* `faults` is not considered, and `reason` selects drops only. */
bool filter_takes_drop(const struct filter *filter, const struct drop *drop);
bool filter_takes_journey(const struct filter *filter, const struct journey *journey);
bool filter_takes_transmit(const struct filter *filter, const struct transmit *transmit);

#endif
