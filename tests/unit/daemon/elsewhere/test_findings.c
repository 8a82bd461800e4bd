/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows and totals of counters that mean different things or the same, and what is left out of the lists. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/elsewhere/findings.h"
#include "daemon/elsewhere/tally.h"
#include "tests/unit/test.h"

static struct tally *tally;
static struct elsewhere_findings *findings;

static int setup(void **state)
{
	(void)state;
	findings = calloc(1, sizeof(*findings));
	return findings ? tally_new(&tally) : -1;
}

static int teardown(void **state)
{
	(void)state;
	elsewhere_findings_free(&findings);
	tally_free(&tally);
	return 0;
}

EACH_TEST(setup, teardown);

static void begin(void)
{
	static uint64_t now;

	tally_begin(tally, ++now);
	assert_int_equal(tally_add_place(tally, &(struct tally_place){.cookie = 1, .netns = 1}), 0);
}

static void device(uint32_t ifindex, const char *kind, const char *counter, uint64_t value)
{
	struct tally_place place = {.cookie = 1, .netns = 1, .ifindex = ifindex};

	snprintf(place.kind, sizeof(place.kind), "%s", kind);
	snprintf(place.name, sizeof(place.name), "d%u", ifindex);
	assert_int_equal(tally_add_place(tally, &place), 0);
	assert_int_equal(tally_add_counter(tally, ELSEWHERE_LINK, ifindex, NULL, counter, 0, value),
			 0);
}

static void end(void)
{
	assert_int_equal(tally_end(tally, true), 0);
}

/* ifb, tun and veth have a judgement of their own each for rx_dropped, of one class and with overlaps. */
static void devices(uint64_t value)
{
	static const char *const kinds[] = {"ifb", "tun", "veth"};

	begin();
	for (uint32_t i = 0; i < 3; i++)
		device(2 + i, kinds[i], "rx_dropped", value ? value + i : 0);
	end();
}

/* Two series of one family must differ in their labels: source, counter, class and overlaps. */
static void assert_totals_differ(void)
{
	for (size_t i = 0; i < findings->totals; i++)
		for (size_t j = 0; j < i; j++) {
			const struct elsewhere_row *a = &findings->total[i],
						   *b = &findings->total[j];

			assert_false(a->source == b->source && !strcmp(a->counter, b->counter) &&
				     a->judgement->class == b->judgement->class &&
				     a->judgement->seen == b->judgement->seen);
		}
}

TEST(test_totals_have_different_labels)
{
	devices(0);
	devices(10);
	assert_int_equal(findings_add(findings, tally), 0);
	assert_int_equal(findings->rows, 3);
	assert_totals_differ();
	assert_int_equal(findings->totals, 1);
	assert_int_equal(findings->total[0].packets, 10 + 11 + 12);
}

/* Deleted devices have no name that would distinguish them, and each row says why netflowd does not see its packets. */
TEST(test_rows_of_deleted_devices)
{
	devices(0);
	devices(10);
	begin();
	end();
	assert_int_equal(findings_add(findings, tally), 0);
	assert_int_equal(findings->rows, 3);
	for (size_t i = 0; i < 3; i++)
		assert_true(findings->row[i].gone && findings->row[i].packets >= 10 &&
			    findings->row[i].packets <= 12);
	assert_int_equal(findings->totals, 1);
	assert_int_equal(findings->total[0].packets, 10 + 11 + 12);
}

TEST(test_faults_first)
{
	for (int i = 0; i < 2; i++) {
		begin();
		device(2, "veth", "rx_dropped", i ? 1000 : 0);
		device(3, "", "rx_crc_errors", i ? 1 : 0);
		end();
	}
	assert_int_equal(findings_add(findings, tally), 0);
	assert_int_equal(findings->rows, 2);
	assert_string_equal(findings->row[0].counter, "rx_crc_errors");
	assert_int_equal(findings->totals, 2);
}

TEST(test_rows_beyond_the_limit)
{
	for (int i = 0; i < 2; i++) {
		begin();
		for (uint32_t j = 0; j < ELSEWHERE_ROWS_MAX + 7; j++)
			device(2 + j, "veth", "rx_dropped", i);
		end();
	}
	assert_int_equal(findings_add(findings, tally), 0);
	assert_int_equal(findings->rows, ELSEWHERE_ROWS_MAX);
	assert_int_equal(findings->rows_left_out, 7);
	assert_int_equal(findings->total[0].packets, ELSEWHERE_ROWS_MAX + 7);
}

static void bypass(enum elsewhere_bypass_kind kind, uint32_t number, uint64_t count)
{
	findings_add_bypass(findings,
			    &(struct elsewhere_bypass){.kind = kind, .netns = 1, .number = number},
			    count);
}

/* Packet sockets of containers leave room for programs; all that is not listed is counted. */
TEST(test_bypasses_beyond_the_limit)
{
	for (int i = 0; i < ELSEWHERE_BYPASSES_MAX; i++)
		bypass(ELSEWHERE_PACKET_SOCKETS, 2, 2);
	assert_int_equal(findings->bypasses, ELSEWHERE_BYPASSES_MAX / 2);
	assert_int_equal(findings->bypasses_left_out, ELSEWHERE_BYPASSES_MAX / 2);
	for (int i = 0; i < ELSEWHERE_BYPASSES_MAX; i++)
		bypass(ELSEWHERE_XDP_NATIVE, 5, 1);
	assert_int_equal(findings->bypasses, ELSEWHERE_BYPASSES_MAX);
	assert_int_equal(findings->bypasses_left_out, ELSEWHERE_BYPASSES_MAX);
	assert_int_equal(findings->bypass_count[ELSEWHERE_XDP_NATIVE], ELSEWHERE_BYPASSES_MAX);
	assert_int_equal(findings->bypass_count[ELSEWHERE_PACKET_SOCKETS],
			 2 * ELSEWHERE_BYPASSES_MAX);
}
