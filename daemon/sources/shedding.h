/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the governor does, for status and coverage. */
#ifndef DAEMON_SOURCES_SHEDDING_H
#define DAEMON_SOURCES_SHEDDING_H

#include <jansson.h>

struct governor;

/* Why a probe is detached. */
extern const char shedding_detached[];

/* Type Governor of the interface; NULL: no memory. */
json_t *shedding_json(const struct governor *governor);

/*
 * What is lost of a question because load is shed; NULL: nothing.  The text has no figures: the history keeps each one
 * that is new.
 */
const char *shedding_reason(const struct governor *governor, const char *question);

#endif
