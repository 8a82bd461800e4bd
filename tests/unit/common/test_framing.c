/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The framing of Varlink's messages, in and out. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/array.h"
#include "common/framing.h"
#include "tests/unit/test.h"

/* ---- in ------------------------------------------------------------------- */

static const char joined[] = "first\0\0\xc3\xa4 third";
static const char *const texts[] = {"first", "", "\xc3\xa4 third"};

/* Take the next message if it is complete; it must be the one of `texts` that is due. */
static bool take(struct framing *framing, size_t *seen)
{
	const char *text;
	size_t length;
	int r = framing_next(framing, 100, &text, &length);

	assert_true(r == 0 || r == 1);
	if (r == 0)
		return false;
	assert_true(*seen < ARRAY_SIZE(texts));
	assert_int_equal(length, strlen(texts[*seen]));
	assert_memory_equal(text, texts[*seen], length + 1);
	framing_consume(framing, length);
	(*seen)++;
	return true;
}

TEST(test_empty)
{
	OWN_FRAMING struct framing framing = {0};
	const char *text;
	size_t length;

	assert_int_equal(framing_next(&framing, 100, &text, &length), 0);
	assert_int_equal(framing_feed(&framing, NULL, 0), 0);
	assert_int_equal(framing_next(&framing, 100, &text, &length), 0);
	assert_int_equal(framing_bytes(&framing), 0);
	framing_clear(&framing);
}

TEST(test_split_everywhere)
{
	for (size_t cut = 0; cut <= sizeof(joined); cut++) {
		OWN_FRAMING struct framing framing = {0};
		size_t seen = 0;

		assert_int_equal(framing_feed(&framing, joined, cut), 0);
		while (take(&framing, &seen))
			;
		assert_int_equal(framing_feed(&framing, joined + cut, sizeof(joined) - cut), 0);
		while (take(&framing, &seen))
			;
		assert_int_equal(seen, ARRAY_SIZE(texts));
		assert_int_equal(framing_bytes(&framing), 0);
	}
}

TEST(test_byte_by_byte)
{
	OWN_FRAMING struct framing framing = {0};
	size_t seen = 0;

	for (size_t i = 0; i < sizeof(joined); i++) {
		assert_int_equal(framing_feed(&framing, joined + i, 1), 0);
		assert_int_equal(take(&framing, &seen), joined[i] == '\0');
		assert_int_equal(framing_bytes(&framing) == 0, joined[i] == '\0');
	}
	assert_int_equal(seen, ARRAY_SIZE(texts));
}

/* The message stays where it is until it is consumed. */
TEST(test_next_again)
{
	OWN_FRAMING struct framing framing = {0};
	const char *text, *again;
	size_t length;

	assert_int_equal(framing_feed(&framing, joined, sizeof(joined)), 0);
	assert_int_equal(framing_next(&framing, 100, &text, &length), 1);
	assert_int_equal(framing_next(&framing, 100, &again, &length), 1);
	assert_ptr_equal(text, again);
	assert_int_equal(length, 5);
	assert_int_equal(framing_bytes(&framing), sizeof(joined));
}

TEST(test_limit)
{
	OWN_FRAMING struct framing framing = {0};
	const char *text;
	size_t length;

	assert_int_equal(framing_feed(&framing, "12345", 6), 0);
	assert_int_equal(framing_next(&framing, 4, &text, &length), -EMSGSIZE);
	assert_int_equal(framing_next(&framing, 5, &text, &length), 1);
	framing_consume(&framing, length);
	/* Known before the end of the message arrives, or memory would have no limit. */
	assert_int_equal(framing_feed(&framing, "12345", 5), 0);
	assert_int_equal(framing_next(&framing, 5, &text, &length), 0);
	assert_int_equal(framing_feed(&framing, "6", 1), 0);
	assert_int_equal(framing_next(&framing, 5, &text, &length), -EMSGSIZE);
}

/* Large messages among small ones: the queue grows, and an empty one returns most of the memory. */
TEST(test_large)
{
	const size_t size = 1024UL * 1024 + 1;
	OWN_FRAMING struct framing framing = {0};
	OWN_FREE char *large = malloc(size);
	const char *text;
	size_t length;

	assert_non_null(large);
	memset(large, 'y', size);
	large[size - 1] = '\0';
	for (int round = 0; round < 3; round++) {
		for (size_t at = 0; at < size; at += 10007) {
			size_t piece = size - at < 10007 ? size - at : 10007;

			assert_int_equal(framing_next(&framing, size, &text, &length), 0);
			assert_int_equal(framing_feed(&framing, large + at, piece), 0);
		}
		assert_int_equal(framing_feed(&framing, "small", 6), 0);
		assert_int_equal(framing_next(&framing, size, &text, &length), 1);
		assert_int_equal(length, size - 1);
		framing_consume(&framing, length);
		assert_int_equal(framing_next(&framing, size, &text, &length), 1);
		assert_string_equal(text, "small");
		framing_consume(&framing, length);
		assert_int_equal(framing_bytes(&framing), 0);
		assert_true(framing.capacity <= 65536);
	}
}

/* More than a size can count is refused before it is copied. */
TEST(test_absurd_size)
{
	OWN_FRAMING struct framing framing = {0};

	assert_int_equal(framing_feed(&framing, "x", SIZE_MAX), -ENOMEM);
	assert_int_equal(framing_bytes(&framing), 0);
}

/* ---- out ------------------------------------------------------------------ */

static void expect_bytes(const struct framing *framing, const char *expected, size_t size)
{
	assert_int_equal(framing_bytes(framing), size);
	assert_memory_equal(framing->data + framing->start, expected, size);
}

TEST(test_write)
{
	static const char both[] = "{\"x\":0.1,\"y\":[1,null]}\0{}";
	OWN_JSON json_t *first = json_pack("{s:f, s:[i, n]}", "x", 0.1, "y", 1);
	OWN_JSON json_t *second = json_object();
	OWN_FRAMING struct framing framing = {0};

	assert_int_equal(framing_write(&framing, first, 100), 0);
	assert_int_equal(framing_write(&framing, second, 100), 0);
	expect_bytes(&framing, both, sizeof(both));
	assert_int_equal(framing_write(&framing, NULL, 100), -EINVAL);
	expect_bytes(&framing, both, sizeof(both));
}

/* A message that does not fit leaves nothing behind, wherever the limit falls. */
TEST(test_write_limit)
{
	static const char text[] = "{\"a key that is longer than the rest\":1,\"n\":\"x\"}";
	OWN_JSON json_t *message = json_loads(text, 0, NULL);

	for (size_t max = 0; max < 2 * sizeof(text); max++) {
		OWN_FRAMING struct framing framing = {0};
		bool fits = max >= sizeof(text);

		assert_int_equal(framing_write(&framing, message, max), fits ? 0 : -ENOBUFS);
		if (!fits)
			assert_int_equal(framing_bytes(&framing), 0);
		else
			expect_bytes(&framing, text, sizeof(text));
		assert_int_equal(framing_write(&framing, message, max), -ENOBUFS);
		assert_int_equal(framing_bytes(&framing), fits ? sizeof(text) : 0);
	}
}

static void open_pair(int fds[static 2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
}

/* Far more messages than the socket holds, read only when it is full: they arrive in order. */
TEST(test_send)
{
	enum { MESSAGES = 60000 };
	OWN_FRAMING struct framing out = {0}, in = {0};
	int fds[2], stops = 0, received = 0;
	char chunk[10007];

	open_pair(fds);
	for (int i = 0; i < MESSAGES; i++) {
		OWN_JSON json_t *message = json_pack("{s:i}", "n", i);

		assert_int_equal(framing_write(&out, message, SIZE_MAX), 0);
	}
	while (received < MESSAGES) {
		char expected[32];
		const char *text;
		size_t length;

		assert_int_equal(framing_send(&out, fds[0]), 0);
		stops += framing_bytes(&out) > 0;
		assert_int_equal(
			framing_feed(&in, chunk, (size_t)read(fds[1], chunk, sizeof(chunk))), 0);
		while (framing_next(&in, 100, &text, &length) == 1) {
			snprintf(expected, sizeof(expected), "{\"n\":%d}", received++);
			assert_string_equal(text, expected);
			framing_consume(&in, length);
		}
	}
	assert_true(stops > 1);
	assert_int_equal(framing_bytes(&in), 0);
	assert_true(out.capacity <= 65536);
	close(fds[0]);
	close(fds[1]);
}

TEST(test_send_to_closed)
{
	OWN_JSON json_t *message = json_object();
	OWN_FRAMING struct framing framing = {0};
	int fds[2];

	open_pair(fds);
	close(fds[1]);
	assert_int_equal(framing_send(&framing, fds[0]), 0);
	assert_int_equal(framing_write(&framing, message, 100), 0);
	assert_int_equal(framing_send(&framing, fds[0]), -EPIPE);
	assert_int_equal(framing_bytes(&framing), 3);
	close(fds[0]);
}
