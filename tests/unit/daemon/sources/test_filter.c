/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which records match a filter; the integration tests check the parameters that clients may send. */
#include <string.h>

#include "common/array.h"
#include "daemon/core/names.h"
#include "daemon/core/selection.h"
#include "daemon/sources/filter.h"
#include "tests/unit/daemon/store/resolved.h"
#include "tests/unit/test.h"

static const struct filter all = {.segment.total = true};

/* Returns the record of a UDP datagram to port 4242 that crossed veth0 and eth0 in two namespaces. */
static struct nf_journey_record start(void)
{
	static const uint8_t datagram[] = {0x45, 0,  0,	   28,	 0, 0, 0x40, 0, 64, 17,
					   0,	 0,  10,   0,	 0, 1, 10,   0, 0,  2,
					   0,	 53, 0x10, 0x92, 0, 8, 0,    0};
	struct nf_journey_record record = {
		.header = {.size = sizeof(record), .time_ns = 900},
		.stage_ns = {[NF_STAGE_RECEIVE] = 100,
			     [NF_STAGE_QUEUE] = 200,
			     [NF_STAGE_START_XMIT] = 700,
			     [NF_STAGE_XMIT] = 900},
		.outcome = NF_OUTCOME_FORWARDED,
		.flags = NF_JOURNEY_SLOW,
		.devices = 2,
		.device = {{.ifindex = 2, .netns = 11, .name = "veth0"},
			   {.ifindex = 3, .netns = 12, .name = "eth0"}},
		.bytes = {.len = 28, .protocol = 0x0800, .net_len = sizeof(datagram)},
	};

	memcpy(record.bytes.net, datagram, sizeof(datagram));
	return record;
}

static bool takes(const struct filter *filter, const struct nf_journey_record *record)
{
	struct records *records = resolved_store(NULL, NULL, NULL);
	struct journey journey;
	bool taken;

	records_add_journey(records, record);
	assert_int_equal(records_journey(records, 0, &journey), 0);
	taken = filter_takes_journey(filter, &journey);
	records_free(&records);
	return taken;
}

static bool takes_drop(const struct filter *filter, const struct nf_drop_record *record)
{
	OWN_NAMES struct names *names = NULL;
	struct resolver *resolver = NULL;
	struct drop drop;
	bool taken;

	assert_int_equal(names_new(&names), 0);
	assert_int_equal(resolver_new(&resolver, names, NULL), 0);
	resolve_drop(resolver, record, NULL, NULL, &drop);
	taken = filter_takes_drop(filter, &drop);
	resolver_free(&resolver);
	return taken;
}

TEST(test_everything)
{
	struct nf_journey_record record = start();

	assert_true(takes(&all, &record));
	record.devices = 0;
	record.flags = 0;
	assert_true(takes(&all, &record));
}

TEST(test_slow_and_samples)
{
	struct filter slow = all, sample = all;
	struct nf_journey_record record = start();

	slow.by_slow = slow.slow = true;
	sample.by_slow = true;
	assert_true(takes(&slow, &record));
	assert_false(takes(&sample, &record));
	record.flags = 0;
	assert_false(takes(&slow, &record));
	assert_true(takes(&sample, &record));
}

/* A record must exceed the value; an equal value does not match. */
TEST(test_over)
{
	struct filter over = all;
	struct nf_journey_record record = start();

	over.by_over = true;
	over.over_ns = 799;
	assert_true(takes(&over, &record));
	over.over_ns = 800;
	assert_false(takes(&over, &record));
	over.by_segment = true;
	over.segment = (struct segment){.from = NF_STAGE_QUEUE, .to = NF_STAGE_START_XMIT};
	assert_false(takes(&over, &record));
	over.over_ns = 499;
	assert_true(takes(&over, &record));
}

TEST(test_segment)
{
	struct filter filter = all;
	struct nf_journey_record record = start();

	filter.by_segment = true;
	filter.segment = (struct segment){.from = NF_STAGE_RECEIVE, .to = NF_STAGE_QUEUE};
	assert_true(takes(&filter, &record));
	filter.segment = (struct segment){.from = NF_STAGE_RECEIVE, .to = NF_STAGE_COPY};
	assert_false(takes(&filter, &record));
}

/* Any device of the journey matches, but name and namespace must be those of the same device. */
TEST(test_devices)
{
	static const struct {
		const char *device;
		uint32_t netns;
		bool taken;
	} cases[] = {
		{"veth0", 0, true}, {"eth0", 0, true},	 {"eth", 0, false},  {NULL, 11, true},
		{NULL, 12, true},   {NULL, 13, false},	 {"eth0", 12, true}, {"eth0", 11, false},
		{"lo", 11, false},  {"veth0", 11, true},
	};
	struct nf_journey_record record = start();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct filter filter = all;

		if (cases[i].device) {
			filter.by_device = true;
			strcpy(filter.device, cases[i].device);
		}
		filter.by_netns = cases[i].netns != 0;
		filter.netns = cases[i].netns;
		assert_int_equal(takes(&filter, &record), cases[i].taken);
	}
	record.devices = UINT8_MAX; /* more than the record can hold */
	assert_true(takes(&all, &record));
}

/* A reason selects drops; latency records have no reason to compare with. */
TEST(test_reason)
{
	struct nf_journey_record record = start();
	struct nf_drop_record drop = {.reason = 3, .flags = NF_DROP_REASON, .bytes = record.bytes};
	struct filter filter = all;

	filter.by_reason = true;
	filter.reason = (struct reason_wanted){.number = 3};
	assert_true(takes_drop(&filter, &drop));
	assert_true(takes(&filter, &record));
	filter.reason = (struct reason_wanted){.number = 4};
	assert_false(takes_drop(&filter, &drop));
	assert_true(takes(&filter, &record));
}

TEST(test_expression)
{
	struct nf_journey_record record = start();
	struct nf_drop_record drop = {.bytes = record.bytes};
	static const struct {
		const char *expression;
		bool taken;
	} cases[] = {{"udp port 4242", true},
		     {"udp port 4243", false},
		     {"net 10.0.0.0/8", true},
		     {"tcp", false},
		     {"", true}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct selection_error error;
		struct filter filter = all;

		assert_int_equal(selection_new(&filter.selection, cases[i].expression, &error), 0);
		assert_int_equal(takes(&filter, &record), cases[i].taken);
		assert_int_equal(takes_drop(&filter, &drop), cases[i].taken);
		filter_clear(&filter);
		assert_null(filter.selection);
		filter_clear(&filter);
	}
}

/* A name may fill all bytes of its member, without a final NUL. */
TEST(test_longest_name)
{
	struct nf_drop_record drop = {.device = "a23456789012345"};
	struct filter filter = all;

	filter.by_device = true;
	strcpy(filter.device, "a23456789012345");
	assert_true(takes_drop(&filter, &drop));
	drop.device[NF_DEVICE_NAME - 1] = 'x';
	assert_false(takes_drop(&filter, &drop));
}
