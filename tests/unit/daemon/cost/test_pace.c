/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rates from files like /proc/net/softnet_stat and /proc/stat. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "daemon/cost/pace.h"
#include "tests/unit/test.h"

#define SECOND UINT64_C(1000000000)

static char softnet[] = "/tmp/netflowd-pace-softnet-XXXXXX";
static char stat_path[] = "/tmp/netflowd-pace-stat-XXXXXX";

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void write_packets(uint32_t first, uint32_t second, int cpus)
{
	char text[200];

	snprintf(text, sizeof(text), cpus == 1 ? "%08x 0 0\n" : "%08x 0 0\n%08x 0 0\n", first,
		 second);
	write_file(softnet, text);
}

static void write_switches(unsigned long count)
{
	char text[200];

	snprintf(text, sizeof(text), "cpu 1 2 3\nintr 17 0 1\nctxt %lu\nbtime 5\n", count);
	write_file(stat_path, text);
}

static const struct pace *read_at(struct pace_meter *meter, uint64_t now_ns)
{
	return pace_read_files(meter, now_ns, softnet, stat_path);
}

TEST(packets_of_all_cpus)
{
	struct pace_meter meter = {0};
	const struct pace *pace;

	write_switches(7);
	write_packets(100, UINT32_MAX - 99, 2);
	pace = read_at(&meter, SECOND);
	assert_true(pace->packets < 0);
	/* The second counter wraps. */
	write_packets(200, 100, 2);
	read_at(&meter, SECOND + SECOND / 10);
	assert_float_equal(pace->packets, 3000, 1e-6);
	/* A CPU is gone: what its counter said is not known any more. */
	write_packets(300, 0, 1);
	read_at(&meter, 2 * SECOND);
	assert_true(pace->packets < 0);
	write_packets(500, 0, 1);
	read_at(&meter, 4 * SECOND);
	assert_float_equal(pace->packets, 100, 1e-6);
}

TEST(switches_are_read_less_often)
{
	struct pace_meter meter = {0};
	const struct pace *pace;

	write_packets(1, 1, 2);
	write_switches(1000);
	pace = read_at(&meter, SECOND);
	assert_true(pace->switches < 0);
	write_switches(1500);
	read_at(&meter, SECOND + SECOND / 2);
	assert_float_equal(pace->switches, 1000, 1e-6);
	write_switches(9000);
	read_at(&meter, SECOND + SECOND * 3 / 5);
	assert_float_equal(pace->switches, 1000, 1e-6);
	pace_forget(&meter);
	read_at(&meter, 2 * SECOND);
	assert_true(pace->switches < 0 && pace->packets < 0);
}

TEST(files_that_say_nothing)
{
	struct pace_meter meter = {0};
	const struct pace *pace = &meter.pace;

	write_file(softnet, "nothing\n");
	write_file(stat_path, "cpu 1 2 3\n");
	for (uint64_t i = 1; i < 4; i++) {
		read_at(&meter, i * SECOND);
		assert_true(pace->switches < 0 && pace->packets < 0);
	}
	pace_read_files(&meter, 5 * SECOND, "/nonexistent", "/nonexistent");
	assert_true(pace->switches < 0 && pace->packets < 0);
}

TEST(this_kernel_has_both)
{
	struct pace_meter meter = {0};

	pace_read(&meter, SECOND);
	assert_true(pace_read(&meter, 2 * SECOND)->packets >= 0);
	assert_true(meter.pace.switches >= 0);
}

static int make_files(void **state)
{
	int first = mkstemp(softnet), second = mkstemp(stat_path);

	(void)state;
	if (first < 0 || second < 0)
		return -1;
	close(first);
	close(second);
	return 0;
}

static int remove_files(void **state)
{
	(void)state;
	unlink(softnet);
	unlink(stat_path);
	return 0;
}

ALL_TESTS(make_files, remove_files);
