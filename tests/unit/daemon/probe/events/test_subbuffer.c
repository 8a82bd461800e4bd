/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "daemon/probe/events/subbuffer.h"
#include "tests/unit/test.h"

#define PAGE 4096
#define LOST (UINT64_C(1) << 31)
#define LOST_STORED (UINT64_C(1) << 30)

/* A page that a test writes, in the byte order of `big`. */
struct writer {
	bool big;
	uint32_t long_bytes, at;
	unsigned char page[PAGE];
};

static void put(struct writer *writer, uint32_t at, uint64_t value, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		writer->page[at + (writer->big ? bytes - 1 - i : i)] =
			(unsigned char)(value >> (8 * i));
}

static void put_word(struct writer *writer, uint32_t word)
{
	put(writer, writer->at, word, 4);
	writer->at += 4;
}

static void put_head(struct writer *writer, uint32_t type, uint32_t delta)
{
	put_word(writer, writer->big ? type << 27 | delta : delta << 5 | type);
}

static void begin(struct writer *writer, uint64_t time_ns)
{
	put(writer, 0, time_ns, 8);
	writer->at = 8 + writer->long_bytes;
}

static void finish(struct writer *writer, uint64_t flags)
{
	put(writer, 8, flags | (writer->at - 8 - writer->long_bytes), writer->long_bytes);
}

static struct subbuffer load(const struct writer *writer, int64_t lost)
{
	struct subbuffer buffer;
	int64_t found;

	subbuffer_init(&buffer, writer->big, writer->long_bytes);
	assert_int_equal(subbuffer_load(&buffer, writer->page, PAGE, &found), 0);
	assert_true(found == lost);
	assert_int_equal(subbuffer_used(&buffer, writer->page), writer->at);
	return buffer;
}

static void expect(const struct writer *writer, struct subbuffer *buffer, uint32_t at, size_t size,
		   uint64_t time_ns)
{
	struct subbuffer_event event;

	assert_int_equal(subbuffer_next(buffer, &event), 1);
	assert_ptr_equal(event.data, writer->page + at);
	assert_int_equal(event.size, size);
	assert_true(event.time_ns == time_ns);
}

static void expect_end(struct subbuffer *buffer, int r)
{
	struct subbuffer_event event;

	assert_int_equal(subbuffer_next(buffer, &event), r);
}

/* Each type of event, as kernels of both byte orders and sizes of a long write them. */
TEST(test_types)
{
	for (int kind = 0; kind < 4; kind++) {
		struct writer writer = {.big = kind & 1, .long_bytes = kind & 2 ? 8 : 4};
		uint32_t header = 8 + writer.long_bytes;
		struct subbuffer buffer;

		begin(&writer, 1000);
		put_head(&writer, 2, 5); /* 8 bytes, after 5 ns */
		writer.at += 8;
		put_head(&writer, 30, 3); /* (1 << 27) + 3 ns pass */
		put_word(&writer, 1);
		put_head(&writer, 0, 7); /* a length of 204 with its own word */
		put_word(&writer, 204);
		writer.at += 200;
		put_head(&writer, 29, 1); /* 16 bytes that were discarded */
		put_word(&writer, 12);
		writer.at += 8;
		put_head(&writer, 28, 0);
		writer.at += 112;
		put_head(&writer, 31, 9); /* the time is (2 << 27) + 9 */
		put_word(&writer, 2);
		put_head(&writer, 1, 0);
		writer.at += 4;
		finish(&writer, 0);

		buffer = load(&writer, 0);
		expect(&writer, &buffer, header + 4, 8, 1005);
		expect(&writer, &buffer, header + 28, 200, 1005 + (1 << 27) + 3 + 7);
		expect(&writer, &buffer, header + 248, 112, 1005 + (1 << 27) + 3 + 7 + 1);
		expect(&writer, &buffer, header + 372, 4, (2 << 27) + 9);
		expect_end(&buffer, 0);
	}
}

/* A time stamp has the lower 59 bits only. */
TEST(test_high_bits_of_a_time_stamp)
{
	struct writer writer = {.long_bytes = 8};
	struct subbuffer buffer;

	begin(&writer, (UINT64_C(5) << 59) + 100);
	put_head(&writer, 31, 11);
	put_word(&writer, 0);
	put_head(&writer, 1, 0);
	writer.at += 4;
	finish(&writer, 0);
	buffer = load(&writer, 0);
	expect(&writer, &buffer, 28, 4, (UINT64_C(5) << 59) + 11);
}

TEST(test_lost_events)
{
	struct writer writer = {.long_bytes = 8};

	begin(&writer, 1);
	put_head(&writer, 1, 0);
	writer.at += 4;
	finish(&writer, LOST);
	load(&writer, -1);
	put(&writer, writer.at, 4217, 8);
	finish(&writer, LOST | LOST_STORED);
	load(&writer, 4217);
	/* No room for the number. */
	writer.at = PAGE - 4;
	finish(&writer, LOST | LOST_STORED);
	load(&writer, -1);
}

/* What a kernel never writes: nothing is read outside of the page, and each walk ends. */
TEST(test_damage)
{
	static const struct {
		uint32_t type, delta, more;
		int result;
	} heads[] = {
		{0, 1, 0, -EBADMSG},	      /* no length */
		{0, 0, 4, -EBADMSG},	      /* nothing but its own word */
		{0, 0, PAGE, -EBADMSG},	      /* longer than the page */
		{0, 0, UINT32_MAX, -EBADMSG}, /* would be before this one */
		{29, 1, 0, -EBADMSG},	      /* round in circles */
		{29, 1, UINT32_MAX - 3, -EBADMSG},
		{29, 1, PAGE, -EBADMSG},
		{28, 0, 0, -EBADMSG}, /* longer than what is left */
		{29, 0, 0, 0},	      /* the kernel did not use the rest */
		{0, 0, 0, 0},	      /* zeros, behind the end of a truncated file */
	};

	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		struct writer writer = {.long_bytes = 8};
		struct subbuffer buffer;

		begin(&writer, 1);
		put_head(&writer, 1, 0);
		writer.at += 4;
		put_head(&writer, heads[i].type, heads[i].delta);
		put_word(&writer, heads[i].more);
		finish(&writer, 0);
		buffer = load(&writer, 0);
		expect(&writer, &buffer, 20, 4, 1);
		expect_end(&buffer, heads[i].result);
	}
}

TEST(test_cut_off)
{
	struct writer writer = {.long_bytes = 8};
	struct subbuffer buffer;

	begin(&writer, 1);
	put_head(&writer, 30, 1); /* without its second word */
	finish(&writer, 0);
	buffer = load(&writer, 0);
	expect_end(&buffer, -EBADMSG);
	/* Not even a word. */
	writer.at = 18;
	finish(&writer, 0);
	buffer = load(&writer, 0);
	expect_end(&buffer, 0);
}

TEST(test_page_that_says_too_much)
{
	struct writer writer = {.long_bytes = 8};
	struct subbuffer buffer;
	int64_t lost;

	subbuffer_init(&buffer, false, 8);
	put(&writer, 8, LOST | LOST_STORED | (PAGE - 15), 8);
	assert_int_equal(subbuffer_load(&buffer, writer.page, PAGE, &lost), -EBADMSG);
	expect_end(&buffer, 0);
	assert_int_equal(subbuffer_load(&buffer, writer.page, 15, &lost), -EBADMSG);
	expect_end(&buffer, 0);
	put(&writer, 8, PAGE - 16, 8);
	assert_int_equal(subbuffer_load(&buffer, writer.page, PAGE, &lost), 0);
}
