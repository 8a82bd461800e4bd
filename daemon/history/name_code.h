/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The name of a series as the file has it: for each field that is known its number, and its value, a text with its 0 or
 * a number of variable length.  Equal names have equal bytes.  Pure arithmetic.
 */
#ifndef DAEMON_HISTORY_NAME_CODE_H
#define DAEMON_HISTORY_NAME_CODE_H

#include <stddef.h>
#include <stdint.h>

/* A member of a struct. */
struct name_field {
	uint8_t id;   /* part of the file's format; 0 is none */
	uint8_t size; /* of a number, 1, 4 or 8 bytes; 0: it is a text, const char * */
	uint16_t at;  /* its offset */
};

#define NAME_TEXT(id, type, member)           \
	{                                     \
		id, 0, offsetof(type, member) \
	}
#define NAME_NUMBER(id, type, member)                                      \
	{                                                                  \
		id, sizeof(((type *)NULL)->member), offsetof(type, member) \
	}

/*
 * Write the fields of `from` that are neither NULL nor 0.  The bytes written, or 0 if there is nothing, or no room for
 * all of it.
 */
size_t name_encode(const struct name_field *fields, size_t count, const void *from, uint8_t *bytes,
		   size_t room);

/*
 * Set those fields of `into`, which is all zeros; the texts are those in `bytes`.  -EBADMSG: the bytes are not such a
 * name.
 */
int name_decode(const struct name_field *fields, size_t count, void *into, const uint8_t *bytes,
		size_t size);

#endif
