/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What counts as one cause of drops for the baseline: a text that stays the same over restarts, reboots and containers.
 * Pure text.
 *
 * Its fields: reason, function, class, protocol, and the device of the host's own namespace.  Devices of other
 * namespaces are not distinguished, because their owners choose the names.
 */
#ifndef DAEMON_HISTORY_BASELINE_KEY_H
#define DAEMON_HISTORY_BASELINE_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct drop_row;

#define BASELINE_KEY_MAX 320

/* Of one row of drops; texts NULL: not known. */
struct baseline_cause {
	const char *reason; /* the kernel's name, or the inferred one */
	int64_t number;	    /* the reason's number on this kernel, where it has no name; -1: none */
	const char *function; /* a name, or a location: symbol+0xoffset, 0xaddress */
	const char *class;
	const char *protocol;
	const char *device; /* a name of at most 64 bytes counts */
	bool host;	    /* of the host's own namespace */
};

/*
 * Write the key of a cause.  The offset in the function, a suffix that the compiler adds to it (".isra.0") and an
 * address without a symbol do not count.  A device's name ends before the part in which many like it differ: "veth*" of
 * veth1a2b3c4, "eth0.*" of eth0.100; "eth0" and "eth1" stay.
 */
void baseline_key(const struct baseline_cause *cause, char key[static BASELINE_KEY_MAX]);

/* The length of the family, the part of the key that only the kernel's code determines: reason, function, class. */
size_t baseline_key_family(const char *key);

/*
 * The same of a row.  False: it has no key, because it is a sum whose location or device is no longer known (gone,
 * unkeyed, or coarse without a namespace), or because it is no packet (message).
 */
bool baseline_key_of(const struct drop_row *row, char key[static BASELINE_KEY_MAX]);

#endif
