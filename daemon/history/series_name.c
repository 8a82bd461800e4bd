/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/history/series_name.h"

#include <string.h>

#include "common/array.h"
#include "common/texts.h"
#include "daemon/core/verdict.h"
#include "daemon/history/name_code.h"
#include "daemon/rows/drop_row.h"

/* The numbers are part of the file's format, as are bits of evidence, classes, and what is lost in the values. */
enum {
	DEVICE = 1,
	IFINDEX,
	NETNS,
	NETNS_NAME,
	NETNS_ID,
	IDENTITY,
	UNSURE,
	OTHER,
	SEGMENT,
	PROBE,
	CPU,
	XEN,
	REASON,
	KERNEL_REASON,
	REASON_NUMBER,
	NUMBERED,
	INFERRED,
	SUBSYSTEM,
	CANDIDATES,
	CLASS,
	MESSAGE,
	LOCATION,
	FUNCTION,
	PROTOCOL,
	CGROUP,
	CGROUP_ID,
	UNIT,
	CONTAINER,
	POD,
	BY_NETNS,
	EVIDENCE,
	LOST,
};

#define DEVICE_FIELDS(type, member)                                                       \
	NAME_TEXT(DEVICE, type, member.name), NAME_NUMBER(IFINDEX, type, member.ifindex), \
		NAME_NUMBER(NETNS, type, member.netns),                                   \
		NAME_TEXT(NETNS_NAME, type, member.netns_name),                           \
		NAME_NUMBER(NETNS_ID, type, member.netns_id),                             \
		NAME_NUMBER(IDENTITY, type, member.identity)

static const struct name_field name_fields[] = {
	DEVICE_FIELDS(struct series_name, device),
	NAME_NUMBER(UNSURE, struct series_name, unsure),
	NAME_NUMBER(OTHER, struct series_name, other),
	NAME_TEXT(SEGMENT, struct series_name, segment),
	NAME_TEXT(PROBE, struct series_name, probe),
	NAME_NUMBER(CPU, struct series_name, cpu),
	NAME_NUMBER(XEN, struct series_name, xen),
};

static const struct name_field drop_fields[] = {
	DEVICE_FIELDS(struct drop_row, key.device),
	NAME_NUMBER(UNSURE, struct drop_row, key.unsure),
	NAME_TEXT(REASON, struct drop_row, key.reason),
	NAME_TEXT(KERNEL_REASON, struct drop_row, key.kernel_reason),
	NAME_NUMBER(REASON_NUMBER, struct drop_row, key.reason_number),
	NAME_NUMBER(NUMBERED, struct drop_row, key.numbered),
	NAME_NUMBER(INFERRED, struct drop_row, key.inferred),
	NAME_TEXT(SUBSYSTEM, struct drop_row, key.subsystem),
	NAME_TEXT(CANDIDATES, struct drop_row, key.candidates),
	NAME_NUMBER(CLASS, struct drop_row, key.class),
	NAME_NUMBER(MESSAGE, struct drop_row, key.message),
	NAME_TEXT(LOCATION, struct drop_row, key.location),
	NAME_TEXT(FUNCTION, struct drop_row, key.function),
	NAME_TEXT(PROTOCOL, struct drop_row, key.protocol),
	NAME_TEXT(CGROUP, struct drop_row, key.cgroup),
	NAME_NUMBER(CGROUP_ID, struct drop_row, key.cgroup_id),
	NAME_TEXT(UNIT, struct drop_row, key.unit),
	NAME_TEXT(CONTAINER, struct drop_row, key.container),
	NAME_TEXT(POD, struct drop_row, key.pod),
	NAME_NUMBER(BY_NETNS, struct drop_row, key.by_netns),
	NAME_NUMBER(EVIDENCE, struct drop_row, evidence),
	NAME_NUMBER(LOST, struct drop_row, lost),
};

size_t series_name_encode(const struct series_name *name, uint8_t bytes[static SERIES_NAME_MAX])
{
	return name_encode(name_fields, ARRAY_SIZE(name_fields), name, bytes, SERIES_NAME_MAX);
}

size_t series_name_encode_drops(const struct drop_row *row, uint8_t bytes[static SERIES_NAME_MAX])
{
	return name_encode(drop_fields, ARRAY_SIZE(drop_fields), row, bytes, SERIES_NAME_MAX);
}

int series_name_decode(struct series_name *name, const uint8_t *bytes, size_t size)
{
	return name_decode(name_fields, ARRAY_SIZE(name_fields), name, bytes, size);
}

int series_name_decode_drops(struct drop_row *row, const uint8_t *bytes, size_t size)
{
	int r = name_decode(drop_fields, ARRAY_SIZE(drop_fields), row, bytes, size);

	if (row->key.class >= KNOWLEDGE_CLASSES)
		row->key.class = KNOWLEDGE_UNKNOWN;
	row->host = row->key.device.netns_name && !strcmp(row->key.device.netns_name, "host");
	return r;
}

void series_name_keep(struct series_name *name, struct texts *texts)
{
	name->device.name = texts_keep(texts, name->device.name, SIZE_MAX);
	name->device.netns_name = texts_keep(texts, name->device.netns_name, SIZE_MAX);
	name->segment = texts_keep(texts, name->segment, SIZE_MAX);
	name->probe = texts_keep(texts, name->probe, SIZE_MAX);
}
