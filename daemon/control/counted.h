/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel counted on devices, in the replies of GetLatency. */
#ifndef DAEMON_CONTROL_COUNTED_H
#define DAEMON_CONTROL_COUNTED_H

#include <stdbool.h>

#include <jansson.h>

#include "bpf/records.h"
#include "common/cleanup.h"
#include "daemon/history/reader.h"

struct backend_device;
struct filter;
struct past;
struct reading;

/* Devices in a reply, the busiest. */
#define COUNTED_ROWS 100

/* Type Traffic, of the devices that the filter selects; both readings are of the same time.  NULL: nothing is known. */
json_t *control_counted(const struct reading *traffic, const struct reading *devices,
			const struct filter *filter);

/* Add `packets` to a Latency of that device, if the kernel counts them in its direction. */
void counted_add_packets(json_t *latency, const struct reading *traffic,
			 const struct backend_device *device, enum nf_segment segment);

struct counted_margin {
	uint64_t variance; /* of the count: of what was drawn */
	uint64_t unseen;   /* packets of the whole host that passed while no journey began */
	uint64_t unended;  /* packets of journeys whose end was not seen */
	uint64_t missable; /* see reading_missable() */
	uint64_t tied;	   /* LATENCY_UNSEEN of a row of the past, see daemon/history/tie.h */
	bool limits;	   /* the member `packets` is not older than the histogram */
};

/*
 * The margin of the count of a Latency, unless it is exact.  What passed while no journey began is not in the
 * histogram, or only as what windows and ties make of it: the margin includes all of it, what no journey was drawn
 * of, and what has no end.  Of a device of which the kernel counted all packets, these are no more than the difference,
 * and what is in `tied`.
 */
void counted_add_margin(json_t *latency, const struct nf_hist *hist,
			const struct counted_margin *margin);

/* ---- the past, in the thread of a question ------------------------------------------------ */

/* All zero at first; clear it with counted_past_clear(). */
struct counted_past {
	struct reader_rows rows; /* the busiest device first */
	json_t *by_device;	 /* the number of a device's row, by its name and namespace */
};

void counted_past_clear(struct counted_past *counted);
#define OWN_COUNTED_PAST CLEANUP(counted_past_clear)

/* What the kernel counted on the selected devices in the period of a question.  Negative errno. */
int counted_past_read(struct reader *reader, struct past *past, struct counted_past *counted);
/*
 * The kernel soon gives the number of a namespace to another one, so two devices can be one row.  Forget what such a
 * row counted if `devices`, rows of latency, know them as two.  -ENOMEM.
 */
int counted_past_part(struct counted_past *counted, const struct reader_rows *devices);
/* As counted_add_packets(), for the device of a series. */
void counted_past_add_packets(json_t *latency, const struct counted_past *counted,
			      const json_t *name, enum nf_segment segment);
/* Add the member `counted` to the head of the reply, the last to use the names of the rows.  Negative errno. */
int counted_past_put(struct past *past, struct counted_past *counted);

#endif
