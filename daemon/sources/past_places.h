/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which rows of the past are about the device and the namespace of a question.  A name means the device or namespace
 * that has it now, whatever its name was then, and not another one that had the name before.
 */
#ifndef DAEMON_SOURCES_PAST_PLACES_H
#define DAEMON_SOURCES_PAST_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/store/device_names.h"

struct device;
struct past;

/* With place_key()s. */
struct past_places {
	uint32_t netns;	    /* the number of the parameter `netns` now; 0: not known */
	uint64_t netns_key; /* of the namespace that has the name now; 0: not known */
	struct device_holders holders;
};

/* In the loop.  -ENOMEM. */
int past_places_find(struct past *past);
void past_places_clear(struct past_places *places);

enum past_place {
	PAST_ELSEWHERE,
	PAST_HERE,
	PAST_EARLIER, /* of a device or a namespace that had the name before the one that has it now */
};

/* Of a series, or a record. */
enum past_place past_place(const struct past *past, const struct device *device);

#endif
