/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/probe/events/slots.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "daemon/correlator/correlator.h"

static const struct backend_events *of(const struct backend *backend)
{
	return (const struct backend_events *)backend;
}

const char *events_slots_blind(const struct backend_events *events, const char *known)
{
	uint64_t unknown = correlator_totals(events->correlator)->slots_unknown;
	struct probe_status status;

	events->backend.ops->probe(&events->backend, NF_PROBE_XENNET_START_XMIT, &status);
	if (status.state != PROBE_ATTACHED)
		return NULL;
	if (!unknown)
		return known;
	snprintf(
		events->slots_blind, BACKEND_EVENTS_TEXT_MAX,
		"%" PRIu64
		" transmits were not counted: they have fragments, and the memory of their linear part is of an unusual size; %s",
		unknown, known);
	return events->slots_blind;
}

void events_slots_events(const struct backend *backend,
			 uint64_t events[NF_SLOTS_PROBES][NF_SLOTS_EVENTS])
{
	const struct correlator_totals *totals = correlator_totals(of(backend)->correlator);

	memset(events, 0, NF_SLOTS_PROBES * sizeof(events[0]));
	memcpy(events[NF_PROBE_XENNET_START_XMIT - NF_PROBE_SLOTS_FIRST], totals->slots,
	       sizeof(totals->slots));
}

static void fill(const struct correlator_device *device, uint32_t index, struct backend_slots *row)
{
	const struct nf_slots_count *count = device->slots;

	*row = (struct backend_slots){
		.name = index ? device->name : NULL,
		.identity = index,
		.xen = true,
		.near = count->near,
		.too_big = count->too_big,
		.last_overflow_ns = count->last_overflow_ns,
	};
	memcpy(row->slots, count->slots, sizeof(row->slots));
	memcpy(row->overflow, count->overflow, sizeof(row->overflow));
}

int events_slots(const struct backend *backend, struct backend_cursor *cursor,
		 int (*visit)(const struct backend_slots *slots, void *userdata), void *userdata)
{
	const struct backend_events *events = of(backend);

	while (cursor->next < correlator_devices(events->correlator)) {
		uint32_t index = (uint32_t)cursor->next++;
		const struct correlator_device *device =
			correlator_device(events->correlator, index);
		struct backend_slots row;
		int r;

		if (!device->slots)
			continue;
		fill(device, index, &row);
		r = visit(&row, userdata);
		if (r)
			return r;
	}
	return 0;
}
