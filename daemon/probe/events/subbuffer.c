/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The format is that of kernel/trace/ring_buffer.c since 2.6.31; header_page and header_event in events/ print it. */
#include "daemon/probe/events/subbuffer.h"

#include <errno.h>
#include <string.h>

/* struct buffer_data_page: a time in 64 bits, and a long with the bytes of the events and these flags. */
#define TIME_BYTES 8
#define LOST (UINT32_C(1) << 31)
#define LOST_STORED (UINT32_C(1) << 30) /* how many: in a long behind the events */
#define COMMIT_MASK ((UINT32_C(1) << 27) - 1)

/* struct ring_buffer_event: a word of type and time, and often another one. */
#define WORD 4
#define WORDS (2 * WORD)
#define TYPE_BITS 5
#define TIME_BITS 27
enum type { LONG = 0, PADDING = 29, TIME_EXTEND = 30, TIME_STAMP = 31 };

/* A time stamp has 59 bits; the others are those of the page's time. */
#define STAMP_MASK ((UINT64_C(1) << 59) - 1)

static uint32_t word_at(const struct subbuffer *buffer, const unsigned char *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	return buffer->is_swapped ? __builtin_bswap32(word) : word;
}

static uint64_t long_at(const struct subbuffer *buffer, const unsigned char *at, uint32_t bytes)
{
	uint64_t number;

	if (bytes == WORD)
		return word_at(buffer, at);
	memcpy(&number, at, sizeof(number));
	return buffer->is_swapped ? __builtin_bswap64(number) : number;
}

void subbuffer_init(struct subbuffer *buffer, bool is_big_endian, uint32_t long_bytes)
{
	*buffer = (struct subbuffer){
		.is_big_endian = is_big_endian,
		.is_swapped = is_big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__),
		.header_bytes = TIME_BYTES + long_bytes,
	};
}

static int64_t lost_before(const struct subbuffer *buffer, uint32_t flags, uint32_t room)
{
	uint32_t long_bytes = buffer->header_bytes - TIME_BYTES;

	if (!(flags & LOST))
		return 0;
	if (!(flags & LOST_STORED) || room < long_bytes)
		return -1;
	return (int64_t)long_at(buffer, buffer->end, long_bytes);
}

int subbuffer_load(struct subbuffer *buffer, const void *page, uint32_t bytes, int64_t *lost)
{
	const unsigned char *begin = page;
	uint32_t flags, used;

	buffer->at = buffer->end = begin;
	*lost = 0;
	if (bytes < buffer->header_bytes)
		return -EBADMSG;
	flags = (uint32_t)long_at(buffer, begin + TIME_BYTES, buffer->header_bytes - TIME_BYTES);
	used = flags & COMMIT_MASK;
	if (used > bytes - buffer->header_bytes)
		return -EBADMSG;
	buffer->time_ns = long_at(buffer, begin, TIME_BYTES);
	buffer->at = begin + buffer->header_bytes;
	buffer->end = buffer->at + used;
	*lost = lost_before(buffer, flags, bytes - buffer->header_bytes - used);
	return 0;
}

uint32_t subbuffer_used(const struct subbuffer *buffer, const void *page)
{
	return (uint32_t)(buffer->end - (const unsigned char *)page);
}

/* What the first words of an event say. */
struct head {
	uint32_t type;
	uint64_t delta_ns;
	uint32_t more; /* the second word, if there is one */
};

static struct head read_head(const struct subbuffer *buffer, size_t room)
{
	uint32_t word = word_at(buffer, buffer->at);
	struct head head;

	if (buffer->is_big_endian)
		head = (struct head){word >> TIME_BITS, word & ((UINT32_C(1) << TIME_BITS) - 1), 0};
	else
		head = (struct head){word & ((1 << TYPE_BITS) - 1), word >> TYPE_BITS, 0};
	if (room >= WORDS)
		head.more = word_at(buffer, buffer->at + WORD);
	return head;
}

static bool is_data(const struct head *head)
{
	return head->type < PADDING;
}

/* Bytes of the head and of what follows it; 0: they are not on the page. */
static size_t event_bytes(const struct head *head, size_t room)
{
	size_t bytes;

	if (head->type == TIME_EXTEND || head->type == TIME_STAMP)
		bytes = WORDS;
	else if (head->type == PADDING)
		bytes = WORD + (size_t)head->more;
	else if (head->type == LONG)
		bytes = WORD + (((size_t)head->more + WORD - 1) & ~(size_t)(WORD - 1));
	else
		bytes = WORD + (size_t)head->type * WORD;
	/* The words of a length are in it. */
	return bytes <= room && (bytes > WORDS || (head->type && bytes == WORDS)) ? bytes : 0;
}

static void pass_time(struct subbuffer *buffer, const struct head *head)
{
	if (head->type == TIME_EXTEND)
		buffer->time_ns += ((uint64_t)head->more << TIME_BITS) + head->delta_ns;
	else if (head->type == TIME_STAMP)
		buffer->time_ns =
			(buffer->time_ns & ~STAMP_MASK) |
			((((uint64_t)head->more << TIME_BITS) + head->delta_ns) & STAMP_MASK);
	else
		buffer->time_ns += head->delta_ns;
}

/* Behind the end of a truncated file, or what the kernel did not use. */
static bool is_nothing(const struct head *head)
{
	return !head->delta_ns && (head->type == PADDING || (head->type == LONG && !head->more));
}

int subbuffer_next(struct subbuffer *buffer, struct subbuffer_event *event)
{
	while (buffer->at < buffer->end) {
		const unsigned char *at = buffer->at;
		size_t room = (size_t)(buffer->end - at), bytes, head_bytes;
		struct head head;

		if (room < WORD)
			break;
		head = read_head(buffer, room);
		bytes = event_bytes(&head, room);
		if (!bytes)
			return is_nothing(&head) ? 0 : -EBADMSG;
		pass_time(buffer, &head);
		buffer->at += bytes;
		if (!is_data(&head))
			continue;
		head_bytes = head.type == LONG ? WORDS : WORD;
		*event = (struct subbuffer_event){at + head_bytes, bytes - head_bytes,
						  buffer->time_ns};
		return 1;
	}
	return 0;
}
