/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/history/fields.h"

#include <errno.h>
#include <string.h>

#include "daemon/history/varint.h"

/* The lower bits of a field's first byte. */
#define KIND_BITS 2
#define KIND_MASK 3

/* ---- writing ------------------------------------------------------------------- */

/* Whether there is room for a field with `size` bytes; then its first byte is written. */
static bool begin(struct fields_output *out, uint8_t id, unsigned int kind, size_t size)
{
	if (out->full || 1 + size > out->room - out->size) {
		out->full = true;
		return false;
	}
	out->bytes[out->size++] = (uint8_t)(id << KIND_BITS | kind);
	return true;
}

static void append(struct fields_output *out, const void *bytes, size_t size)
{
	memcpy(out->bytes + out->size, bytes, size);
	out->size += size;
}

void fields_put_number(struct fields_output *out, uint8_t id, uint64_t number)
{
	if (number && begin(out, id, FIELD_NUMBER, VARINT_MAX))
		out->size += varint_put(out->bytes + out->size, number);
}

void fields_put_text(struct fields_output *out, uint8_t id, const char *text)
{
	size_t size = text ? strlen(text) + 1 : 0;

	if (text && begin(out, id, FIELD_TEXT, size))
		append(out, text, size);
}

void fields_put_bytes(struct fields_output *out, uint8_t id, const void *bytes, size_t size)
{
	if (!begin(out, id, FIELD_BYTES, VARINT_MAX + size))
		return;
	out->size += varint_put(out->bytes + out->size, size);
	append(out, bytes, size);
}

/* ---- reading ------------------------------------------------------------------- */

static bool read_text(struct fields_input *in, struct field_value *value)
{
	const uint8_t *text = in->bytes + in->at, *end = NULL;

	if (in->at < in->size)
		end = memchr(text, 0, in->size - in->at);
	if (!end)
		return false;
	value->text = (const char *)text;
	in->at += (size_t)(end - text) + 1;
	return true;
}

static bool read_number(struct fields_input *in, uint64_t *number)
{
	size_t used = varint_get(in->bytes + in->at, in->size - in->at, number);

	in->at += used;
	return used;
}

static bool read_bytes(struct fields_input *in, struct field_value *value)
{
	uint64_t size;

	if (!read_number(in, &size) || size > in->size - in->at)
		return false;
	value->bytes = in->bytes + in->at;
	value->size = (size_t)size;
	in->at += (size_t)size;
	return true;
}

int fields_next(struct fields_input *in, struct field_value *value)
{
	bool read = false;
	uint8_t first;

	if (in->at == in->size)
		return 0;
	first = in->bytes[in->at++];
	*value = (struct field_value){.id = first >> KIND_BITS, .kind = first & KIND_MASK};
	if (value->kind == FIELD_NUMBER)
		read = read_number(in, &value->number);
	else if (value->kind == FIELD_TEXT)
		read = read_text(in, value);
	else if (value->kind == FIELD_BYTES)
		read = read_bytes(in, value);
	return read && value->id ? 1 : -EBADMSG;
}

/* ---- members of a struct --------------------------------------------------------- */

static uint64_t get_number(const struct field *field, const void *from)
{
	const char *at = (const char *)from + field->at;

	switch (field->size) {
	case sizeof(uint8_t):
		return *(const uint8_t *)at;
	case sizeof(uint16_t):
		return *(const uint16_t *)at;
	case sizeof(uint32_t):
		return *(const uint32_t *)at;
	default:
		return *(const uint64_t *)at;
	}
}

/* False: it has no room for the number. */
static bool set_number(const struct field *field, void *into, uint64_t number)
{
	char *at = (char *)into + field->at;

	if (field->truth && number > 1)
		return false;
	switch (field->size) {
	case sizeof(uint8_t):
		*(uint8_t *)at = (uint8_t)number;
		break;
	case sizeof(uint16_t):
		*(uint16_t *)at = (uint16_t)number;
		break;
	case sizeof(uint32_t):
		*(uint32_t *)at = (uint32_t)number;
		break;
	default:
		*(uint64_t *)at = number;
	}
	return get_number(field, into) == number;
}

void fields_put(struct fields_output *out, const struct field *fields, size_t count,
		const void *from)
{
	for (size_t i = 0; i < count; i++) {
		const struct field *field = &fields[i];
		const char *at = (const char *)from + field->at;

		if (field->size)
			fields_put_number(out, field->id, get_number(field, from));
		else
			fields_put_text(out, field->id, *(const char *const *)at);
	}
}

static const struct field *find(const struct field *fields, size_t count, uint8_t id)
{
	for (size_t i = 0; i < count; i++)
		if (fields[i].id == id)
			return &fields[i];
	return NULL;
}

int fields_set(const struct field *fields, size_t count, void *into,
	       const struct field_value *value)
{
	const struct field *field = find(fields, count, value->id);

	if (!field)
		return 0;
	if (field->size && value->kind == FIELD_NUMBER)
		return set_number(field, into, value->number) ? 1 : -EBADMSG;
	if (field->size || value->kind != FIELD_TEXT)
		return -EBADMSG;
	*(const char **)((char *)into + field->at) = value->text;
	return 1;
}

int fields_read(const struct field *fields, size_t count, void *into, const uint8_t *bytes,
		size_t size)
{
	struct fields_input in = {.bytes = bytes, .size = size};
	struct field_value value;
	int r;

	while ((r = fields_next(&in, &value)) > 0) {
		r = fields_set(fields, count, into, &value);
		if (r < 1)
			return -EBADMSG;
	}
	return r;
}
