/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the governor does, for status and coverage. */
#ifndef DAEMON_CONTROL_GOVERNOR_H
#define DAEMON_CONTROL_GOVERNOR_H

#include <jansson.h>

struct governor;

/* Why a probe is detached. */
extern const char control_detached[];

/* Type Governor of the interface; NULL: no memory. */
json_t *control_governor(const struct governor *governor);

/*
 * What is lost of a question because load is shed; NULL: nothing.  The text has no figures: the history keeps each one
 * that is new.
 */
const char *control_shed(const struct governor *governor, const char *question);

#endif
