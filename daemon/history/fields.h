/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the file has names of series, and records: a list of fields.  A field is a byte with its number and its kind, and
 * its value: a number of variable length, a text with its 0, or bytes behind their length.  A number or a text that is
 * not known, 0 or NULL, has no field, so equal structs have equal bytes.  Pure arithmetic.
 */
#ifndef DAEMON_HISTORY_FIELDS_H
#define DAEMON_HISTORY_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers of fields are from 1; they are part of the file's format. */
#define FIELD_ID_MAX 63

/* ---- writing ------------------------------------------------------------------- */

struct fields_output {
	uint8_t *bytes;
	size_t size, room;
	bool full; /* a field had no room */
};

void fields_put_number(struct fields_output *out, uint8_t id, uint64_t number);
void fields_put_text(struct fields_output *out, uint8_t id, const char *text);
void fields_put_bytes(struct fields_output *out, uint8_t id, const void *bytes, size_t size);

/* ---- reading ------------------------------------------------------------------- */

struct fields_input {
	const uint8_t *bytes;
	size_t size, at;
};

/* Texts and bytes are those of the input. */
struct field_value {
	uint8_t id;
	enum { FIELD_NUMBER, FIELD_TEXT, FIELD_BYTES } kind;
	uint64_t number;
	const char *text;
	const uint8_t *bytes;
	size_t size;
};

/* 1: the next field; 0: there is none; -EBADMSG: the bytes are no list of fields. */
int fields_next(struct fields_input *in, struct field_value *value);

/* ---- members of a struct --------------------------------------------------------- */

struct field {
	uint8_t id;
	uint8_t size; /* of a number, 1, 2, 4 or 8 bytes; 0: it is a text, const char * */
	uint16_t at;  /* its offset */
	bool truth;   /* the number is a bool */
};

#define FIELD_TEXT_OF(id, type, member)              \
	{                                            \
		id, 0, offsetof(type, member), false \
	}
#define FIELD_NUMBER_OF(id, type, member)                                                      \
	{                                                                                      \
		id, sizeof(((type *)NULL)->member), offsetof(type, member),                    \
			__builtin_types_compatible_p(__typeof__(((type *)NULL)->member), bool) \
	}

void fields_put(struct fields_output *out, const struct field *fields, size_t count,
		const void *from);
/* 1: the value is that of a member, which is set; 0: it is of none; -EBADMSG: the member has no room for it. */
int fields_set(const struct field *fields, size_t count, void *into,
	       const struct field_value *value);

/* All of a struct of zeros, which has no other fields.  -EBADMSG. */
int fields_read(const struct field *fields, size_t count, void *into, const uint8_t *bytes,
		size_t size);

#endif
