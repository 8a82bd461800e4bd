/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "daemon/varlink/message.h"
#include "tests/unit/test.h"

static struct message_reader *reader_new(size_t max_bytes, unsigned int max_depth)
{
	struct message_reader *reader = NULL;

	assert_int_equal(message_reader_new(&reader, max_bytes, max_depth), 0);
	return reader;
}

static struct message_reader *default_reader(void)
{
	return reader_new(MESSAGE_MAX_BYTES, MESSAGE_MAX_DEPTH);
}

/* Reads `text` with its NUL byte as the only message, which must be valid. */
static struct message *read_one(const char *text)
{
	OWN_MESSAGE_READER struct message_reader *reader = default_reader();
	struct message *message = NULL;

	assert_int_equal(message_reader_feed(reader, text, strlen(text) + 1), 0);
	assert_int_equal(message_reader_next(reader, &message), 1);
	assert_null(message_reader_error(reader));
	assert_false(message_reader_pending(reader));
	return message;
}

static void assert_bad(const char *text, const char *reason)
{
	OWN_MESSAGE_READER struct message_reader *reader = default_reader();
	struct message *message = NULL;

	assert_int_equal(message_reader_feed(reader, text, strlen(text) + 1), 0);
	assert_int_equal(message_reader_next(reader, &message), -EBADMSG);
	assert_null(message);
	assert_string_equal(message_reader_error(reader), reason);
	/* The reader returns no more messages, even after valid input. */
	assert_int_equal(message_reader_feed(reader, "{\"method\":\"a.b\"}", 17), -EBADMSG);
	assert_int_equal(message_reader_next(reader, &message), -EBADMSG);
	assert_string_equal(message_reader_error(reader), reason);
}

TEST(test_members)
{
	OWN_MESSAGE struct message *message = NULL;

	message = read_one("{\"method\":\"a.B\",\"parameters\":{\"x\":[1,{}]},\"more\":true}");
	assert_string_equal(message->method, "a.B");
	assert_int_equal(json_object_size(message->parameters), 1);
	assert_true(message->more);
	assert_false(message->oneway);
	message_free(&message);
	assert_null(message);
	message_free(&message);

	message = read_one(" {\"oneway\" : true , \"method\":\"a.B\", \"other\": [1]}\n");
	assert_true(message->oneway);
	assert_false(message->more);
	assert_true(json_is_object(message->parameters));
	assert_int_equal(json_object_size(message->parameters), 0);
	message_free(&message);

	message = read_one("{\"method\":\"a.B\",\"parameters\":null,\"more\":null,"
			   "\"oneway\":null,\"upgrade\":null}");
	assert_false(message->more);
	assert_false(message->oneway);
	assert_int_equal(json_object_size(message->parameters), 0);
	message_free(&message);

	message = read_one("{\"method\":\"a.B\",\"upgrade\":false,\"more\":false}");
	assert_false(message->more);
}

TEST(test_integers)
{
	OWN_MESSAGE struct message *message = NULL;

	message = read_one("{\"method\":\"a.B\",\"parameters\":"
			   "{\"max\":9223372036854775807,\"min\":-9223372036854775808}}");
	assert_true(json_integer_value(json_object_get(message->parameters, "max")) == INT64_MAX);
	assert_true(json_integer_value(json_object_get(message->parameters, "min")) == INT64_MIN);
	assert_bad("{\"method\":\"a.B\",\"parameters\":{\"x\":9223372036854775808}}",
		   "byte 53: too big integer near '9223372036854775808'");
	assert_bad("{\"method\":\"a.B\",\"parameters\":{\"x\":-9223372036854775809}}",
		   "byte 54: too big negative integer near '-9223372036854775809'");
}

TEST(test_not_a_call)
{
	assert_bad("", "the message is empty");
	assert_bad("[]", "the message is an array, not an object");
	assert_bad("\"x\"", "the message is a string, not an object");
	assert_bad("1", "the message is a number, not an object");
	assert_bad("1.5", "the message is a number, not an object");
	assert_bad("null", "the message is null, not an object");
	assert_bad("true", "the message is a boolean, not an object");
	assert_bad("{}", "\"method\" is missing");
	assert_bad("{\"method\":null}", "\"method\" is null, not a string");
	assert_bad("{\"method\":1}", "\"method\" is a number, not a string");
	assert_bad("{\"method\":\"\"}", "\"method\" is empty");
	assert_bad("{\"method\":\"a.B\",\"parameters\":[]}",
		   "\"parameters\" is an array, not an object");
	assert_bad("{\"method\":\"a.B\",\"parameters\":\"x\"}",
		   "\"parameters\" is a string, not an object");
	assert_bad("{\"method\":\"a.B\",\"more\":1}", "\"more\" is a number, not a boolean");
	assert_bad("{\"method\":\"a.B\",\"oneway\":\"yes\"}",
		   "\"oneway\" is a string, not a boolean");
	assert_bad("{\"method\":\"a.B\",\"upgrade\":{}}",
		   "\"upgrade\" is an object, not a boolean");
	assert_bad("{\"method\":\"a.B\",\"upgrade\":true}", "\"upgrade\" is not supported");
	assert_bad("{\"method\":\"a.B\",\"more\":true,\"oneway\":true}",
		   "\"more\" and \"oneway\" exclude each other");
}

TEST(test_not_json)
{
	assert_bad("GET / HTTP/1.1\r\n", "byte 3: invalid token near 'GET'");
	assert_bad("{\"method\":\"a.B\"", "byte 15: '}' expected near end of file");
	assert_bad("{\"method\":\"a.B\"}x", "byte 17: end of file expected near 'x'");
	assert_bad("{\"method\":\"a.B\",\"method\":\"c.D\"}",
		   "byte 24: duplicate object key near '\"method\"'");
	assert_bad("{\"method\":\"a\n", "byte 12: unexpected newline near '\"a'");
	assert_bad("{\"method\":\"a\\u0000\"}",
		   "byte 19: \\u0000 is not allowed without JSON_ALLOW_NUL near '\"a\\u0000\"'");
	/* Half a character before an invalid escape must not appear in the reason. */
	assert_bad("{\"s\\\xd0\xa3", "byte 5: invalid escape near '\"s\\?'");
}

TEST(test_utf8)
{
	OWN_MESSAGE struct message *message = NULL;

	message = read_one("{\"method\":\"a.B\",\"parameters\":{\"x\":\"\xc3\xa4\xe2\x82\xac\"}}");
	assert_string_equal(json_string_value(json_object_get(message->parameters, "x")),
			    "\xc3\xa4\xe2\x82\xac");
	assert_bad("{\"method\":\"\xff\"}", "byte 11: unable to decode byte 0xff near '\"'");
	assert_bad("{\"method\":\"a\xc3\"}", "byte 12: unable to decode byte 0xc3 near '\"a'");
	/* An overlong encoding, a surrogate, a value above U+10FFFF. */
	assert_bad("{\"method\":\"\xc0\xaf\"}", "byte 11: unable to decode byte 0xc0 near '\"'");
	assert_bad("{\"method\":\"\xed\xa0\x80\"}",
		   "byte 11: unable to decode byte 0xed near '\"'");
	assert_bad("{\"method\":\"\xf4\x90\x80\x80\"}",
		   "byte 11: unable to decode byte 0xf4 near '\"'");
	assert_bad("\xef\xbb\xbf{\"method\":\"a.B\"}", "byte 3: invalid token near '?\?\?'");
}

/* Returns {"method":"a.B","parameters":{"x":[[…]]}} with `depth` levels. */
static char *nested(unsigned int depth)
{
	OWN_FREE char *text = calloc(1, 2 * (size_t)depth + 64);
	char *at = text;

	assert_non_null(text);
	at = stpcpy(at, "{\"method\":\"a.B\",\"parameters\":{\"x\":");
	for (unsigned int i = 2; i < depth; i++)
		*at++ = '[';
	for (unsigned int i = 2; i < depth; i++)
		*at++ = ']';
	if (depth <= 2)
		at = stpcpy(at, "1");
	strcpy(at, "}}");
	return TAKE_PTR(text);
}

TEST(test_depth)
{
	OWN_MESSAGE struct message *message = NULL;
	OWN_FREE char *deepest = nested(MESSAGE_MAX_DEPTH);
	OWN_FREE char *deeper = nested(MESSAGE_MAX_DEPTH + 1);
	OWN_FREE char *absurd = nested(200000);

	message = read_one(deepest);
	message_free(&message);
	assert_bad(deeper, "byte 64: nested deeper than 32 levels");
	assert_bad(absurd, "byte 64: nested deeper than 32 levels");
	/* Brackets in strings are not levels, however the quotes are escaped. */
	message = read_one("{\"method\":\"a.B\",\"parameters\":{\"x\":"
			   "\"[[[[[[[[[[[[[[[[[[[[[[\\\"[[[[[[[[[[[[[[[[[[[[[[[[\\\\\"}}");
	message_free(&message);
	/* Levels that ended do not count. */
	message = read_one("{\"method\":\"a.B\",\"parameters\":{\"x\":[[],[],[],[],[],[],[],[],[],"
			   "[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[]]}}");
}

static const char joined[] = "{\"method\":\"a.First\"}\0"
			     "{\"method\":\"a.Second\",\"parameters\":{\"x\":\"\xc3\xa4\"}}\0"
			     "{\"method\":\"a.Third\",\"more\":true}";

/* Checks the next of the three messages of `joined`, if it is complete. */
static void expect_next(struct message_reader *reader, unsigned int *seen)
{
	static const char *const names[] = {"a.First", "a.Second", "a.Third"};
	OWN_MESSAGE struct message *message = NULL;
	int r = message_reader_next(reader, &message);

	assert_true(r == 0 || r == 1);
	if (r == 0)
		return;
	assert_true(*seen < 3);
	assert_string_equal(message->method, names[*seen]);
	assert_int_equal(message->more, *seen == 2);
	(*seen)++;
}

TEST(test_joined)
{
	OWN_MESSAGE_READER struct message_reader *reader = default_reader();
	unsigned int seen = 0;

	assert_int_equal(message_reader_feed(reader, joined, sizeof(joined)), 0);
	for (unsigned int i = 1; i <= 3; i++) {
		expect_next(reader, &seen);
		assert_int_equal(seen, i);
	}
	expect_next(reader, &seen);
	assert_int_equal(seen, 3);
	assert_false(message_reader_pending(reader));
}

TEST(test_split_everywhere)
{
	for (size_t cut = 0; cut <= sizeof(joined); cut++) {
		OWN_MESSAGE_READER struct message_reader *reader = default_reader();
		unsigned int seen = 0;

		assert_int_equal(message_reader_feed(reader, joined, cut), 0);
		for (int i = 0; i < 4; i++)
			expect_next(reader, &seen);
		assert_int_equal(message_reader_feed(reader, joined + cut, sizeof(joined) - cut),
				 0);
		for (int i = 0; i < 4; i++)
			expect_next(reader, &seen);
		assert_int_equal(seen, 3);
		assert_false(message_reader_pending(reader));
	}
}

TEST(test_byte_by_byte)
{
	OWN_MESSAGE_READER struct message_reader *reader = default_reader();
	unsigned int seen = 0;

	for (size_t i = 0; i < sizeof(joined); i++) {
		unsigned int before = seen;

		assert_int_equal(message_reader_feed(reader, joined + i, 1), 0);
		expect_next(reader, &seen);
		assert_int_equal(seen - before, joined[i] == '\0');
		assert_int_equal(message_reader_pending(reader), joined[i] != '\0');
	}
	assert_int_equal(seen, 3);
}

TEST(test_good_before_bad)
{
	static const char text[] = "{\"method\":\"a.B\"}\0nonsense\0{\"method\":\"a.B\"}";
	OWN_MESSAGE_READER struct message_reader *reader = default_reader();
	OWN_MESSAGE struct message *message = NULL;

	assert_int_equal(message_reader_feed(reader, text, sizeof(text)), 0);
	assert_int_equal(message_reader_next(reader, &message), 1);
	assert_int_equal(message_reader_next(reader, &message), -EBADMSG);
	assert_string_equal(message_reader_error(reader), "byte 8: invalid token near 'nonsense'");
}

TEST(test_longest)
{
	/* 33 bytes each, without the NUL byte. */
	static const char text[] = "{\"method\":\"a.B\",\"x\":\"0123456789\"}";
	size_t length = sizeof(text) - 1;
	OWN_MESSAGE_READER struct message_reader *exact = reader_new(length, 8);
	OWN_MESSAGE_READER struct message_reader *less = reader_new(length - 1, 8);
	OWN_MESSAGE struct message *message = NULL;

	for (int i = 0; i < 3; i++) {
		assert_int_equal(message_reader_feed(exact, text, sizeof(text)), 0);
		assert_int_equal(message_reader_next(exact, &message), 1);
		message_free(&message);
	}
	/* The reader detects the length before the end of the message, because the end may never come. */
	assert_int_equal(message_reader_feed(less, text, length - 1), 0);
	assert_int_equal(message_reader_next(less, &message), 0);
	assert_int_equal(message_reader_feed(less, text + length - 1, 1), 0);
	assert_int_equal(message_reader_next(less, &message), -EBADMSG);
	assert_string_equal(message_reader_error(less), "the message is longer than 32 bytes");
}

/* A message of the default maximum size arrives in pieces, between small ones. */
TEST(test_large)
{
	static const char head[] = "{\"method\":\"a.B\",\"parameters\":{\"x\":\"";
	static const char tail[] = "\"}}";
	OWN_MESSAGE_READER struct message_reader *reader = default_reader();
	size_t size = MESSAGE_MAX_BYTES + 1;
	OWN_FREE char *text = malloc(size);

	assert_non_null(text);
	memset(text, 'y', size);
	memcpy(text, head, sizeof(head) - 1);
	memcpy(text + size - sizeof(tail), tail, sizeof(tail));
	for (int round = 0; round < 3; round++) {
		OWN_MESSAGE struct message *message = NULL;

		for (size_t at = 0; at < size; at += 10007) {
			size_t piece = size - at < 10007 ? size - at : 10007;

			assert_int_equal(message_reader_next(reader, &message), 0);
			assert_int_equal(message_reader_feed(reader, text + at, piece), 0);
		}
		assert_int_equal(message_reader_feed(reader, "{\"method\":\"c.D\"}", 17), 0);
		assert_int_equal(message_reader_next(reader, &message), 1);
		assert_string_equal(message->method, "a.B");
		message_free(&message);
		assert_int_equal(message_reader_next(reader, &message), 1);
		assert_string_equal(message->method, "c.D");
	}
}
