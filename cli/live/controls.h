/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The keys of the live view, and everything that they change. */
#ifndef CLI_LIVE_CONTROLS_H
#define CLI_LIVE_CONTROLS_H

#include "cli/live/view.h"

/* Bytes of a typed name and the 0 at its end; a device's name has at most 15. */
#define CONTROLS_TEXT_MAX 64

struct controls {
	struct view_state view;
	bool quit;
	bool restart; /* the device changed: the next reading compares with none, and is due now */
	bool typing;  /* the name of a device is being typed */
	char device[CONTROLS_TEXT_MAX]; /* the views show only this one; empty: all devices */
	char typed[CONTROLS_TEXT_MAX];
	char message[2 * CONTROLS_TEXT_MAX]; /* why the last input failed; empty: it did not */
};

/* NULL for all devices. */
const char *controls_device(const struct controls *controls);

/* Show only this device from now on; NULL or empty: all. */
void controls_choose(struct controls *controls, const char *device);

/* Do what `key` is for: a byte or an enum screen_key.  A key without a use changes nothing. */
void controls_press(struct controls *controls, int key);

/* Put the last line of the screen: what is being typed, the message, or the keys. */
void controls_put_foot(const struct controls *controls, struct page *page);

#endif
