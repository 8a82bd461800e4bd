/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/sources/past_places.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "daemon/history/place_key.h"
#include "daemon/kernel/attribution.h"
#include "daemon/sources/filter.h"
#include "daemon/sources/past.h"
#include "daemon/sources/sources.h"

/* ---- who has the name now ---------------------------------------------------------- */

static void find_netns(struct past_places *places, const struct sources *sources, const char *name)
{
	uint32_t id = attribution_netns_id(sources->attribution, name);

	attribution_netns_number(sources->attribution, name, &places->netns);
	if (id)
		places->netns_key = place_key(id);
}

static int find_devices(struct past_places *places, const struct sources *sources, const char *name)
{
	const char *now;
	int r = filter_find_holders(sources, name, &places->holders, &now);

	for (size_t i = 0; i < places->holders.count; i++) {
		struct device_holder *holder = &places->holders.at[i];

		*holder =
			(struct device_holder){place_key(holder->netns), place_key(holder->device)};
	}
	device_holders_sort(&places->holders);
	return r;
}

int past_places_find(struct past *past)
{
	const struct sources *sources = past->sources;
	const char *device = past_text(past, "device"), *netns = past_text(past, "netns");

	if (netns)
		find_netns(&past->places, sources, netns);
	return device ? find_devices(&past->places, sources, device) : 0;
}

void past_places_clear(struct past_places *places)
{
	device_holders_clear(&places->holders);
}

/* ---- what to take ------------------------------------------------------------------- */

static enum past_place device_place(const struct past_places *places, const struct device *device,
				    const char *wanted)
{
	switch (device_holders_place(&places->holders, device->netns_id, device->identity,
				     device->name && !strcmp(device->name, wanted))) {
	case DEVICE_HERE:
		return PAST_HERE;
	case DEVICE_EARLIER:
		return PAST_EARLIER;
	default:
		return PAST_ELSEWHERE;
	}
}

/*
 * By the identity of the namespace that has the name now.  Otherwise by the name at that time, or the number; without a
 * name, by the number of the namespace that has the name now.
 */
static enum past_place netns_place(const struct past_places *places, const struct device *device,
				   const char *wanted)
{
	bool same = device->netns_name ? !strcmp(device->netns_name, wanted)
				       : places->netns && device->netns == places->netns;
	char digits[24];

	if (device->netns_id && device->netns_id == places->netns_key)
		return PAST_HERE;
	if (same)
		return device->netns_id && places->netns_key ? PAST_EARLIER : PAST_HERE;
	snprintf(digits, sizeof(digits), "%" PRIu32, device->netns);
	return device->netns && !strcmp(digits, wanted) ? PAST_HERE : PAST_ELSEWHERE;
}

enum past_place past_place(const struct past *past, const struct device *of)
{
	const char *device = past_text(past, "device"), *netns = past_text(past, "netns");
	enum past_place one = device ? device_place(&past->places, of, device) : PAST_HERE;
	enum past_place other = netns ? netns_place(&past->places, of, netns) : PAST_HERE;

	if (one == PAST_ELSEWHERE || other == PAST_ELSEWHERE)
		return PAST_ELSEWHERE;
	return one == PAST_EARLIER ? one : other;
}

bool past_takes_place(const struct past *past, const struct device *device)
{
	return past_place(past, device) == PAST_HERE;
}

bool past_project_device(struct series_name *name, bool full, void *past)
{
	if (!past_takes_place(past, &name->device))
		return false;
	if (full) {
		name->device = (struct device){0};
		name->other = true;
	}
	return true;
}
