/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a series is about, as its name in the file says it: a row of drops, or what all other kinds have. */
#ifndef DAEMON_HISTORY_SERIES_NAME_H
#define DAEMON_HISTORY_SERIES_NAME_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/core/device.h"

struct drop_row;
struct texts;

/*
 * Of all kinds but HISTORY_DROPS.  Names are compared as bytes, so they begin as zeros and their texts are of one
 * struct texts.
 */
struct series_name {
	struct device device;
	const char *segment; /* of segment_histograms */
	const char *probe;   /* of probe_specs */
	uint32_t cpu;
	uint8_t xen;	/* ring slots of xen-netfront */
	uint8_t other;	/* all devices without a row of their own */
	uint8_t unsure; /* the namespace can have a name that was not found in time */
	uint8_t reserved;
};

/* Room for any name: the longest has a cgroup's path, which is a PATH_MAX. */
#define SERIES_NAME_MAX 16384

/* Write a name to `bytes`.  The bytes written; a name of nothing has none. */
size_t series_name_encode(const struct series_name *name, uint8_t bytes[static SERIES_NAME_MAX]);
/* All but the numbers of the row, and its mark. */
size_t series_name_encode_drops(const struct drop_row *row, uint8_t bytes[static SERIES_NAME_MAX]);

/* Set all of a name, or of a row of zeros; the texts are those in `bytes`.  -EBADMSG. */
int series_name_decode(struct series_name *name, const uint8_t *bytes, size_t size);
int series_name_decode_drops(struct drop_row *row, const uint8_t *bytes, size_t size);

/* Keep the texts of a name, which are borrowed before.  texts->failed: memory ran out. */
void series_name_keep(struct series_name *name, struct texts *texts);
/* The same if all of them are kept already; otherwise false, and the name is of no use. */
bool series_name_find(struct series_name *name, const struct texts *texts);

#endif
