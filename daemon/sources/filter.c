/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/sources/filter.h"

#include <string.h>

#include "daemon/core/drop.h"
#include "daemon/core/journey.h"
#include "daemon/core/record.h"
#include "daemon/core/selection.h"
#include "daemon/core/transmit.h"
#include "daemon/core/verdict.h"

void filter_clear(struct filter *filter)
{
	selection_free(&filter->selection);
	device_holders_clear(&filter->holders);
	*filter = (struct filter){0};
}

enum device_place filter_place(const struct filter *filter, const char *device, uint64_t identity)
{
	return device_holders_place(&filter->holders, NF_KEY_NETNS_ID(identity),
				    device_own_identity(identity),
				    !strncmp(filter->device, device, NF_DEVICE_NAME));
}

bool filter_takes(const struct filter *filter, const struct cause *cause, const char *device,
		  uint64_t identity, uint32_t netns)
{
	if (filter->by_reason && !reason_takes(&filter->reason, cause))
		return false;
	if (filter->by_netns && filter->netns != netns)
		return false;
	return !filter->by_device || filter_place(filter, device, identity) == DEVICE_HERE;
}

bool filter_hides(const struct filter *filter, const struct cause *cause)
{
	return filter->by_class && !(filter->classes & VERDICT_CLASS_BIT(cause->verdict.class));
}

static bool takes_netns(const struct filter *filter, const struct device *device)
{
	if (filter->netns_name[0] && device->netns_name &&
	    !strcmp(filter->netns_name, device->netns_name))
		return true;
	if (filter->netns_id && device->netns_id && device->netns_id != device->netns)
		return filter->netns_id == device->netns_id;
	return filter->netns == device->netns;
}

/* Whether the device matches both by name and by namespace. */
static bool takes_device(const struct filter *filter, const struct device *device)
{
	if (filter->by_netns && !takes_netns(filter, device))
		return false;
	return !filter->by_device ||
	       filter_place(filter, device->name, device->identity) == DEVICE_HERE;
}

static bool takes_contents(const struct filter *filter, const struct contents *contents)
{
	return !filter->selection || selection_takes_bytes(filter->selection, contents->bytes);
}

bool filter_takes_drop(const struct filter *filter, const struct drop *drop)
{
	return !drop->cause.verdict.message &&
	       (!filter->by_reason || reason_takes(&filter->reason, &drop->cause)) &&
	       takes_device(filter, &drop->device) && takes_contents(filter, &drop->contents);
}

bool filter_takes_transmit(const struct filter *filter, const struct transmit *transmit)
{
	return takes_device(filter, &transmit->device) &&
	       takes_contents(filter, &transmit->contents);
}

/* The skb may have crossed several devices; one of them must match. */
static bool takes_any_device(const struct filter *filter, const struct journey *journey)
{
	if (!filter->by_device && !filter->by_netns)
		return true;
	for (size_t i = 0; i < journey->devices; i++)
		if (takes_device(filter, &journey->device[i]))
			return true;
	return false;
}

bool filter_takes_journey(const struct filter *filter, const struct journey *journey)
{
	uint64_t ns;

	if (filter->by_slow && filter->slow != journey->slow)
		return false;
	if ((filter->by_segment || filter->by_over) &&
	    !segment_time(&journey->stages, &filter->segment, &ns))
		return false;
	if (filter->by_over && ns <= filter->over_ns)
		return false;
	return takes_any_device(filter, journey) && takes_contents(filter, &journey->contents);
}

bool filter_takes_record(const struct filter *filter, const struct record *record)
{
	switch (record->kind) {
	case RECORDS_DROPS:
		return filter_takes_drop(filter, &record->drop);
	case RECORDS_LATENCY:
		return filter_takes_journey(filter, &record->journey);
	default:
		return filter_takes_transmit(filter, &record->transmit);
	}
}

bool filter_hides_record(const struct filter *filter, const struct record *record)
{
	return record->kind == RECORDS_DROPS && filter_hides(filter, &record->drop.cause);
}
