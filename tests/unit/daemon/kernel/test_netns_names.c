/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a name to the number of a network namespace, with real namespaces in a mount namespace of
 * this program's own.  From a number to its name: test_attribution.c.  Requires root.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/array.h"
#include "daemon/kernel/netns_names.h"
#include "tests/unit/test.h"

#define OWN "/proc/self/ns/net"

static char top[] = "/tmp/test_netns_names_XXXXXX"; /* a file system of its own */
static char directories[2][64];
static bool is_root;
static struct netns_names *names;

/* ---- the lab ------------------------------------------------------------ */

static uint32_t inode_of(const char *path)
{
	struct stat file;

	assert_int_equal(stat(path, &file), 0);
	return (uint32_t)file.st_ino;
}

static const char *at(unsigned int directory, const char *name)
{
	static char paths[4][400];
	static unsigned int next;
	char *path = paths[next++ % 4];

	assert_true(snprintf(path, sizeof(paths[0]), "%s/%s", directories[directory], name) <
		    (int)sizeof(paths[0]));
	return path;
}

static void touch(const char *path)
{
	int fd = open(path, O_CREAT | O_EXCL | O_RDONLY | O_CLOEXEC, 0444);

	assert_true(fd >= 0);
	close(fd);
}

/* What `ip netns add` does; the namespace's inode number. */
static uint32_t add(unsigned int directory, const char *name)
{
	const char *path = at(directory, name);
	int own = open(OWN, O_RDONLY | O_CLOEXEC);

	assert_true(own >= 0);
	touch(path);
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	assert_int_equal(mount(OWN, path, "none", MS_BIND, NULL), 0);
	assert_int_equal(setns(own, CLONE_NEWNET), 0);
	close(own);
	return inode_of(path);
}

static void delete (unsigned int directory, const char *name)
{
	assert_int_equal(umount2(at(directory, name), MNT_DETACH), 0);
	assert_int_equal(unlink(at(directory, name)), 0);
}

static int start_lab(void **state)
{
	(void)state;
	if (!mkdtemp(top))
		return -1;
	is_root = geteuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
		  mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
	return 0;
}

static int stop_lab(void **state)
{
	(void)state;
	return rmdir(top);
}

ALL_TESTS(start_lab, stop_lab);

static int start(void **state)
{
	const char *const places[] = {directories[0], directories[1]};

	(void)state;
	for (int i = 0; i < 2; i++)
		snprintf(directories[i], sizeof(directories[i]), "%s/%d", top, i);
	if (is_root && (mount("none", top, "tmpfs", 0, NULL) < 0 ||
			mkdir(directories[0], 0755) < 0 || mkdir(directories[1], 0755) < 0))
		return -1;
	return netns_names_new(&names, places, ARRAY_SIZE(places), OWN);
}

static int stop(void **state)
{
	(void)state;
	netns_names_free(&names);
	return is_root ? umount2(top, MNT_DETACH) : 0;
}

EACH_TEST(start, stop);

static void need_root(void)
{
	if (!is_root) {
		print_message("not root: no namespaces to name\n");
		skip();
	}
}

static void expect(const char *text, uint32_t inode)
{
	uint32_t found = 42;

	assert_int_equal(netns_names_number(names, text, &found), 0);
	assert_int_equal(found, inode);
}

static void refuse(const char *text, int error)
{
	uint32_t found = 42;

	assert_int_equal(netns_names_number(names, text, &found), error);
	assert_int_equal(found, 42);
}

static void expect_nearest(const char *text, const char *expected)
{
	char nearest[NAME_MAX + 1];
	const char *found = netns_names_nearest(names, text, nearest);

	if (expected) {
		assert_non_null(found);
		assert_string_equal(found, expected);
	} else {
		assert_null(found);
	}
}

/* ---- numbers ------------------------------------------------------------ */

TEST(test_number)
{
	expect("4026531840", 4026531840U);
	expect("1", 1); /* of no namespace: it may have been of one */
	refuse("0", -EINVAL);
	refuse("4294967296", -EINVAL);
	refuse("", -EINVAL);
}

TEST(test_host)
{
	struct netns_names *blind = NULL;
	uint32_t own = inode_of(OWN), found = 42;

	expect("host", own);
	/* Without that file it is known only where the kernel gives it a number of its own. */
	assert_int_equal(netns_names_new(&blind, NULL, 0, "/proc/none/ns/net"), 0);
	if (own == 4026531833U) {
		assert_int_equal(netns_names_number(blind, "host", &found), 0);
		assert_int_equal(found, own);
	} else {
		assert_int_equal(netns_names_number(blind, "host", &found), -EACCES);
		assert_int_equal(found, 42);
	}
	netns_names_free(&blind);
	assert_int_equal(netns_names_new(&blind, NULL, 0, NULL), 0);
	assert_int_equal(netns_names_number(blind, "host", &found), -EACCES);
	netns_names_free(&blind);
}

TEST(test_name)
{
	uint32_t blue, red;

	need_root();
	refuse("blue", -ENOENT);
	blue = add(0, "blue");
	red = add(0, "red");
	assert_int_not_equal(blue, red);
	expect("blue", blue);
	expect("red", red);
	refuse("Blue", -ENOENT);
	refuse("../0/blue", -EINVAL);

	/* it is looked up each time */
	delete (0, "blue");
	refuse("blue", -ENOENT);
	red = add(0, "blue");
	expect("blue", red);
}

/* Digits are a number, and "host" is the host, whatever files there are. */
TEST(test_names_that_mean_something_else)
{
	need_root();
	add(0, "12345");
	add(0, "host");
	expect("12345", 12345);
	expect("host", inode_of(OWN));
}

TEST(test_two_directories)
{
	uint32_t first, second;

	need_root();
	second = add(1, "both");
	expect("both", second);
	first = add(0, "both");
	expect("both", first);
	expect("both", first);
	delete (0, "both");
	expect("both", second);
}

TEST(test_what_is_no_namespace)
{
	char link[64];

	need_root();
	/* what is left of `ip netns del` */
	touch(at(0, "file"));
	assert_int_equal(mkdir(at(0, "directory"), 0755), 0);
	touch(at(0, "uts"));
	assert_int_equal(mount("/proc/self/ns/uts", at(0, "uts"), "none", MS_BIND, NULL), 0);
	assert_int_equal(symlink(OWN, at(0, "link")), 0);
	refuse("file", -ENOENT);
	refuse("directory", -ENOENT);
	refuse("uts", -ENOENT);
	refuse("link", -ENOENT);
	/* as people make for containers */
	snprintf(link, sizeof(link), "/proc/%d/ns/net", getpid());
	assert_int_equal(symlink(link, at(0, "container")), 0);
	expect("container", inode_of(OWN));
}

TEST(test_nearest)
{
	expect_nearest("hots", "host");
	expect_nearest("blue", NULL);
	need_root();
	add(0, "blue");
	add(1, "green");
	touch(at(0, "gren"));
	expect_nearest("bleu", "blue");
	expect_nearest("greeen", "green");
	expect_nearest("xyzzy", NULL);
	/* it is there, but no namespace: another name may help, itself does not */
	expect_nearest("gren", "green");
	/* nor does one that is no namespace either */
	expect_nearest("grn", NULL);
}
