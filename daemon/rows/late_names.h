/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of namespaces that came late: under load a namespace has no name for an interval, and then its name.  Rows that
 * are not sure of it get the name that others of their namespace have, unless it had several.
 */
#ifndef DAEMON_ROWS_LATE_NAMES_H
#define DAEMON_ROWS_LATE_NAMES_H

#include <stddef.h>

#include "common/cleanup.h"
#include "common/map.h"

struct device;

/* One that is all zeros knows none. */
struct late_names {
	struct late_name *at;
	size_t count, room;
	struct map map;
};

void late_names_clear(struct late_names *names);
#define OWN_LATE_NAMES CLEANUP(late_names_clear)

/* Learn the name that a row has for sure; texts are compared by address.  -ENOMEM. */
int late_names_learn(struct late_names *names, const struct device *device);
/* Give a row the name of its namespace, if one is known. */
void late_names_give(const struct late_names *names, struct device *device);

#endif
