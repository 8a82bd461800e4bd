/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel counted on devices, in the replies of GetLatency. */
#ifndef DAEMON_SOURCES_COUNTED_H
#define DAEMON_SOURCES_COUNTED_H

#include <stdint.h>

#include <jansson.h>

#include "bpf/records.h"
#include "common/cleanup.h"
#include "common/map.h"
#include "daemon/core/device.h"
#include "daemon/history/reader.h"

struct filter;
struct past;
struct reading;

/* Devices in a reply, the busiest. */
#define COUNTED_ROWS 100

/* Type Traffic, of the devices that the filter selects; both readings are of the same time.  NULL: nothing is known. */
json_t *counted_json(const struct reading *traffic, const struct reading *devices,
		     const struct filter *filter);

/* The packets of that device in the direction of the segment; NULL: the kernel does not count them. */
const uint64_t *counted_packets(const struct reading *traffic, const struct device *device,
				enum nf_segment segment);

/* ---- the past, in the thread of a question ------------------------------------------------ */

/* All zero at first; clear it with counted_past_clear(). */
struct counted_past {
	struct reader_rows rows; /* the busiest device first */
	struct counted_device *device;
	size_t devices, room;
	struct map map;
};

void counted_past_clear(struct counted_past *counted);

/* What the kernel counted on the selected devices in the period of a question.  Negative errno. */
int counted_past_read(struct reader *reader, struct past *past, struct counted_past *counted);
/*
 * The kernel soon gives the number of a namespace to another one, and a name to another device, so several devices can
 * be one row.  Forget what such a row counted if `devices`, rows of latency that outlive it, know them as several.
 */
void counted_past_part(struct counted_past *counted, const struct reader_rows *devices);
/* As counted_packets(). */
const uint64_t *counted_past_packets(const struct counted_past *counted,
				     const struct device *device, enum nf_segment segment);
/* Add the member `counted` to the head of the reply.  -ENOMEM. */
int counted_past_put(struct past *past, const struct counted_past *counted);

#endif
