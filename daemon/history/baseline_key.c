/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/history/baseline_key.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "daemon/rows/drop_row.h"

/* Between fields: no name has it. */
#define SEPARATOR '\t'
#define FAMILY_FIELDS 3

/* Hex digits at the end of a name that make it one of many. */
#define TAIL_MIN 4

#define DEVICE_MAX 64
#define FUNCTION_MAX 128

/* Bytes that are no plain text become one '?'. */
static void put(char *key, size_t *at, const char *text, size_t length)
{
	for (size_t i = 0; text && i < length && text[i] && *at < BASELINE_KEY_MAX - 1; i++) {
		bool plain = text[i] > ' ' && text[i] < 0x7f;

		if (plain || !*at || key[*at - 1] != '?')
			key[(*at)++] = plain ? text[i] : '?';
	}
}

static void end_field(char *key, size_t *at)
{
	if (*at < BASELINE_KEY_MAX - 1)
		key[(*at)++] = SEPARATOR;
}

/* An address differs after each boot. */
static size_t function_length(const char *text)
{
	size_t length = !text || !strncmp(text, "0x", 2) ? 0 : strcspn(text, "+.");

	return length < FUNCTION_MAX ? length : FUNCTION_MAX;
}

/* The length of the name up to the digits behind its last dot; 0: it has none. */
static size_t before_vlan(const char *name, size_t length)
{
	size_t at = length;

	while (at && isdigit((unsigned char)name[at - 1]))
		at--;
	return at > 1 && at < length && name[at - 1] == '.' ? at : 0;
}

/*
 * The length of the name up to at least TAIL_MIN hex digits, one of them decimal; 0: it has none, or nothing before
 * them.
 */
static size_t before_hex(const char *name, size_t length)
{
	size_t at = length, digits = 0;
	bool decimal = false;

	while (at && (isxdigit((unsigned char)name[at - 1]) || (name[at - 1] == '-' && digits))) {
		at--;
		digits += name[at] != '-';
		decimal |= isdigit((unsigned char)name[at]) != 0;
	}
	/* "br-" keeps its dash. */
	while (at < length && name[at] == '-')
		at++;
	return at && digits >= TAIL_MIN && decimal ? at : 0;
}

static void put_device(char *key, size_t *at, const char *name)
{
	size_t length = strnlen(name, DEVICE_MAX), group = before_vlan(name, length);

	if (!group)
		group = before_hex(name, length);
	put(key, at, name, group ? group : length);
	if (group)
		put(key, at, "*", 1);
}

void baseline_key(const struct baseline_cause *cause, char key[static BASELINE_KEY_MAX])
{
	char number[24];
	const char *reason = cause->reason;
	size_t at = 0;

	if (!reason && cause->number >= 0) {
		snprintf(number, sizeof(number), "#%lld", (long long)cause->number);
		reason = number;
	}
	put(key, &at, reason, 64);
	end_field(key, &at);
	put(key, &at, cause->function, function_length(cause->function));
	end_field(key, &at);
	put(key, &at, cause->class, 16);
	end_field(key, &at);
	put(key, &at, cause->protocol, 32);
	end_field(key, &at);
	put(key, &at, cause->host ? "host" : "", 4);
	end_field(key, &at);
	if (cause->host && cause->device)
		put_device(key, &at, cause->device);
	key[at] = 0;
}

size_t baseline_key_family(const char *key)
{
	size_t length = 0;

	for (int fields = 0; key[length]; length++)
		if (key[length] == SEPARATOR && ++fields == FAMILY_FIELDS)
			break;
	return length;
}

bool baseline_key_of(const struct drop_row *row, char key[static BASELINE_KEY_MAX])
{
	const struct drop_key *from = &row->key;
	const struct baseline_cause cause = {
		.reason = from->reason,
		.number = from->numbered ? (int64_t)from->reason_number : -1,
		/* An address without a symbol has no function. */
		.function = from->function ? from->function : from->location,
		.class = knowledge_class_name((enum knowledge_class)from->class),
		.protocol = from->protocol,
		.device = from->device.name,
		.host = row->host,
	};

	if (from->message || row->lost & (DROP_GONE | DROP_UNKEYED))
		return false;
	baseline_key(&cause, key);
	return true;
}
