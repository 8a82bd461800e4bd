/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/history/name_code.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "daemon/history/varint.h"

/* ---- members ------------------------------------------------------------------- */

static uint64_t get_number(const struct name_field *field, const void *from)
{
	const char *at = (const char *)from + field->at;

	switch (field->size) {
	case sizeof(uint8_t):
		return *(const uint8_t *)at;
	case sizeof(uint32_t):
		return *(const uint32_t *)at;
	default:
		return *(const uint64_t *)at;
	}
}

/* False: it has no room for the number. */
static bool set_number(const struct name_field *field, void *into, uint64_t number)
{
	char *at = (char *)into + field->at;

	switch (field->size) {
	case sizeof(uint8_t):
		*(uint8_t *)at = (uint8_t)number;
		break;
	case sizeof(uint32_t):
		*(uint32_t *)at = (uint32_t)number;
		break;
	default:
		*(uint64_t *)at = number;
	}
	return get_number(field, into) == number;
}

/* ---- writing ------------------------------------------------------------------- */

struct output {
	uint8_t *bytes;
	size_t size, room;
};

static bool put_text(struct output *out, uint8_t id, const char *text)
{
	size_t size = strlen(text) + 1;

	if (1 + size > out->room - out->size)
		return false;
	out->bytes[out->size++] = id;
	memcpy(out->bytes + out->size, text, size);
	out->size += size;
	return true;
}

static bool put_number(struct output *out, uint8_t id, uint64_t number)
{
	if (1 + VARINT_MAX > out->room - out->size)
		return false;
	out->bytes[out->size++] = id;
	out->size += varint_put(out->bytes + out->size, number);
	return true;
}

size_t name_encode(const struct name_field *fields, size_t count, const void *from, uint8_t *bytes,
		   size_t room)
{
	struct output out = {.bytes = bytes, .room = room};

	for (size_t i = 0; i < count; i++) {
		const struct name_field *field = &fields[i];
		const char *text = NULL;
		uint64_t number = 0;

		if (field->size)
			number = get_number(field, from);
		else
			text = *(const char *const *)((const char *)from + field->at);
		if ((text && !put_text(&out, field->id, text)) ||
		    (number && !put_number(&out, field->id, number)))
			return 0;
	}
	return out.size;
}

/* ---- reading ------------------------------------------------------------------- */

static const struct name_field *find(const struct name_field *fields, size_t count, uint8_t id)
{
	for (size_t i = 0; i < count; i++)
		if (fields[i].id == id)
			return &fields[i];
	return NULL;
}

/* The bytes of the value; 0: it is none. */
static size_t read_value(const struct name_field *field, void *into, const uint8_t *bytes,
			 size_t size)
{
	const uint8_t *end;
	uint64_t number;
	size_t used;

	if (field->size) {
		used = varint_get(bytes, size, &number);
		return used && set_number(field, into, number) ? used : 0;
	}
	end = memchr(bytes, 0, size);
	if (!end)
		return 0;
	*(const char **)((char *)into + field->at) = (const char *)bytes;
	return (size_t)(end - bytes) + 1;
}

int name_decode(const struct name_field *fields, size_t count, void *into, const uint8_t *bytes,
		size_t size)
{
	for (size_t at = 0, used; at < size; at += used) {
		const struct name_field *field = find(fields, count, bytes[at++]);

		used = field && at < size ? read_value(field, into, bytes + at, size - at) : 0;
		if (!used)
			return -EBADMSG;
	}
	return 0;
}
