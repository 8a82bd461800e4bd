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
	size_t opened = fields_open(out, id);

	if (out->full || size > out->room - out->size)
		out->full = true;
	else
		append(out, bytes, size);
	fields_close(out, opened);
}

size_t fields_open(struct fields_output *out, uint8_t id)
{
	begin(out, id, FIELD_BYTES, 0);
	return out->size;
}

/* The length, which is known only now, goes in front. */
void fields_close(struct fields_output *out, size_t opened)
{
	uint8_t length[VARINT_MAX], *list = out->bytes + opened;
	size_t size = out->size - opened, used = varint_put(length, size);

	if (out->full || used > out->room - out->size) {
		out->full = true;
		return;
	}
	memmove(list + used, list, size);
	memcpy(list, length, used);
	out->size += used;
}

/* ---- reading ------------------------------------------------------------------- */

struct input {
	const uint8_t *bytes;
	size_t size, at;
};

static bool read_text(struct input *in, struct field_value *value)
{
	const uint8_t *text = in->bytes + in->at, *end = NULL;

	if (in->at < in->size)
		end = memchr(text, 0, in->size - in->at);
	if (!end)
		return false;
	value->text = (const char *)text;
	value->size = (size_t)(end - text);
	in->at += value->size + 1;
	return true;
}

static bool read_number(struct input *in, uint64_t *number)
{
	size_t used = varint_get(in->bytes + in->at, in->size - in->at, number);

	in->at += used;
	return used;
}

static bool read_bytes(struct input *in, struct field_value *value)
{
	uint64_t size;

	if (!read_number(in, &size) || size > in->size - in->at)
		return false;
	value->bytes = in->bytes + in->at;
	value->size = (size_t)size;
	in->at += value->size;
	return true;
}

static bool read_value(struct input *in, struct field_value *value)
{
	uint8_t first = in->bytes[in->at++];

	*value = (struct field_value){.id = first >> KIND_BITS, .kind = first & KIND_MASK};
	if (!value->id)
		return false;
	switch (value->kind) {
	case FIELD_NUMBER:
		return read_number(in, &value->number);
	case FIELD_TEXT:
		return read_text(in, value);
	case FIELD_BYTES:
		return read_bytes(in, value);
	}
	return false;
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

static void put_chars(struct fields_output *out, uint8_t id, const char *chars, size_t most)
{
	size_t length = strnlen(chars, most);

	if (!length || !begin(out, id, FIELD_TEXT, length + 1))
		return;
	append(out, chars, length);
	append(out, "", 1);
}

void fields_put(struct fields_output *out, const struct field *fields, size_t count,
		const void *from)
{
	for (size_t i = 0; i < count; i++) {
		const struct field *field = &fields[i];
		const char *at = (const char *)from + field->at;

		if (field->is == FIELD_IS_TEXT)
			fields_put_text(out, field->id, *(const char *const *)at);
		else if (field->is == FIELD_IS_CHARS)
			put_chars(out, field->id, at, field->size);
		else
			fields_put_number(out, field->id, get_number(field, from));
	}
}

/* False: the member has no room for the value, or is of another kind. */
static bool set(const struct field *field, void *into, const struct field_value *value)
{
	char *at = (char *)into + field->at;
	bool is_number = field->is == FIELD_IS_NUMBER || field->is == FIELD_IS_TRUTH;

	if (value->kind != (is_number ? FIELD_NUMBER : FIELD_TEXT))
		return false;
	if (field->is == FIELD_IS_TEXT)
		*(const char **)at = value->text;
	else if (field->is == FIELD_IS_CHARS && value->size <= field->size)
		memcpy(at, value->text, value->size);
	else if (field->is == FIELD_IS_CHARS || (field->is == FIELD_IS_TRUTH && value->number > 1))
		return false;
	return !is_number || set_number(field, into, value->number);
}

static const struct field *find(const struct field *fields, size_t count, uint8_t id)
{
	for (size_t i = 0; i < count; i++)
		if (fields[i].id == id)
			return &fields[i];
	return NULL;
}

int fields_read(const struct field *fields, size_t count, void *into, const uint8_t *bytes,
		size_t size, fields_other other, void *userdata)
{
	struct input in = {.bytes = bytes, .size = size};

	while (in.at < in.size) {
		const struct field *field;
		struct field_value value;

		if (!read_value(&in, &value))
			return -EBADMSG;
		field = find(fields, count, value.id);
		if (field ? !set(field, into, &value) : !other || other(&value, userdata) < 0)
			return -EBADMSG;
	}
	return 0;
}
