/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/history/series_name.h"

#include "common/array.h"
#include "common/texts.h"
#include "daemon/core/verdict.h"
#include "daemon/history/fields.h"
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

#define DEVICE_FIELDS(type, member)                                                               \
	FIELD_TEXT_OF(DEVICE, type, member.name), FIELD_NUMBER_OF(IFINDEX, type, member.ifindex), \
		FIELD_NUMBER_OF(NETNS, type, member.netns),                                       \
		FIELD_TEXT_OF(NETNS_NAME, type, member.netns_name),                               \
		FIELD_NUMBER_OF(NETNS_ID, type, member.netns_id),                                 \
		FIELD_NUMBER_OF(IDENTITY, type, member.identity)

static const struct field name_fields[] = {
	DEVICE_FIELDS(struct series_name, device),
	FIELD_NUMBER_OF(UNSURE, struct series_name, unsure),
	FIELD_NUMBER_OF(OTHER, struct series_name, other),
	FIELD_TEXT_OF(SEGMENT, struct series_name, segment),
	FIELD_TEXT_OF(PROBE, struct series_name, probe),
	FIELD_NUMBER_OF(CPU, struct series_name, cpu),
	FIELD_NUMBER_OF(XEN, struct series_name, xen),
};

static const struct field drop_fields[] = {
	DEVICE_FIELDS(struct drop_row, key.device),
	FIELD_NUMBER_OF(UNSURE, struct drop_row, key.unsure),
	FIELD_TEXT_OF(REASON, struct drop_row, key.reason),
	FIELD_TEXT_OF(KERNEL_REASON, struct drop_row, key.kernel_reason),
	FIELD_NUMBER_OF(REASON_NUMBER, struct drop_row, key.reason_number),
	FIELD_NUMBER_OF(NUMBERED, struct drop_row, key.numbered),
	FIELD_NUMBER_OF(INFERRED, struct drop_row, key.inferred),
	FIELD_TEXT_OF(SUBSYSTEM, struct drop_row, key.subsystem),
	FIELD_TEXT_OF(CANDIDATES, struct drop_row, key.candidates),
	FIELD_NUMBER_OF(CLASS, struct drop_row, key.class),
	FIELD_NUMBER_OF(MESSAGE, struct drop_row, key.message),
	FIELD_TEXT_OF(LOCATION, struct drop_row, key.location),
	FIELD_TEXT_OF(FUNCTION, struct drop_row, key.function),
	FIELD_TEXT_OF(PROTOCOL, struct drop_row, key.protocol),
	FIELD_TEXT_OF(CGROUP, struct drop_row, key.cgroup),
	FIELD_NUMBER_OF(CGROUP_ID, struct drop_row, key.cgroup_id),
	FIELD_TEXT_OF(UNIT, struct drop_row, key.unit),
	FIELD_TEXT_OF(CONTAINER, struct drop_row, key.container),
	FIELD_TEXT_OF(POD, struct drop_row, key.pod),
	FIELD_NUMBER_OF(BY_NETNS, struct drop_row, key.by_netns),
	FIELD_NUMBER_OF(EVIDENCE, struct drop_row, evidence),
	FIELD_NUMBER_OF(LOST, struct drop_row, lost),
};

size_t series_name_encode(const struct series_name *name, uint8_t bytes[static SERIES_NAME_MAX])
{
	struct fields_output out = {.bytes = bytes, .room = SERIES_NAME_MAX};

	fields_put(&out, name_fields, ARRAY_SIZE(name_fields), name);
	return out.full ? 0 : out.size;
}

size_t series_name_encode_drops(const struct drop_row *row, uint8_t bytes[static SERIES_NAME_MAX])
{
	struct fields_output out = {.bytes = bytes, .room = SERIES_NAME_MAX};

	fields_put(&out, drop_fields, ARRAY_SIZE(drop_fields), row);
	return out.full ? 0 : out.size;
}

int series_name_decode(struct series_name *name, const uint8_t *bytes, size_t size)
{
	return fields_read(name_fields, ARRAY_SIZE(name_fields), name, bytes, size, NULL, NULL);
}

int series_name_decode_drops(struct drop_row *row, const uint8_t *bytes, size_t size)
{
	int r = fields_read(drop_fields, ARRAY_SIZE(drop_fields), row, bytes, size, NULL, NULL);

	if (row->key.class >= KNOWLEDGE_CLASSES)
		row->key.class = KNOWLEDGE_UNKNOWN;
	row->host = device_in_host(&row->key.device);
	return r;
}

#define NAME_TEXTS(name)                                                                           \
	{                                                                                          \
		&(name)->device.name, &(name)->device.netns_name, &(name)->segment, &(name)->probe \
	}

void series_name_keep(struct series_name *name, struct texts *texts)
{
	const char **const all[] = NAME_TEXTS(name);

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		*all[i] = texts_keep(texts, *all[i], SIZE_MAX);
}

bool series_name_find(struct series_name *name, const struct texts *texts)
{
	const char **const all[] = NAME_TEXTS(name);

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (!texts_replace(texts, all[i]))
			return false;
	return true;
}
