/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A walk through a directory like /proc, whose namespaces are files. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/kernel/netns_procs.h"
#include "tests/unit/test.h"

static char proc[] = "/tmp/netflowd-test-procs-XXXXXX";

struct seen {
	uint32_t inode[8];
	size_t count, forgotten;
	size_t failures; /* of reading, from now on */
};

static struct seen seen;

static int read_netns(uint32_t inode, int proc_net, void *userdata)
{
	assert_ptr_equal(userdata, &seen);
	assert_int_equal(faccessat(proc_net, "dev", F_OK, 0), 0);
	seen.inode[seen.count++] = inode;
	if (!seen.failures)
		return 0;
	seen.failures--;
	return -ESRCH;
}

static void forget(void *userdata)
{
	(void)userdata;
	seen.count--;
	seen.forgotten++;
}

static const struct netns_procs_visitor visitor = {read_netns, forget, &seen};

static void command(const char *text)
{
	char line[512];

	snprintf(line, sizeof(line), "cd %s && %s", proc, text);
	assert_int_equal(system(line), 0); /* NOLINT(cert-env33-c) */
}

static int setup(void **state)
{
	(void)state;
	seen = (struct seen){0};
	strcpy(proc + strlen(proc) - 6, "XXXXXX");
	if (!mkdtemp(proc))
		return -1;
	/* 10 and 11 are in one namespace, 12 in another one; 13 has ended; the last one is no process. */
	command("for p in 10 11 12 self; do mkdir -p $p/ns $p/net; touch $p/net/dev; done; mkdir 13; "
		"touch a b; ln a 10/ns/net; ln a 11/ns/net; ln b 12/ns/net; ln b self/ns/net");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	command("rm -r ../${PWD##*/}");
	return 0;
}

EACH_TEST(setup, teardown);

static int walk(uint64_t deadline_ns)
{
	struct netns_procs *procs = NULL;
	int r, steps = 0;

	assert_int_equal(netns_procs_new(&procs, proc), 0);
	do {
		r = netns_procs_step(procs, deadline_ns, &visitor);
		steps++;
	} while (r > 0);
	netns_procs_free(&procs);
	assert_null(procs);
	return r < 0 ? r : steps;
}

TEST(test_once_each)
{
	assert_int_equal(walk(UINT64_MAX), 1);
	assert_int_equal(seen.count, 2);
	assert_int_not_equal(seen.inode[0], seen.inode[1]);
}

/* A slice is at least one entry of the directory, so that each walk ends. */
TEST(test_slices)
{
	assert_in_range(walk(0), 5, 20);
	assert_int_equal(seen.count, 2);
}

/* Another process of a namespace is tried. */
TEST(test_failure)
{
	seen.failures = 1;
	command("rm -r 12");
	walk(UINT64_MAX);
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.forgotten, 1);
}

TEST_WITH(test_no_directory, NULL, NULL)
{
	struct netns_procs *procs = NULL;

	assert_int_equal(netns_procs_new(&procs, "/nonexistent"), -ENOENT);
	assert_null(procs);
}
