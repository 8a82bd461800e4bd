/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rockets in the kernel's log: how they are parsed, and which ones count as seen by the probe. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "daemon/core/rocket.h"
#include "daemon/store/rockets.h"
#include "tests/unit/test.h"

#define SECOND 1000000000ULL

/* ---- reading ------------------------------------------------------------- */

static int parse(struct rocket *rocket, const char *record)
{
	return rocket_parse(rocket, record, strlen(record));
}

TEST(test_reads_the_driver_s_message)
{
	struct rocket rocket = {.time_ns = 7};

	/* pr_alert of Linux 3.13 and net_dbg_ratelimited of later kernels, with and without a dictionary. */
	assert_int_equal(parse(&rocket, "1,339,5140900,-;xennet: skb rides the rocket: 19 slots, "
					"1514 bytes\n"),
			 0);
	assert_int_equal(rocket.slots, 19);
	assert_int_equal(rocket.bytes, 1514);
	assert_int_equal(rocket.time_ns, 7);
	assert_string_equal(rocket.device, "");
	assert_int_equal(parse(&rocket, "7,1,2,-,caller=T1;xennet: skb rides the rocket: 34 slots, "
					"65226 bytes\n SUBSYSTEM=xen\n DEVICE=+xen:vif-0\n"),
			 0);
	assert_int_equal(rocket.slots, 34);
	assert_int_equal(rocket.bytes, 65226);
}

TEST(test_reads_a_device)
{
	struct rocket rocket = {0};

	assert_int_equal(parse(&rocket,
			       "4,1,2,-;vif vif-0 eth0: skb rides the rocket: 19 slots, 60 "
			       "bytes"),
			 0);
	assert_string_equal(rocket.device, "eth0");
	assert_int_equal(parse(&rocket,
			       "4,1,2,-;a_name_too_long_for_a_device: skb rides the rocket: "
			       "20 slots, 60 bytes"),
			 0);
	assert_string_equal(rocket.device, "");
	assert_int_equal(rocket.slots, 20);
}

/* A message from a process has another facility: 12 is LOG_USER with LOG_WARNING. */
TEST(test_passes_over_all_else)
{
	static const char *const records[] = {
		"12,1,2,-;xennet: skb rides the rocket: 19 slots, 1514 bytes\n",
		"4,1,2,-;xennet: skb rides the rocket: many slots\n",
		"4,1,2,-;xennet: skb->len = 65549, too big for wire format\n",
		"4,1,2,-;a line\n MESSAGE=skb rides the rocket: 19 slots, 1514 bytes\n",
		"skb rides the rocket: 19 slots, 1514 bytes",
		";",
		"",
	};
	struct rocket rocket = {.slots = 3};

	for (size_t i = 0; i < ARRAY_SIZE(records); i++)
		assert_int_equal(parse(&rocket, records[i]), -ENOENT);
	assert_int_equal(rocket.slots, 3);
	/* The record has no final NUL. */
	assert_int_equal(
		rocket_parse(&rocket, "4,1,2,-;skb rides the rocket: 19 slots, 15 bytes", 30),
		-ENOENT);
}

/* ---- comparing ----------------------------------------------------------- */

static void log_rocket(struct rockets *rockets, uint64_t time, uint32_t slots, uint32_t bytes)
{
	const struct rocket rocket = {.time_ns = time, .slots = slots, .bytes = bytes};

	rockets_add(rockets, &rocket);
}

static void record(struct rockets *rockets, uint64_t time, uint32_t slots, uint32_t bytes,
		   uint8_t flags)
{
	const struct nf_slots_record one = {
		.header = {.type = NF_RECORD_SLOTS, .time_ns = time, .size = NF_SLOTS_RECORD_PLAIN},
		.slots = slots,
		.limit = 18,
		.len = bytes,
		.flags = flags,
	};

	rockets_record(rockets, &one);
}

static void expect_newest(const struct rockets *rockets, enum rocket_state expected)
{
	enum rocket_state is;

	assert_non_null(rockets_newest(rockets, 0, &is));
	assert_int_equal(is, expected);
}

TEST(test_waits_a_second)
{
	struct rockets *rockets = NULL;

	assert_int_equal(rockets_new(&rockets), 0);
	log_rocket(rockets, 10 * SECOND, 19, 700);
	rockets_check(rockets, 11 * SECOND - 1, 0);
	expect_newest(rockets, ROCKET_PENDING);
	record(rockets, 10 * SECOND + 5, 19, 700, NF_SLOTS_XEN);
	rockets_check(rockets, 11 * SECOND, 1);
	expect_newest(rockets, ROCKET_SEEN);
	assert_int_equal(rockets_unseen(rockets), 0);
	assert_int_equal(rockets_total(rockets), 1);
	rockets_free(&rockets);
	assert_null(rockets);
	rockets_free(&rockets);
}

/* A record matches one rocket, with the same slots and bytes, at about the same time, on Xen. */
TEST(test_each_rocket_needs_its_record)
{
	struct rockets *rockets = NULL;

	assert_int_equal(rockets_new(&rockets), 0);
	record(rockets, 1 * SECOND, 19, 700, NF_SLOTS_XEN);
	record(rockets, 10 * SECOND, 19, 701, NF_SLOTS_XEN);
	record(rockets, 10 * SECOND, 20, 700, NF_SLOTS_XEN);
	record(rockets, 10 * SECOND, 19, 700, 0);
	record(rockets, 10 * SECOND, 18, 700, NF_SLOTS_XEN);
	log_rocket(rockets, 10 * SECOND, 19, 700);
	rockets_check(rockets, 12 * SECOND, 3);
	expect_newest(rockets, ROCKET_UNSEEN);
	record(rockets, 20 * SECOND, 19, 700, NF_SLOTS_XEN);
	log_rocket(rockets, 20 * SECOND, 19, 700);
	log_rocket(rockets, 20 * SECOND, 19, 700);
	rockets_check(rockets, 22 * SECOND, 4);
	assert_int_equal(rockets_unseen(rockets), 2);
	rockets_free(&rockets);
}

/* Each overflow without a record, of which only the number is known, matches one rocket. */
TEST(test_overflows_without_a_record)
{
	struct rockets *rockets = NULL;

	assert_int_equal(rockets_new(&rockets), 0);
	log_rocket(rockets, 10 * SECOND, 19, 700);
	log_rocket(rockets, 10 * SECOND, 31, 900);
	log_rocket(rockets, 10 * SECOND, 32, 900);
	rockets_check(rockets, 12 * SECOND, 2);
	assert_int_equal(rockets_unseen(rockets), 1);
	expect_newest(rockets, ROCKET_UNSEEN);
	rockets_check(rockets, 13 * SECOND, 2);
	assert_int_equal(rockets_unseen(rockets), 1);
	rockets_free(&rockets);
}

TEST(test_holds_the_newest)
{
	struct rockets *rockets = NULL;
	enum rocket_state is;

	assert_int_equal(rockets_new(&rockets), 0);
	assert_null(rockets_newest(rockets, 0, &is));
	for (uint32_t i = 0; i < ROCKETS_HELD + 10; i++)
		log_rocket(rockets, 10 * SECOND + i, 19 + i, 700);
	assert_int_equal(rockets_total(rockets), ROCKETS_HELD + 10);
	assert_int_equal(rockets_newest(rockets, 0, &is)->slots, 19 + ROCKETS_HELD + 9);
	assert_int_equal(rockets_newest(rockets, ROCKETS_HELD - 1, &is)->slots, 19 + 10);
	assert_null(rockets_newest(rockets, ROCKETS_HELD, &is));
	rockets_free(&rockets);
}
