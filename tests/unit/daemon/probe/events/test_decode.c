/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "daemon/core/names.h"
#include "daemon/probe/events/decode.h"
#include "daemon/probe/events/reasons.h"
#include "tests/unit/daemon/probe/events/formats.h"
#include "tests/unit/test.h"

enum { SOFTIRQ_FLAG = 0x10 };

static struct {
	struct tep_handle *tep;
	struct decoder *decoder;
} world;

static void open_with(const char *const formats[][2])
{
	world.tep = tep_alloc();
	assert_non_null(world.tep);
	for (size_t i = 0; formats[i][0]; i++)
		format_add(world.tep, formats[i][0], formats[i][1]);
	assert_int_equal(decoder_new(&world.decoder, world.tep), 0);
}

static int close_world(void **state)
{
	(void)state;
	decoder_free(&world.decoder);
	tep_free(world.tep);
	memset(&world, 0, sizeof(world));
	return 0;
}

EACH_TEST(NULL, close_world);

static void fill_receive(unsigned char record[32], uint32_t where)
{
	memset(record, 0, 32);
	put_common(record, RECEIVE_ID, SOFTIRQ_FLAG, 77);
	put(record, 8, 0xffff888100001000, 8);
	put(record, 16, 1500, 4);
	put(record, 20, where, 4);
	memcpy(record + 24, "eth0", 5);
}

TEST(test_fields_and_context)
{
	const char *const formats[][2] = {{"net", RECEIVE}, {NULL, NULL}};
	unsigned char record[32];
	struct event event;

	open_with(formats);
	fill_receive(record, 5 << 16 | 24);
	assert_int_equal(decoder_read(world.decoder, record, sizeof(record), &event), 1);
	assert_int_equal(event.probe, NF_PROBE_NETIF_RECEIVE_SKB);
	assert_int_equal(event.skb, 0xffff888100001000);
	assert_int_equal(event.len, 1500);
	assert_int_equal(event.tid, 77);
	assert_true(event.softirq);
	assert_false(event.irq);
	assert_string_equal(event.device, "eth0");
}

/* A string that begins or ends outside of the record, or has no end, is refused. */
TEST(test_strings_outside_of_the_record)
{
	const char *const formats[][2] = {{"net", RECEIVE}, {NULL, NULL}};
	const uint32_t wrong[] = {5 << 16 | 30, 0xffffffff, 0xffff0018,
				  4 << 16 | 24, 24,	    9 << 16 | 24};
	unsigned char record[32];
	struct event event;

	open_with(formats);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		fill_receive(record, wrong[i]);
		assert_int_equal(decoder_read(world.decoder, record, sizeof(record), &event),
				 -EBADMSG);
	}
}

TEST(test_short_records)
{
	const char *const formats[][2] = {{"net", RECEIVE}, {NULL, NULL}};
	unsigned char record[32];
	struct event event;

	open_with(formats);
	fill_receive(record, 5 << 16 | 24);
	for (size_t size = 0; size < 29; size++)
		assert_int_equal(decoder_read(world.decoder, record, size, &event),
				 size < 2 ? 0 : -EBADMSG);
	assert_int_equal(decoder_read(world.decoder, record, 29, &event), 1);
}

TEST(test_events_of_others)
{
	const char *const formats[][2] = {{"net", RECEIVE}, {NULL, NULL}};
	unsigned char record[32] = {0};
	struct event event;

	open_with(formats);
	put_common(record, 4242, 0, 1);
	assert_int_equal(decoder_read(world.decoder, record, sizeof(record), &event), 0);
	assert_string_equal(decoder_probe(world.decoder, NF_PROBE_KFREE_SKB)->reason,
			    "there are no such events");
	assert_string_equal(decoder_probe(world.decoder, NF_PROBE_NETIF_RECEIVE_SKB)->reason, "");
}

TEST(test_kernels_moved_fields)
{
	const char *const old[][2] = {{"skb", KFREE_5_10}, {NULL, NULL}};
	const char *const new[][2] = {{"skb", KFREE_6_11}, {NULL, NULL}};
	unsigned char record[40] = {0};
	struct event event;

	put_common(record, KFREE_ID, 0, 1);
	put(record, 8, 0x1000, 8);
	put(record, 16, 0xffffffff81234567, 8);
	put(record, 24, 0x0800, 2);
	open_with(old);
	assert_false(decoder_has_reason(world.decoder));
	assert_int_equal(decoder_read(world.decoder, record, 32, &event), 1);
	assert_int_equal(event.location, 0xffffffff81234567);
	assert_int_equal(event.protocol, 0x0800);
	close_world(state);
	put(record, 24, 0xffff888112345678, 8);
	put(record, 32, 0x86dd, 2);
	put(record, 36, 3, 4);
	open_with(new);
	assert_true(decoder_has_reason(world.decoder));
	assert_int_equal(decoder_read(world.decoder, record, 40, &event), 1);
	assert_int_equal(event.protocol, 0x86dd);
	assert_int_equal(event.reason, 3);
}

TEST(test_a_field_is_missing)
{
	const char *const formats[][2] = {{"net", QUEUE_WITHOUT_LEN}, {NULL, NULL}};
	unsigned char record[32] = {0};
	struct event event;

	open_with(formats);
	put_common(record, 902, 0, 1);
	assert_string_equal(decoder_probe(world.decoder, NF_PROBE_NET_DEV_QUEUE)->reason,
			    "the format of its event has no usable field len");
	assert_int_equal(decoder_read(world.decoder, record, sizeof(record), &event), 0);
}

TEST(test_names_of_reasons)
{
	const char *const formats[][2] = {{"skb", KFREE_6_11}, {NULL, NULL}};
	OWN_NAMES struct names *names = NULL;

	open_with(formats);
	assert_int_equal(names_new(&names), 0);
	assert_int_equal(reasons_of_format(names, world.tep), 0);
	assert_string_equal(names_reason(names, 3), "NO_SOCKET");
	assert_null(names_reason(names, 4));
}

TEST(test_markers)
{
	const char *const formats[][2] = {{"net", RECEIVE}, {"ftrace", MARKER}, {NULL, NULL}};
	unsigned char record[24] = {0};
	const char *text;

	open_with(formats);
	put_common(record, MARKER_ID, 0, 1);
	memcpy(record + 16, "hi there", 8);
	assert_int_equal(decoder_marker(world.decoder, record, sizeof(record), &text), 8);
	assert_memory_equal(text, "hi there", 8);
	assert_int_equal(decoder_marker(world.decoder, record, 16, &text), 0);
	put_common(record, RECEIVE_ID, 0, 1);
	assert_int_equal(decoder_marker(world.decoder, record, sizeof(record), &text), 0);
}

/* ---- transmits of xen-netfront ----------------------------------------------------- */

static void open_with_transmits(void)
{
	const char *const formats[][2] = {
		{"netflowd", TRANSMIT}, {"netflowd", TRANSMIT_704}, {NULL, NULL}};

	open_with(formats);
	assert_string_equal(decoder_probe(world.decoder, NF_PROBE_XENNET_START_XMIT)->reason, "");
}

/* A transmit of 100 bytes in the linear part and two fragments, behind a head of this size. */
static void fill_transmit(unsigned char record[TRANSMIT_BYTES], uint16_t id, uint32_t end)
{
	memset(record, 0, TRANSMIT_BYTES);
	put_common(record, id, 0, 77);
	put(record, 16, 0xffff888100001000, 8);
	put(record, 24, 5 << 16 | 173, 4);
	memcpy(record + 173, "eth0", 5);
	put(record, 28, 5100, 4);
	put(record, 32, 5000, 4);
	put(record, 36, 0xffff888100002abc, 8);
	put(record, 44, end, 4);
	put(record, 48, 1, 8);
	put(record, 64, 1, 8);
	put(record, 72, 2, 1);
	put(record, 73, 1448, 2);
	put(record, 75, 4, 2);
	put(record, 77 + 8, 4000, 4);
	put(record, 77 + 12, 96, 4);
	put(record, 77 + 24, 1000, 4);
	put(record, 77 + 28, 8192, 4);
}

static int read_transmit(const unsigned char record[TRANSMIT_BYTES], struct event *event)
{
	return decoder_read(world.decoder, record, TRANSMIT_BYTES, event);
}

TEST(test_a_transmit)
{
	unsigned char record[TRANSMIT_BYTES];
	struct event event;

	open_with_transmits();
	fill_transmit(record, TRANSMIT_704_ID, 704);
	assert_int_equal(read_transmit(record, &event), 1);
	assert_int_equal(event.probe, NF_PROBE_XENNET_START_XMIT);
	assert_int_equal(event.skb, 0xffff888100001000);
	assert_int_equal(event.len, 5100);
	assert_string_equal(event.device, "eth0");
	assert_int_equal(event.transmit->data, 0xffff888100002abc);
	assert_int_equal(event.transmit->data_len, 5000);
	assert_int_equal(event.transmit->gso_size, 1448);
	assert_int_equal(event.transmit->gso_segs, 4);
	assert_true(event.transmit->sg && event.transmit->tso && !event.transmit->gso);
	assert_false(event.transmit->unknown);
	assert_int_equal(event.transmit->frags, 2);
	assert_int_equal(event.transmit->frag[0].size, 4000);
	assert_int_equal(event.transmit->frag[0].offset, 96);
	assert_int_equal(event.transmit->frag[1].size, 1000);
	assert_int_equal(event.transmit->frag[1].offset, 8192);
}

/* Of the same transmit in several events, one counts; which one depends on its head. */
TEST(test_each_transmit_is_in_one_event)
{
	unsigned char record[TRANSMIT_BYTES];
	struct event event;

	open_with_transmits();
	fill_transmit(record, TRANSMIT_ID, 704);
	assert_int_equal(read_transmit(record, &event), 0);
	fill_transmit(record, TRANSMIT_704_ID, 1728);
	assert_int_equal(read_transmit(record, &event), 0);
	fill_transmit(record, TRANSMIT_ID, 1728);
	assert_int_equal(read_transmit(record, &event), 1);
	assert_true(event.transmit->unknown);
	assert_int_equal(event.transmit->frags, 0);
	put(record, 32, 0, 4);
	assert_int_equal(read_transmit(record, &event), 1);
	assert_false(event.transmit->unknown);
	fill_transmit(record, TRANSMIT_704_ID, 704);
	put(record, 32, 0, 4);
	assert_int_equal(read_transmit(record, &event), 0);
}

/* The first field has room for 4 fragments only, so the fifth is not known. */
TEST(test_more_fragments_than_fields)
{
	unsigned char record[TRANSMIT_BYTES];
	struct event event;

	open_with_transmits();
	fill_transmit(record, TRANSMIT_704_ID, 704);
	put(record, 72, 4, 1);
	assert_int_equal(read_transmit(record, &event), 1);
	assert_int_equal(event.transmit->frags, 4);
	assert_false(event.transmit->unknown);
	put(record, 72, 255, 1);
	assert_int_equal(read_transmit(record, &event), 1);
	assert_true(event.transmit->unknown);
	assert_int_equal(decoder_read(world.decoder, record, 172, &event), -EBADMSG);
}
