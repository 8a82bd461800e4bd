/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel counted on devices, in the replies of GetLatency. */
#ifndef DAEMON_CONTROL_COUNTED_H
#define DAEMON_CONTROL_COUNTED_H

#include <jansson.h>

#include "bpf/records.h"

struct backend_device;
struct filter;
struct past;
struct reader;
struct reading;

/* Devices in a reply, the busiest. */
#define COUNTED_ROWS 100

/* Type Traffic, of the devices that the filter selects; both readings are of the same time.  NULL: nothing is known. */
json_t *control_counted(const struct reading *traffic, const struct reading *devices,
			const struct filter *filter);

/* Add `packets` to a Latency of that device, if the kernel counts them in its direction. */
void counted_add_packets(json_t *latency, const struct reading *traffic,
			 const struct backend_device *device, enum nf_segment segment);

/* In the thread of a question about the past: add the member `counted` to the head of the reply.  Negative errno. */
int counted_put_past(struct reader *reader, struct past *past);

#endif
