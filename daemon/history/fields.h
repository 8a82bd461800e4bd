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

/* Numbers of fields are from 1 to 63; they are part of the file's format. */

/* ---- writing ------------------------------------------------------------------- */

struct fields_output {
	uint8_t *bytes;
	size_t size, room;
	bool full; /* a field had no room */
};

void fields_put_number(struct fields_output *out, uint8_t id, uint64_t number);
void fields_put_text(struct fields_output *out, uint8_t id, const char *text);
void fields_put_bytes(struct fields_output *out, uint8_t id, const void *bytes, size_t size);

/* What is put between both is a list in a field; fields_close() gets what fields_open() returned. */
size_t fields_open(struct fields_output *out, uint8_t id);
void fields_close(struct fields_output *out, size_t opened);

/* ---- reading ------------------------------------------------------------------- */

/* Texts and bytes are those of the list. */
struct field_value {
	uint8_t id;
	enum { FIELD_NUMBER, FIELD_TEXT, FIELD_BYTES } kind;
	uint64_t number;
	const char *text;
	const uint8_t *bytes;
	size_t size;
};

/* ---- members of a struct --------------------------------------------------------- */

struct field {
	uint8_t id;
	enum {
		FIELD_IS_NUMBER, /* of `size` bytes: 1, 2, 4 or 8 */
		FIELD_IS_TRUTH,	 /* a bool */
		FIELD_IS_TEXT,	 /* const char * */
		FIELD_IS_CHARS,	 /* an array that has up to `size` characters of a text */
	} is;
	uint16_t size;
	uint16_t at; /* its offset */
};

#define FIELD_MEMBER(type, member) (((type *)NULL)->member)
#define FIELD_TEXT_OF(id, type, member)                      \
	{                                                    \
		id, FIELD_IS_TEXT, 0, offsetof(type, member) \
	}
#define FIELD_NUMBER_OF(id, type, member)                                          \
	{                                                                          \
		id,                                                                \
			_Generic(FIELD_MEMBER(type, member), bool                  \
				 : FIELD_IS_TRUTH, default                         \
				 : FIELD_IS_NUMBER),                               \
			sizeof(FIELD_MEMBER(type, member)), offsetof(type, member) \
	}
#define FIELD_CHARS_OF(id, type, member, size)                   \
	{                                                        \
		id, FIELD_IS_CHARS, size, offsetof(type, member) \
	}

void fields_put(struct fields_output *out, const struct field *fields, size_t count,
		const void *from);

/* A field that is of no member.  0; -EBADMSG: it is not valid. */
typedef int (*fields_other)(const struct field_value *value, void *userdata);

/*
 * Set the members of a struct of zeros; what is of no member goes to `other`; NULL: there is no such field.  -EBADMSG:
 * the bytes are no such list.
 */
int fields_read(const struct field *fields, size_t count, void *into, const uint8_t *bytes,
		size_t size, fields_other other, void *userdata);

#endif
