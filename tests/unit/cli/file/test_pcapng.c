/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records as packets of a pcapng file: checks the bytes of the file, block by block. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/file/capture.h"
#include "common/array.h"
#include "tests/unit/test.h"

#define FOLDER "/tmp/netflowd-pcapng-XXXXXX"
#define FILE_MAX 65536
/* A block begins with type and length; a packet adds interface, time, captured and original length. */
#define BLOCK_HEAD 8
#define PACKET_HEAD 28

struct fixture {
	char folder[sizeof(FOLDER)];
	char path[sizeof(FOLDER) + 16];
	uint8_t bytes[FILE_MAX];
	size_t size;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	memcpy(fixture->folder, FOLDER, sizeof(FOLDER));
	*state = fixture;
	if (!mkdtemp(fixture->folder))
		return -1;
	snprintf(fixture->path, sizeof(fixture->path), "%s/a.pcapng", fixture->folder);
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;
	int ret;

	unlink(fixture->path);
	/* fails if another file is left in the directory */
	ret = rmdir(fixture->folder);
	free(fixture);
	return ret;
}

EACH_TEST(setup, teardown);

static uint32_t word(const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

static void read_file(struct fixture *fixture)
{
	OWN_FILE FILE *file = fopen(fixture->path, "r");

	assert_non_null(file);
	fixture->size = fread(fixture->bytes, 1, FILE_MAX, file);
	assert_true(fixture->size < FILE_MAX);
}

/* Returns block `number` of the file; checks the lengths of this block and those before it. */
static const uint8_t *block(const struct fixture *fixture, size_t number, uint32_t type)
{
	const uint8_t *at = fixture->bytes;

	for (;; number--) {
		uint32_t length;

		assert_true((size_t)(at - fixture->bytes) + 12 <= fixture->size);
		length = word(at + 4);
		assert_true(length % 4 == 0 && length >= 12);
		assert_true((size_t)(at - fixture->bytes) + length <= fixture->size);
		assert_int_equal(word(at + length - 4), length);
		if (!number) {
			assert_int_equal(word(at), type);
			return at;
		}
		at += length;
	}
}

/* Returns the option `code` that follows the first `skip` bytes of a block, and its length in *len. */
static const char *option(const uint8_t *at, size_t skip, uint16_t code, size_t *len)
{
	const uint8_t *end = at + word(at + 4) - 4;

	for (at += skip; at < end;) {
		uint16_t head[2];

		memcpy(head, at, sizeof(head));
		if (!head[0])
			break;
		if (head[0] == code) {
			*len = head[1];
			return (const char *)at + 4;
		}
		at += 4 + ((head[1] + 3U) & ~3U);
	}
	return NULL;
}

static void assert_option(const uint8_t *at, size_t skip, uint16_t code, const char *text)
{
	size_t len = 0;
	const char *value = option(at, skip, code, &len);

	assert_non_null(value);
	assert_int_equal(len, strlen(text));
	assert_memory_equal(value, text, len);
}

static void write_records(struct fixture *fixture, const char *const *records, size_t count,
			  bool drops)
{
	OWN_CAPTURE struct capture capture = {};
	uint64_t packets = 0;

	assert_int_equal(capture_open(&capture, fixture->path, false), 0);
	for (size_t i = 0; i < count; i++) {
		json_t *record = json_loads(records[i], 0, NULL);

		assert_non_null(record);
		assert_int_equal(drops ? capture_drop(&capture, record)
				       : capture_latency(&capture, record),
				 0);
		json_decref(record);
	}
	/* the file gets its name only when it is complete */
	assert_int_equal(access(fixture->path, F_OK), -1);
	assert_int_equal(capture_close(&capture, &packets), 0);
	assert_int_equal(packets, count);
	read_file(fixture);
}

#define TIME "\"time\":\"2026-11-21T09:30:00.123456789+01:00\""
#define TIME_NS 1795249800123456789ULL
#define ETHERNET                                                                                \
	"\"ethernet\":{\"source\":\"02:00:00:00:00:01\",\"destination\":\"0a:0b:0c:0d:0e:0f\"," \
	"\"type\":2048}"

static void assert_packet(const uint8_t *at, uint32_t interface, const uint8_t *bytes,
			  uint32_t captured, uint32_t length)
{
	assert_int_equal(word(at + 8), interface);
	assert_int_equal((uint64_t)word(at + 12) << 32 | word(at + 16), TIME_NS);
	assert_int_equal(word(at + 20), captured);
	assert_int_equal(word(at + 24), length);
	assert_memory_equal(at + PACKET_HEAD, bytes, captured);
}

static size_t after_bytes(uint32_t captured)
{
	return PACKET_HEAD + ((captured + 3) & ~3U);
}

TEST(test_drops)
{
	static const char *const records[] = {
		"{" TIME "," ETHERNET ",\"device\":\"eth0\",\"netns\":7,\"reason\":\"NO_SOCKET\","
		"\"location\":\"f+0x1\",\"cpu\":1,\"length_bytes\":8,\"protocol\":\"ipv4/udp\","
		"\"ip\":{\"length_bytes\":1500},\"header\":\"4500aa\"}",
		/* the same device, but no link header */
		"{" TIME ",\"device\":\"eth0\",\"netns\":7,\"reason\":\"NO_SOCKET\","
		"\"location\":\"f+0x1\",\"cpu\":1,\"length_bytes\":28,\"protocol\":\"arp\","
		"\"header\":\"0001\"}",
		/* the first device again, with a VLAN tag outside the bytes */
		"{" TIME "," ETHERNET ",\"device\":\"eth0\",\"netns\":7,\"location\":\"f\","
		"\"vlan\":{\"protocol\":33024,\"id\":5,\"priority\":3},\"header\":\"45\","
		"\"length_bytes\":1}",
		/* the VLAN tag is part of the bytes; another namespace */
		"{" TIME "," ETHERNET ",\"device\":\"eth0\",\"netns\":8,\"location\":\"f\","
		"\"vlan\":{\"protocol\":33024,\"id\":5,\"priority\":0},\"header\":\"0005080045\","
		"\"length_bytes\":1}",
		/* only the time is known */
		"{" TIME "}",
	};
	static const uint8_t plain[] = {10, 11, 12, 13, 14, 15,	  2, 0,	  0,
					0,  0,	1,  8,	0,  0x45, 0, 0xaa};
	static const uint8_t cooked[] = {0, 0, 0xff, 0xff, 0, 0, 0, 0, 0,
					 0, 0, 0,    0,	   0, 8, 6, 0, 1};
	static const uint8_t tagged[] = {10, 11, 12,   13, 14,	 15, 2, 0, 0,	0,
					 0,  1,	 0x81, 0,  0x60, 5,  8, 0, 0x45};
	static const uint8_t inside[] = {10, 11, 12,   13, 14, 15, 2, 0, 0,   0,
					 0,  1,	 0x81, 0,  0,  5,  8, 0, 0x45};
	static const uint8_t unknown[] = {0, 0, 0xff, 0xff, 0, 0, 0,	0,
					  0, 0, 0,    0,    0, 0, 0xff, 0xff};
	struct fixture *fixture = *state;
	const uint8_t *at;
	size_t len;

	write_records(fixture, records, ARRAY_SIZE(records), true);
	at = block(fixture, 0, 0x0a0d0d0a);
	assert_int_equal(word(at + 8), 0x1a2b3c4d);
	at = block(fixture, 1, 1);
	assert_int_equal(word(at + 8) & 0xffff, PCAPNG_ETHERNET);
	assert_option(at, 16, 2, "eth0");
	assert_option(at, 16, 3, "network namespace 7");
	assert_int_equal(*option(at, 16, 9, &len), 9);
	at = block(fixture, 2, 6);
	assert_packet(at, 0, plain, sizeof(plain), 14 + 1500);
	assert_option(at, after_bytes(sizeof(plain)), 1,
		      "dropped: NO_SOCKET, class unknown, at f+0x1, CPU 1, skb length 8 B");
	at = block(fixture, 3, 1);
	assert_int_equal(word(at + 8) & 0xffff, PCAPNG_LINUX_SLL);
	assert_packet(block(fixture, 4, 6), 1, cooked, sizeof(cooked), 16 + 28);
	assert_packet(block(fixture, 5, 6), 0, tagged, sizeof(tagged), sizeof(tagged));
	assert_option(block(fixture, 6, 1), 16, 3, "network namespace 8");
	assert_packet(block(fixture, 7, 6), 2, inside, sizeof(inside), sizeof(inside));
	assert_option(block(fixture, 8, 1), 16, 2, "unknown");
	assert_packet(block(fixture, 9, 6), 3, unknown, sizeof(unknown), sizeof(unknown));
}

TEST(test_latency)
{
	static const char *const record =
		"{" TIME "," ETHERNET ",\"outcome\":\"forwarded\",\"slow\":true,"
		"\"total_ns\":5000,\"dominant\":\"receive_to_queue\",\"length_bytes\":60,"
		"\"devices\":[{\"device\":\"a\",\"netns\":7},"
		"{\"device\":\"b\",\"netns\":8,\"netns_name\":\"blue\"}],"
		"\"times\":[{\"from\":\"receive\",\"to\":\"queue\",\"duration_ns\":4000},"
		"{\"from\":\"queue\",\"to\":\"xmit\",\"duration_ns\":1000}],"
		"\"missing\":[{\"stage\":\"irq\",\"reason\":\"unavailable\"}]}";
	struct fixture *fixture = *state;
	const uint8_t *at;

	write_records(fixture, &record, 1, false);
	/* the last device of the journey */
	at = block(fixture, 1, 1);
	assert_option(at, 16, 2, "b");
	assert_option(at, 16, 3, "network namespace 8 blue");
	assert_option(block(fixture, 2, 6), after_bytes(14), 1,
		      "forwarded after 5.00 µs (slow), most of it receive→queue; a → b@blue\n"
		      "receive→queue 4.00 µs\nqueue→xmit 1.00 µs\nnot known: irq (unavailable)");
}

/* A followed file has its name at once; a capture that is not completed leaves no file. */
TEST(test_files)
{
	struct fixture *fixture = *state;
	OWN_CAPTURE struct capture followed = {};
	struct capture dropped = {};

	assert_int_equal(capture_open(&dropped, fixture->path, false), 0);
	capture_done(&dropped);
	assert_int_equal(access(fixture->path, F_OK), -1);
	assert_int_equal(capture_open(&followed, "/nonexistent/file", true), -ENOENT);
	assert_int_equal(capture_open(&followed, "/nonexistent/file", false), -ENOENT);
	assert_int_equal(capture_open(&followed, fixture->path, true), 0);
	assert_int_equal(access(fixture->path, F_OK), 0);
}
