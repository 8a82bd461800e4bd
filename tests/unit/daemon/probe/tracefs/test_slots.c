/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The definitions of the kprobe events on xennet_start_xmit(). */
#include <string.h>

#include "daemon/probe/tracefs/slots.h"
#include "daemon/probe/tracefs/slots_layout.h"
#include "tests/unit/test.h"

#if defined(__x86_64__)
#define SKB "%di"
#define DEV "%si"
#else
#define SKB "%x0"
#define DEV "%x1"
#endif

/* A kernel command is at most this long, WRITE_BUFSIZE of kernel/trace/trace.c. */
#define COMMAND_MAX 4096

/* As on Linux 6.12, x86-64. */
static const struct slots_layout layout = {
	.len = 112,
	.data_len = 116,
	.head = 192,
	.data = 200,
	.end = 188,
	.nr_frags = 2,
	.gso_size = 4,
	.gso_segs = 6,
	.frags = 48,
	.shared_size = 320,
	.small_head = 704,
	.frags_max = 17,
	.name = 296,
	.features = 176,
	.sg_bit = 0,
	.gso_bit = 11,
	.tso_bit = 16,
};

static const struct tracepoint *point_of(const struct slots_points *points, const char *name)
{
	for (size_t i = 0; i < points->count; i++)
		if (!strcmp(points->point[i].name, name))
			return &points->point[i];
	fail_msg("there is no event %s", name);
	return NULL;
}

TEST(test_an_event_for_each_head)
{
	static const char *const names[] = {"xennet_start_xmit_192",   "xennet_start_xmit_384",
					    "xennet_start_xmit_704",   "xennet_start_xmit_1728",
					    "xennet_start_xmit_3776",  "xennet_start_xmit_7872",
					    "xennet_start_xmit_16064", "xennet_start_xmit_32448",
					    "xennet_start_xmit_65216", "xennet_start_xmit"};
	OWN_SLOTS_POINTS struct slots_points *points = NULL;

	assert_int_equal(slots_points_new(&points, &layout), 0);
	assert_int_equal(points->count, sizeof(names) / sizeof(names[0]));
	for (size_t i = 0; i < points->count; i++) {
		assert_string_equal(points->point[i].name, names[i]);
		assert_string_equal(points->point[i].system, "netflowd");
		assert_string_equal(points->point[i].device, "dev");
		assert_int_equal(points->point[i].probe, NF_PROBE_XENNET_START_XMIT);
		assert_true(strlen(points->point[i].arguments) < COMMAND_MAX - 128);
	}
}

/* Each skb is in one event: the filters exclude each other, and nothing is left. */
TEST(test_filters)
{
	OWN_SLOTS_POINTS struct slots_points *points = NULL;

	assert_int_equal(slots_points_new(&points, &layout), 0);
	assert_string_equal(point_of(points, "xennet_start_xmit_704")->filter,
			    "end == 704 && data_len != 0");
	assert_string_equal(
		point_of(points, "xennet_start_xmit")->filter,
		"data_len == 0 || (end != 192 && end != 384 && end != 704 && end != 1728 && end != 3776 && end != 7872 && end != 16064 && end != 32448 && end != 65216)");
}

TEST(test_arguments)
{
	static const char common[] =
		"skbaddr=" SKB ":x64 dev=+296(" DEV "):string len=+112(" SKB
		"):u32 data_len=+116(" SKB "):u32 data=+200(" SKB "):x64 end=+188(" SKB
		"):u32 sg=+176(" DEV "):b1@0/64 gso=+176(" DEV "):b1@11/64 tso=+176(" DEV
		"):b1@16/64";
	static const char shared[] =
		" nr_frags=+706(+192(" SKB ")):u8 gso_size=+708(+192(" SKB
		")):u16 gso_segs=+710(+192(" SKB ")):u16 frags0=+752(+192(" SKB ")):x64[34]";
	OWN_SLOTS_POINTS struct slots_points *points = NULL;
	const char *arguments;

	assert_int_equal(slots_points_new(&points, &layout), 0);
	assert_string_equal(point_of(points, "xennet_start_xmit")->arguments, common);
	arguments = point_of(points, "xennet_start_xmit_704")->arguments;
	assert_memory_equal(arguments, common, sizeof(common) - 1);
	assert_string_equal(arguments + sizeof(common) - 1, shared);
}

/* CONFIG_MAX_SKB_FRAGS = 45: an array has at most 64 words. */
TEST(test_many_fragments)
{
	OWN_SLOTS_POINTS struct slots_points *points = NULL;
	struct slots_layout many = layout;
	const char *arguments;

	many.frags_max = 45;
	many.shared_size = 768;
	many.small_head = 0;
	assert_int_equal(slots_points_new(&points, &many), 0);
	assert_int_equal(points->count, 8);
	arguments = point_of(points, "xennet_start_xmit_256")->arguments;
	assert_non_null(strstr(arguments, " frags0=+304(+192(" SKB
					  ")):x64[64] frags32=+816(+192(" SKB ")):x64[26]"));
}

/* The memory of small heads can be as large as one of kmalloc(). */
TEST(test_each_end_once)
{
	OWN_SLOTS_POINTS struct slots_points *points = NULL;
	struct slots_layout same = layout;

	same.small_head = 512;
	assert_int_equal(slots_points_new(&points, &same), 0);
	assert_int_equal(points->count, 9);
	assert_string_equal(points->point[0].name, "xennet_start_xmit_192");
	assert_string_equal(points->point[1].name, "xennet_start_xmit_704");
}

/* Only root may read the size of the cache: then there is an event for each possible one. */
TEST(test_small_heads_of_an_unknown_size)
{
	OWN_SLOTS_POINTS struct slots_points *points = NULL;
	struct slots_layout unknown = layout;

	unknown.small_head = -1;
	assert_int_equal(slots_points_new(&points, &unknown), 0);
	assert_int_equal(points->count, 12);
	point_of(points, "xennet_start_xmit_256");
	point_of(points, "xennet_start_xmit_320");
	point_of(points, "xennet_start_xmit_384");
}
