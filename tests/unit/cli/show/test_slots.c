/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slots records: their JSON, and how netflowctl draws them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "cli/show/slot_layout.h"
#include "cli/show/slots_report.h"
#include "daemon/json/json.h"
#include "tests/unit/daemon/history/round_trip.h"
#define RESOLVED_CHECK check_round_trip
#include "tests/unit/daemon/store/resolved.h"
#include "tests/unit/test.h"

static const struct nf_slots_record overflow = {
	.header = {.type = NF_RECORD_SLOTS,
		   .cpu = 3,
		   .size = NF_SLOTS_RECORD_PLAIN + 3 * sizeof(struct nf_slots_frag)},
	.slots = 20,
	.limit = 18,
	.len = 50 + 80 + 16 * 4096 + 256,
	.head_offset = 4090,
	.head_len = 50,
	.gso_size = 1448,
	.gso_segs = 45,
	.outcome = NF_SLOTS_LINEARIZED,
	.flags = NF_SLOTS_XEN | NF_SLOTS_FEATURES | NF_SLOTS_SG | NF_SLOTS_TSO,
	.frags = 3,
	.device = "eth0",
	.netns = 42,
	.task = {.pid = 7, .tid = 8, .comm = "writer"},
	.frag = {{.offset = 8192 + 4056, .size = 80},
		 {.offset = 256, .size = 16 * 4096},
		 {.offset = 0, .size = 256}},
};

static int64_t number(const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);

	assert_true(json_is_integer(value));
	return json_integer_value(value);
}

static void expect_text(const json_t *object, const char *name, const char *expected)
{
	assert_string_equal(json_string_value(json_object_get(object, name)), expected);
}

static void expect_piece(const json_t *piece, int64_t offset, int64_t size, int64_t slots)
{
	assert_int_equal(number(piece, "offset"), offset);
	assert_int_equal(number(piece, "size_bytes"), size);
	assert_int_equal(number(piece, "slots"), slots);
}

TEST(test_json)
{
	json_t *json = resolved_slots_json(&overflow);
	const json_t *frags = json_object_get(json, "frags"), *offload;

	expect_text(json, "kind", "overflow");
	expect_text(json, "outcome", "linearized");
	expect_text(json, "device", "eth0");
	assert_int_equal(number(json, "slots"), 20);
	assert_int_equal(number(json, "limit"), 18);
	assert_int_equal(number(json, "gso_size"), 1448);
	assert_int_equal(number(json, "gso_segs"), 45);
	expect_piece(json_object_get(json, "head"), 4090, 50, 2);
	assert_int_equal(json_array_size(frags), 3);
	expect_piece(json_array_get(frags, 0), 8192 + 4056, 80, 2);
	expect_piece(json_array_get(frags, 1), 256, 16 * 4096, 17);
	expect_piece(json_array_get(frags, 2), 0, 256, 1);
	offload = json_object_get(json, "offload");
	assert_true(json_is_true(json_object_get(offload, "sg")));
	assert_true(json_is_false(json_object_get(offload, "gso")));
	assert_true(json_is_true(json_object_get(offload, "tso")));
	json_decref(json);
}

/* Near misses and packets that are too big have their own kinds; unknown values are omitted. */
TEST(test_json_kinds)
{
	struct nf_slots_record record = overflow;
	json_t *json;

	record.slots = 18;
	record.flags = 0;
	record.gso_size = 0;
	json = resolved_slots_json(&record);
	expect_text(json, "kind", "near_miss");
	assert_null(json_object_get(json, "offload"));
	assert_null(json_object_get(json, "gso_size"));
	json_decref(json);
	record.slots = 20;
	record.flags = NF_SLOTS_XEN | NF_SLOTS_TOO_BIG;
	json = resolved_slots_json(&record);
	expect_text(json, "kind", "too_big");
	json_decref(json);
}

/* Members beyond the record's size are ignored. */
TEST(test_json_of_a_short_record)
{
	struct nf_slots_record record = overflow;
	json_t *json;

	record.header.size = NF_SLOTS_RECORD_PLAIN + sizeof(struct nf_slots_frag);
	record.frags = 255;
	record.outcome = 99;
	json = resolved_slots_json(&record);
	assert_int_equal(json_array_size(json_object_get(json, "frags")), 1);
	assert_null(json_object_get(json, "outcome"));
	json_decref(json);
}

/* ---- drawing ------------------------------------------------------------- */

static const struct term plain;

static char *drawn(struct page *page)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(page_write(page, out), 0);
	fclose(out);
	return text;
}

TEST(test_layout)
{
	json_t *json = resolved_slots_json(&overflow);
	OWN_PAGE struct page *page = NULL;
	OWN_FREE char *text = NULL;

	assert_int_equal(page_new(&page, &plain), 0);
	slot_layout_put(page, json, NULL);
	text = drawn(page);
	assert_non_null(strstr(text, "overflow  20 slots of 18  linearized  65,922 B  eth0  CPU 3  "
				     "(writer[7])\n"));
	assert_non_null(strstr(text, "GSO with 45 segments of 1,448 B; tso on, gso off, sg on\n"));
	assert_non_null(strstr(text, "head     2 pages  50 B at 4,090"));
	assert_non_null(strstr(text, "|...............#|#...............|\n"));
	assert_non_null(strstr(text, "17 pages 65,536 B at 256"));
	assert_non_null(strstr(text, "|.###############|################|"));
	assert_non_null(strstr(text, "... 11 whole pages ...|#...............|\n"));
	assert_non_null(strstr(text, "1 page   256 B at 0"));
	json_decref(json);
}

#define DEVICE(xen, linearized, dropped)                                                           \
	"{\"device\":\"eth0\",\"netns\":42,\"xen\":" xen ",\"transmits\":10,\"histogram\":["       \
	"{\"slots\":1,\"or_more\":false,\"count\":8},{\"slots\":17,\"or_more\":false,\"count\":1}" \
	","                                                                                        \
	"{\"slots\":127,\"or_more\":true,\"count\":1}],\"near_misses\":1,\"overflows\":1,"         \
	"\"outcomes\":{\"sent\":0,\"linearized\":" linearized ",\"dropped\":" dropped              \
	",\"requeued\":0,\"unseen\":0},\"too_big\":2}"

static char *remedy(const char *device, bool gso)
{
	struct nf_slots_record record = overflow;
	json_t *parsed = json_loads(device, 0, NULL), *records = json_array();
	OWN_PAGE struct page *page = NULL;
	char *text;

	if (!gso)
		record.gso_size = 0;
	json_array_append_new(records, resolved_slots_json(&record));
	assert_non_null(parsed);
	assert_int_equal(page_new(&page, &plain), 0);
	slots_put_remedy(page, parsed, records);
	text = drawn(page);
	json_decref(parsed);
	json_decref(records);
	return text;
}

TEST(test_device)
{
	json_t *device = json_loads(DEVICE("true", "1", "0"), 0, NULL);
	OWN_PAGE struct page *page = NULL;
	OWN_FREE char *text = NULL;

	assert_int_equal(page_new(&page, &plain), 0);
	assert_int_equal(slots_put_device(page, device, 18), 0);
	text = drawn(page);
	assert_non_null(
		strstr(text, "eth0  netns 42  10 transmits, limit 18 slots (xen-netfront)\n"));
	assert_non_null(strstr(text, "1 overflow: 1 linearized; 1 near miss; 2 too big"));
	assert_non_null(strstr(text, "127+"));
	json_decref(device);
}

/* The remedy depends on what the kernel did and on the kind of the packets. */
TEST(test_remedy)
{
	OWN_FREE char *gso = remedy(DEVICE("true", "1", "0"), true);
	OWN_FREE char *pieces = remedy(DEVICE("true", "0", "1"), false);
	OWN_FREE char *other = remedy(DEVICE("false", "1", "0"), true);

	assert_non_null(strstr(gso, "ethtool -K eth0 tso off"));
	assert_non_null(strstr(gso, "ethtool -K eth0 gso off"));
	assert_null(strstr(gso, "sg off"));
	assert_non_null(strstr(gso, "linearizes"));
	assert_non_null(strstr(pieces, "ethtool -K eth0 sg off"));
	assert_null(strstr(pieces, "tso off   "));
	assert_non_null(strstr(pieces, "This kernel drops"));
	assert_string_equal(other, "");
}
