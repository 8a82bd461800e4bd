/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/control/past_places.h"

#include <stdio.h>
#include <string.h>

#include "daemon/control/filter.h"
#include "daemon/control/past.h"
#include "daemon/history/place_key.h"
#include "daemon/kernel/attribution.h"

/* ---- who has the name now ---------------------------------------------------------- */

static void find_netns(struct past_places *places, const struct control *control, const char *name)
{
	uint32_t id = attribution_netns_id(control->parts.attribution, name);

	attribution_netns_number(control->parts.attribution, name, &places->netns);
	if (id)
		places->netns_key = place_key(id);
}

static int find_devices(struct past_places *places, const struct control *control, const char *name)
{
	const char *now;
	int r = filter_find_holders(control, name, &places->holders, &now);

	for (size_t i = 0; i < places->holders.count; i++) {
		struct device_holder *holder = &places->holders.at[i];

		*holder =
			(struct device_holder){place_key(holder->netns), place_key(holder->device)};
	}
	device_holders_sort(&places->holders);
	return r;
}

int past_places_find(struct past *past, const struct control *control)
{
	const char *device = past_text(past, "device"), *netns = past_text(past, "netns");

	if (netns)
		find_netns(&past->places, control, netns);
	return device ? find_devices(&past->places, control, device) : 0;
}

void past_places_clear(struct past_places *places)
{
	device_holders_clear(&places->holders);
}

/* ---- what to take ------------------------------------------------------------------- */

static uint64_t key_of(const json_t *name, const char *member)
{
	return (uint64_t)json_integer_value(json_object_get(name, member));
}

static enum past_place device_place(const struct past_places *places, const json_t *name,
				    const char *wanted)
{
	const char *own = json_string_value(json_object_get(name, "device"));

	switch (device_holders_place(&places->holders, key_of(name, PLACE_NETNS),
				     key_of(name, PLACE_DEVICE), own && !strcmp(own, wanted))) {
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
static enum past_place netns_place(const struct past_places *places, const json_t *name,
				   const char *wanted)
{
	const char *text = json_string_value(json_object_get(name, "netns_name"));
	const json_t *number = json_object_get(name, "netns");
	uint64_t key = key_of(name, PLACE_NETNS);
	bool same = text ? !strcmp(text, wanted)
			 : places->netns && json_integer_value(number) == places->netns;
	char digits[24];

	if (key && key == places->netns_key)
		return PAST_HERE;
	if (same)
		return key && places->netns_key ? PAST_EARLIER : PAST_HERE;
	snprintf(digits, sizeof(digits), "%lld", (long long)json_integer_value(number));
	return number && !strcmp(digits, wanted) ? PAST_HERE : PAST_ELSEWHERE;
}

enum past_place past_place(const struct past *past, const json_t *name)
{
	const char *device = past_text(past, "device"), *netns = past_text(past, "netns");
	enum past_place one = device ? device_place(&past->places, name, device) : PAST_HERE;
	enum past_place other = netns ? netns_place(&past->places, name, netns) : PAST_HERE;

	if (one == PAST_ELSEWHERE || other == PAST_ELSEWHERE)
		return PAST_ELSEWHERE;
	return one == PAST_EARLIER ? one : other;
}

bool past_takes_place(const struct past *past, const json_t *name)
{
	return past_place(past, name) == PAST_HERE;
}

void past_hide_keys(json_t *rows)
{
	json_t *row, *device;
	size_t i, j;

	json_array_foreach(rows, i, row)
	{
		place_keys_remove(row);
		json_array_foreach(json_object_get(row, "devices"), j, device)
			place_keys_remove(device);
	}
}
