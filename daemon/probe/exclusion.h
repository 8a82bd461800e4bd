/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Devices that the kernel's trace events do not show: names, or patterns with * and ?.  The kernel itself passes over
 * their events, by a filter.
 */
#ifndef DAEMON_PROBE_EXCLUSION_H
#define DAEMON_PROBE_EXCLUSION_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/records.h"

/* A filter with 32 names has some 1 KiB; the kernel takes a page. */
#define EXCLUSION_NAMES 32
#define EXCLUSION_ERROR_MAX 256
#define EXCLUSION_TEXT_MAX (EXCLUSION_NAMES * (NF_DEVICE_NAME + 2))

struct exclusion {
	uint64_t names;				    /* entries of name[] */
	char name[EXCLUSION_NAMES][NF_DEVICE_NAME]; /* padded with zeros */
};

/*
 * Read a list with commas or blanks between the names.  -EINVAL: `error` says which name is wrong, and what to do; then
 * *exclusion is as before.
 */
int exclusion_parse(struct exclusion *exclusion, const char *text,
		    char error[static EXCLUSION_ERROR_MAX]);

/* The list, with commas and blanks between: "veth*, docker0". */
void exclusion_format(const struct exclusion *exclusion, char text[static EXCLUSION_TEXT_MAX]);

/*
 * The filter of an event whose field `device` has the name of the device, NULL: it has none; `other` is its filter
 * besides, or NULL.  On the heap; *filter is NULL if there is nothing to filter.  -ENOMEM.
 */
int exclusion_filter(const struct exclusion *exclusion, const char *device, const char *other,
		     char **filter);

#endif
