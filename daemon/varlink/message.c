/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/varlink/message.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/framing.h"
#include "common/json.h"
#include "common/printable.h"

struct message_reader {
	size_t max_bytes;
	unsigned int max_depth;
	struct framing framing;
	bool bad;
	char error[256];
};

void message_free(struct message **message)
{
	if (!*message)
		return;
	free((*message)->method);
	json_decref((*message)->parameters);
	free(*message);
	*message = NULL;
}

int message_reader_new(struct message_reader **reader, size_t max_bytes, unsigned int max_depth)
{
	struct message_reader *new = calloc(1, sizeof(*new));

	if (!new)
		return -ENOMEM;
	new->max_bytes = max_bytes;
	new->max_depth = max_depth;
	*reader = new;
	return 0;
}

void message_reader_free(struct message_reader **reader)
{
	if (!*reader)
		return;
	framing_clear(&(*reader)->framing);
	free(*reader);
	*reader = NULL;
}

const char *message_reader_error(const struct message_reader *reader)
{
	return reader->bad ? reader->error : NULL;
}

bool message_reader_pending(const struct message_reader *reader)
{
	return framing_bytes(&reader->framing) > 0;
}

__attribute__((format(printf, 2, 3))) static int bad(struct message_reader *reader,
						     const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(reader->error, sizeof(reader->error), format, arguments);
	va_end(arguments);
	reader->bad = true;
	return -EBADMSG;
}

int message_reader_feed(struct message_reader *reader, const void *data, size_t size)
{
	return reader->bad ? -EBADMSG : framing_feed(&reader->framing, data, size);
}

/* ---- the meaning of a message ---------------------------------------------- */

/*
 * jansson's parser recurses for each level, so the levels are counted before it gets the text.  Text that is not JSON
 * is left for jansson to find.
 */
static int check_depth(struct message_reader *reader, const char *text, size_t length)
{
	unsigned int depth = 0;
	bool string = false;

	for (size_t i = 0; i < length; i++) {
		switch (text[i]) {
		case '\\':
			if (string)
				i++;
			break;
		case '"':
			string = !string;
			break;
		case '{':
		case '[':
			if (!string && ++depth > reader->max_depth)
				return bad(reader, "byte %zu: nested deeper than %u levels", i,
					   reader->max_depth);
			break;
		case '}':
		case ']':
			if (!string && depth)
				depth--;
			break;
		}
	}
	return 0;
}

static int decode(struct message_reader *reader, const char *text, size_t length, json_t **root)
{
	json_error_t error;
	int r;

	if (length == 0)
		return bad(reader, "the message is empty");
	r = check_depth(reader, text, length);
	if (r < 0)
		return r;
	/* jansson itself refuses integers that do not fit in int64_t. */
	*root = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
	if (*root)
		return 0;
	if (json_error_code(&error) == json_error_out_of_memory)
		return -ENOMEM;
	/* The error quotes the last bytes of the input; a reply must be able to contain it. */
	printable_ascii(error.text);
	return bad(reader, "byte %d: %s", error.position, error.text);
}

static const char *type_name(const json_t *value)
{
	/* clang-format off */
	static const char *const names[] = {
		[JSON_OBJECT] = "an object",
		[JSON_ARRAY] = "an array",
		[JSON_STRING] = "a string",
		[JSON_INTEGER] = "a number",
		[JSON_REAL] = "a number",
		[JSON_TRUE] = "a boolean",
		[JSON_FALSE] = "a boolean",
		[JSON_NULL] = "null",
	};
	/* clang-format on */

	return names[json_typeof(value)];
}

/* Read an optional member.  If it is absent or null, `flag` stays as it is. */
static int get_flag(struct message_reader *reader, const json_t *root, const char *name, bool *flag)
{
	const json_t *value = json_object_get(root, name);

	if (!value || json_is_null(value))
		return 0;
	if (!json_is_boolean(value))
		return bad(reader, "\"%s\" is %s, not a boolean", name, type_name(value));
	*flag = json_is_true(value);
	return 0;
}

static int get_flags(struct message_reader *reader, const json_t *root, struct message *message)
{
	bool upgrade = false;
	int r;

	r = get_flag(reader, root, "more", &message->more);
	if (r < 0)
		return r;
	r = get_flag(reader, root, "oneway", &message->oneway);
	if (r < 0)
		return r;
	r = get_flag(reader, root, "upgrade", &upgrade);
	if (r < 0)
		return r;
	if (upgrade)
		return bad(reader, "\"upgrade\" is not supported");
	if (message->more && message->oneway)
		return bad(reader, "\"more\" and \"oneway\" exclude each other");
	return 0;
}

static int get_method(struct message_reader *reader, const json_t *root, struct message *message)
{
	const json_t *method = json_object_get(root, "method");

	if (!method)
		return bad(reader, "\"method\" is missing");
	if (!json_is_string(method))
		return bad(reader, "\"method\" is %s, not a string", type_name(method));
	if (json_string_length(method) == 0)
		return bad(reader, "\"method\" is empty");
	message->method = strdup(json_string_value(method));
	return message->method ? 0 : -ENOMEM;
}

static int get_parameters(struct message_reader *reader, const json_t *root,
			  struct message *message)
{
	json_t *parameters = json_object_get(root, "parameters");

	if (!parameters || json_is_null(parameters))
		message->parameters = json_object();
	else if (json_is_object(parameters))
		message->parameters = json_incref(parameters);
	else
		return bad(reader, "\"parameters\" is %s, not an object", type_name(parameters));
	return message->parameters ? 0 : -ENOMEM;
}

static int interpret(struct message_reader *reader, const json_t *root, struct message *message)
{
	int r;

	if (!json_is_object(root))
		return bad(reader, "the message is %s, not an object", type_name(root));
	r = get_method(reader, root, message);
	if (r < 0)
		return r;
	r = get_parameters(reader, root, message);
	if (r < 0)
		return r;
	return get_flags(reader, root, message);
}

bool message_reader_ready(struct message_reader *reader)
{
	const char *text;
	size_t length;

	return reader->bad ||
	       framing_next(&reader->framing, reader->max_bytes, &text, &length) != 0;
}

int message_reader_next(struct message_reader *reader, struct message **message)
{
	OWN_MESSAGE struct message *new = NULL;
	OWN_JSON json_t *root = NULL;
	const char *text;
	size_t length;
	int r;

	if (reader->bad)
		return -EBADMSG;
	r = framing_next(&reader->framing, reader->max_bytes, &text, &length);
	if (r == -EMSGSIZE)
		return bad(reader, "the message is longer than %zu bytes", reader->max_bytes);
	if (r <= 0)
		return r;
	new = calloc(1, sizeof(*new));
	if (!new)
		return -ENOMEM;
	r = decode(reader, text, length, &root);
	if (r < 0)
		return r;
	r = interpret(reader, root, new);
	if (r < 0)
		return r;
	framing_consume(&reader->framing, length);
	*message = TAKE_PTR(new);
	return 1;
}
