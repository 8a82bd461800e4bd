/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /proc/net/softnet_stat as different kernels print it, and with invalid contents. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "daemon/kernel/softnet.h"
#include "tests/unit/test.h"

#define FIVE " 00000000 00000000 00000000 00000000 00000000"

static int read_text(const char *text, struct softnet **rows, size_t *count)
{
	char path[] = "/tmp/test_softnet_XXXXXX";
	int fd = mkstemp(path), r;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	r = softnet_read(path, rows, count);
	unlink(path);
	return r;
}

/* Each layout with two CPUs; all layouts have the same values in the same columns. */
TEST(test_layouts)
{
	static const struct {
		const char *text;
		uint32_t cpu[2];
	} cases[] = {
		/* 9: 2.6.x */
		{"0000000a 00000001 00000002" FIVE " 00000000\n"
		 "ffffffff 00000000 00000003" FIVE " 00000000\n",
		 {0, 1}},
		/* 10: received_rps, 2.6.35 */
		{"0000000a 00000001 00000002" FIVE " 00000000 00000009\n"
		 "ffffffff 00000000 00000003" FIVE " 00000000 00000009\n",
		 {0, 1}},
		/* 11: flow_limit_count, 3.11 */
		{"0000000a 00000001 00000002" FIVE " 00000000 00000009 00000008\n"
		 "ffffffff 00000000 00000003" FIVE " 00000000 00000009 00000008\n",
		 {0, 1}},
		/* 13: backlog length and CPU, 5.10; CPU 1 is offline */
		{"0000000a 00000001 00000002" FIVE " 00000000 00000009 00000008 00000007 00000000\n"
		 "ffffffff 00000000 00000003" FIVE
		 " 00000000 00000009 00000008 00000007 00000002\n",
		 {0, 2}},
		/* 15: both queues, 6.4 */
		{"0000000a 00000001 00000002" FIVE
		 " 00000000 00000009 00000008 00000007 0000000f 00000005 00000006\n"
		 "ffffffff 00000000 00000003" FIVE
		 " 00000000 00000009 00000008 00000007 000000ff 00000005 00000006\n",
		 {15, 255}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct softnet *rows = NULL;
		size_t count = 0;

		assert_int_equal(read_text(cases[i].text, &rows, &count), 0);
		assert_int_equal(count, 2);
		assert_int_equal(rows[0].cpu, cases[i].cpu[0]);
		assert_int_equal(rows[0].processed, 10);
		assert_int_equal(rows[0].dropped, 1);
		assert_int_equal(rows[0].time_squeeze, 2);
		assert_int_equal(rows[1].cpu, cases[i].cpu[1]);
		assert_int_equal(rows[1].processed, UINT32_MAX);
		assert_int_equal(rows[1].time_squeeze, 3);
		free(rows);
	}
}

TEST(test_many_cpus)
{
	const size_t cpus = 1000;
	char *text = malloc(cpus * 200), *end = text;
	struct softnet *rows = NULL;
	size_t count = 0;

	assert_non_null(text);
	for (size_t i = 0; i < cpus; i++)
		end += sprintf(end, "%08zx 00000000 00000000" FIVE FIVE "\n", i * 3);
	assert_int_equal(read_text(text, &rows, &count), 0);
	assert_int_equal(count, cpus);
	for (size_t i = 0; i < cpus; i++)
		assert_int_equal(rows[i].processed, i * 3);
	free(rows);
	free(text);
}

TEST(test_refuses)
{
	static const char *const texts[] = {
		"",
		"\n",
		"00000001 00000002\n",
		"00000001 00000002 00000003", /* no newline at the end */
		"00000001 00000002 0000000x\n",
		"00000001 00000002 -0000003\n",
		"00000001 00000002 100000000\n",
		"00000001 00000002 ffffffffffffffffffffffff\n",
		"cpu dropped squeezed\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct softnet *rows = NULL;
		size_t count = 77;

		assert_int_equal(read_text(texts[i], &rows, &count), -EBADMSG);
		assert_null(rows);
		assert_int_equal(count, 77);
	}
}

/* A line that is too long is an error; a part of it must not become a row. */
TEST(test_long_line)
{
	char text[4096] = "";
	struct softnet *rows = NULL;
	size_t count;

	while (strlen(text) < 3000)
		strcat(text, "00000001 ");
	strcat(text, "\n");
	assert_int_equal(read_text(text, &rows, &count), -EBADMSG);
}

static void add_text(struct softnet_sum *sum, const char *text)
{
	char path[] = "/tmp/test_softnet_XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	assert_int_equal(softnet_sum_add(sum, path), 0);
	unlink(path);
}

/* What was counted before the first reading does not count; the kernel's counters wrap. */
TEST(test_sum)
{
	struct softnet_sum sum = {0};

	add_text(&sum, "fffffff0 00000000 00000000\n00000005 00000000 00000000\n");
	assert_int_equal(sum.packets, 0);
	add_text(&sum, "00000010 00000000 00000000\n00000006 00000000 00000000\n");
	assert_int_equal(sum.packets, 33);
	assert_int_equal(softnet_sum_add(&sum, "/nonexistent"), -ENOENT);
	/* A CPU went offline, and came back. */
	add_text(&sum, "00000020 00000000 00000000\n");
	assert_int_equal(sum.packets, 33);
	add_text(&sum, "00000021 00000000 00000000\n");
	assert_int_equal(sum.packets, 34);
	add_text(&sum, "00000021 00000000 00000000\n00000006 00000000 00000000\n");
	assert_int_equal(sum.packets, 34);
}

TEST(test_no_file)
{
	struct softnet *rows = NULL;
	size_t count;

	assert_int_equal(softnet_read("/nonexistent", &rows, &count), -ENOENT);
	assert_int_equal(softnet_read("/tmp", &rows, &count), -EISDIR);
}

TEST(test_this_host)
{
	struct softnet *rows = NULL;
	size_t count = 0;

	if (access("/proc/net/softnet_stat", R_OK))
		skip();
	assert_int_equal(softnet_read("/proc/net/softnet_stat", &rows, &count), 0);
	assert_int_equal(count, sysconf(_SC_NPROCESSORS_ONLN));
	for (size_t i = 1; i < count; i++)
		assert_true(rows[i].cpu > rows[i - 1].cpu);
	free(rows);
}
