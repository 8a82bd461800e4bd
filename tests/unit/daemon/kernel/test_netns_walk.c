/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A walk through a directory like /proc, whose processes are in one namespace, a file of which can fail to open. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/kernel/netns_walk.h"
#include "tests/unit/test.h"

static char proc[] = "/tmp/netflowd-test-walk-XXXXXX";
static int refusals;	   /* of opening the namespace of a process, from now on */
static uint32_t inode;	   /* of that namespace */
static int visits, opened; /* of it */

/* In place of the C library's, for the walk too. */
int openat(int directory, const char *name, int flags, ...)
{
	mode_t mode = 0;

	if (flags & O_CREAT) {
		va_list arguments;

		va_start(arguments, flags);
		mode = va_arg(arguments, mode_t);
		va_end(arguments);
	}
	if (!strcmp(name, "ns/net")) {
		opened++;
		if (refusals) {
			refusals--;
			errno = ESRCH;
			return -1;
		}
	}
	return (int)syscall(SYS_openat, directory, name, flags, mode);
}

static const char *path(const char *name)
{
	static char text[128];

	snprintf(text, sizeof(text), "%s/%s", proc, name);
	return text;
}

static void make_directory(const char *name)
{
	assert_int_equal(mkdir(path(name), 0700), 0);
}

/* The processes 11, 12 and 13 are in one namespace, which is a file that cannot be entered. */
static int setup(void **state)
{
	char namespace[128], name[32];
	struct stat file;
	int fd;

	(void)state;
	assert_non_null(mkdtemp(proc));
	assert_int_equal(symlink("/proc/thread-self", path("thread-self")), 0);
	assert_int_equal(symlink("/proc/self", path("self")), 0);
	snprintf(namespace, sizeof(namespace), "%s", path("namespace"));
	fd = creat(namespace, 0600);
	assert_true(fd >= 0 && fstat(fd, &file) == 0);
	close(fd);
	inode = (uint32_t)file.st_ino;
	for (int i = 11; i <= 13; i++) {
		snprintf(name, sizeof(name), "%d", i);
		make_directory(name);
		snprintf(name, sizeof(name), "%d/net", i);
		make_directory(name);
		snprintf(name, sizeof(name), "%d/ns", i);
		make_directory(name);
		snprintf(name, sizeof(name), "%d/ns/net", i);
		assert_int_equal(link(namespace, path(name)), 0);
	}
	return 0;
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", proc);
	return system(command);
}

ALL_TESTS(setup, teardown);

static int visit(const struct netns_visit *at, void *userdata)
{
	(void)userdata;
	visits += at->inode == inode;
	return 0;
}

static int walk(struct netns_walk *found, int refused)
{
	static const atomic_bool stop;

	visits = opened = 0;
	refusals = refused;
	return netns_walk(found, proc, &stop, visit, NULL);
}

TEST(test_a_namespace_is_visited_once)
{
	struct netns_walk found;

	assert_int_equal(walk(&found, 0), 0);
	assert_int_equal(visits, 1);
	assert_int_equal(opened, 1);
	assert_int_equal(found.refused, 1);
}

/* A process that ends while it is looked at does not hide the namespace of others. */
TEST(test_a_namespace_whose_first_process_ends)
{
	struct netns_walk found;

	assert_int_equal(walk(&found, 2), 0);
	assert_int_equal(opened, 3);
	assert_int_equal(visits, 1);
}
