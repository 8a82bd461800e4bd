/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of real network namespaces and cgroups, in a mount namespace of this program's own.  Tests
 * that need root are skipped for other users.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/array.h"
#include "common/time.h"
#include "daemon/kernel/attribution.h"
#include "daemon/kernel/cgroup_paths.h"
#include "daemon/kernel/cgroup_walk.h"
#include "daemon/kernel/netns_names.h"
#include "tests/unit/test.h"

static char top[] = "/tmp/test_attribution_XXXXXX"; /* a file system only for this test */
static char folder[64], cgroups[64], mountinfo[64], own_cgroup[128];
static bool is_root;
static struct attribution *attribution;

/* ---- the fixture ------------------------------------------------------- */

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static char *at(const char *dir, const char *name)
{
	static char paths[8][512];
	static unsigned int next;
	char *path = paths[next++ % 8];

	assert_true(snprintf(path, sizeof(paths[0]), "%s/%s", dir, name) < (int)sizeof(paths[0]));
	return path;
}

static void need_root(void)
{
	if (!is_root) {
		print_message("not root: no namespaces to name\n");
		skip();
	}
}

static void need_cgroup2(void)
{
	need_root();
	if (!*own_cgroup) {
		print_message("no cgroup2 can be mounted, or written to\n");
		skip();
	}
}

static int remove_one(const char *path, const struct stat *file, int type, struct FTW *ftw)
{
	(void)file, (void)ftw;
	/* rmdir() of a cgroup also removes its files. */
	if (type == FTW_DP)
		(void)rmdir(path);
	return 0;
}

static int start_lab(void **state)
{
	(void)state;
	if (!mkdtemp(top))
		return -1;
	is_root = geteuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
		  mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
		  mount("none", top, "tmpfs", 0, NULL) == 0;
	snprintf(folder, sizeof(folder), "%s/netns", top);
	snprintf(cgroups, sizeof(cgroups), "%s/cgroup 2", top);
	snprintf(mountinfo, sizeof(mountinfo), "%s/mountinfo", top);
	if (!is_root)
		return 0;
	if (mkdir(cgroups, 0755) < 0 || mount("none", cgroups, "cgroup2", 0, NULL) < 0)
		return 0;
	snprintf(own_cgroup, sizeof(own_cgroup), "%s/test_attribution-%d", cgroups, getpid());
	if (mkdir(own_cgroup, 0755) < 0)
		*own_cgroup = '\0';
	return 0;
}

static int stop_lab(void **state)
{
	(void)state;
	if (is_root)
		umount2(at(own_cgroup, "wide/1"), MNT_DETACH);
	if (*own_cgroup)
		nftw(own_cgroup, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
	if (is_root)
		umount2(top, MNT_DETACH);
	return rmdir(top);
}

ALL_TESTS(start_lab, stop_lab);

static int start(void **state)
{
	const struct attribution_places places = {
		.netns = {folder, NULL}, .init_netns = NULL, .mountinfo = mountinfo};

	(void)state;
	if (is_root) {
		char text[256];

		umount2(folder, MNT_DETACH);
		mkdir(folder, 0755);
		if (mount("none", folder, "tmpfs", 0, NULL) < 0)
			return -1;
		/* A path with a space as the kernel writes it, after a mount of only a part. */
		snprintf(text, sizeof(text),
			 "22 27 0:21 / /proc rw - proc proc rw\n"
			 "23 27 0:22 /part /nowhere rw - cgroup2 none rw\n"
			 "24 27 0:22 / %s/cgroup\\0402 rw,relatime shared:9 - cgroup2 none rw\n",
			 top);
		write_file(mountinfo, text);
	}
	return attribution_new(&attribution, &places);
}

static int stop(void **state)
{
	(void)state;
	attribution_free(&attribution);
	attribution_free(&attribution);
	return attribution != NULL;
}

EACH_TEST(start, stop);

static void pause_for(unsigned int milliseconds)
{
	usleep(milliseconds * 1000);
}

/* ---- network namespaces ------------------------------------------------- */

static uint32_t inode_of(const char *path)
{
	struct stat file;

	assert_int_equal(stat(path, &file), 0);
	return (uint32_t)file.st_ino;
}

static void touch(const char *path)
{
	int fd = open(path, O_CREAT | O_EXCL | O_RDONLY | O_CLOEXEC, 0444);

	assert_true(fd >= 0);
	close(fd);
}

/* Creates a namespace as `ip netns add` does; returns its inode number. */
static uint32_t add_netns(const char *name, bool new_file)
{
	int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	char *path = at(folder, name);

	assert_true(own >= 0);
	if (new_file)
		touch(path);
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	assert_int_equal(mount("/proc/self/ns/net", path, "none", MS_BIND, NULL), 0);
	assert_int_equal(setns(own, CLONE_NEWNET), 0);
	close(own);
	return inode_of(path);
}

static void delete_netns(const char *name)
{
	assert_int_equal(umount2(at(folder, name), MNT_DETACH), 0);
	assert_int_equal(unlink(at(folder, name)), 0);
}

static const char *netns(uint32_t inode)
{
	static char name[ATTRIBUTION_NETNS_MAX];

	memset(name, '?', sizeof(name));
	return attribution_netns(attribution, inode, name);
}

/* Waits, because the directory is not read again within a short time. */
static const char *netns_soon(uint32_t inode)
{
	pause_for(50);
	return netns(inode);
}

static void assert_name(const char *name, const char *expected)
{
	assert_non_null(name);
	assert_string_equal(name, expected);
}

TEST(test_netns)
{
	uint32_t blue, red;

	need_root();
	assert_null(netns(4026540000U));
	blue = add_netns("blue", true);
	red = add_netns("red", true);
	assert_int_not_equal(blue, red);
	assert_name(netns_soon(blue), "blue");
	assert_name(netns(red), "red");
	assert_null(netns(0));
	assert_null(netns(1));

	delete_netns("blue");
	assert_null(netns(blue));
	assert_name(netns(red), "red");
	delete_netns("red");
	assert_null(netns(red));
}

/* The kernel reuses a number as soon as it is free; this test forces that. */
TEST(test_netns_number_used_again)
{
	char held[64];
	uint32_t inode;
	int fd;

	need_root();
	inode = add_netns("before", true);
	assert_name(netns(inode), "before");
	fd = open(at(folder, "before"), O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	delete_netns("before");
	snprintf(held, sizeof(held), "/proc/self/fd/%d", fd);
	touch(at(folder, "after"));
	assert_int_equal(mount(held, at(folder, "after"), "none", MS_BIND, NULL), 0);
	close(fd);
	assert_int_equal(inode_of(at(folder, "after")), inode);
	assert_name(netns_soon(inode), "after");
}

TEST(test_netns_two_names)
{
	uint32_t inode;

	need_root();
	inode = add_netns("second", true);
	touch(at(folder, "first"));
	assert_int_equal(mount(at(folder, "second"), at(folder, "first"), "none", MS_BIND, NULL),
			 0);
	assert_name(netns(inode), "first");
	delete_netns("first");
	assert_name(netns(inode), "second");
}

/* `ip netns add` creates the file first, and the later mount does not change the directory. */
TEST(test_netns_file_before_mount)
{
	uint32_t inode;

	need_root();
	touch(at(folder, "late"));
	assert_null(netns(inode_of(at(folder, "late"))));
	pause_for(50);
	inode = add_netns("late", false);
	pause_for(1000);
	assert_name(netns(inode), "late");
	/* `ip netns del` may be interrupted, and leave the file */
	assert_int_equal(umount2(at(folder, "late"), MNT_DETACH), 0);
	assert_null(netns(inode));
}

TEST(test_netns_what_is_no_name)
{
	char link[64];

	need_root();
	mkdir(at(folder, "a-folder"), 0755);
	/* a namespace of another type, with a similar number */
	touch(at(folder, "uts"));
	assert_int_equal(mount("/proc/self/ns/uts", at(folder, "uts"), "none", MS_BIND, NULL), 0);
	/* a link to another location is not followed */
	add_netns("real", true);
	assert_int_equal(symlink(at(folder, "real"), at(folder, "link")), 0);
	snprintf(link, sizeof(link), "/proc/%d/root%s", getpid(), at(folder, "real"));
	assert_int_equal(symlink(link, at(folder, "a-link")), 0);
	assert_name(netns(inode_of(at(folder, "real"))), "real");
	assert_null(netns(inode_of(at(folder, "a-folder"))));
}

/* Administrators make such links for containers, so that `ip netns exec` works. */
TEST(test_netns_link_to_process)
{
	char link[64];

	need_root();
	/* a new namespace, because this program's own may be the host's */
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	snprintf(link, sizeof(link), "/proc/%d/ns/net", getpid());
	assert_int_equal(symlink(link, at(folder, "container")), 0);
	assert_name(netns(inode_of("/proc/self/ns/net")), "container");
}

TEST(test_netns_folder_comes_late)
{
	uint32_t inode;

	need_root();
	assert_int_equal(umount2(folder, MNT_DETACH), 0);
	assert_int_equal(rmdir(folder), 0);
	assert_null(netns(4026540000U));
	assert_int_equal(mkdir(folder, 0755), 0);
	/* the first `ip netns add` mounts the directory on itself */
	assert_int_equal(mount(folder, folder, "none", MS_BIND, NULL), 0);
	inode = add_netns("first", true);
	pause_for(1000);
	assert_name(netns(inode), "first");
	delete_netns("first");
	assert_int_equal(umount2(folder, MNT_DETACH), 0);
}

/* More files than one call examines, and more names than are kept. */
TEST(test_netns_many)
{
	uint32_t own = inode_of("/proc/self/ns/net"), inode;
	char link[64], name[32];
	int calls = 0;

	need_root();
	snprintf(link, sizeof(link), "/proc/%d/ns/net", getpid());
	for (int i = 0; i < 3 * NETNS_NAMES_STEP; i++) {
		snprintf(name, sizeof(name), "plain-%d", i);
		touch(at(folder, name));
	}
	inode = add_netns("one", true);
	while (!netns(inode))
		assert_true(++calls <= 4);
	assert_name(netns(inode), "one");

	for (int i = 0; i < NETNS_NAMES_MAX + 100; i++) {
		snprintf(name, sizeof(name), "link-%d", i);
		assert_int_equal(symlink(link, at(folder, name)), 0);
	}
	pause_for(50);
	for (calls = 0; calls < 30; calls++)
		(void)netns(4026540000U);
	assert_non_null(netns(own));
}

TEST(test_netns_host)
{
	char name[ATTRIBUTION_NETNS_MAX];
	const struct attribution_places places = {.init_netns = "/proc/self/ns/net"};
	struct attribution *here = NULL;
	struct stat own;

	assert_int_equal(attribution_new(&here, &places), 0);
	assert_int_equal(stat("/proc/self/ns/net", &own), 0);
	assert_name(attribution_netns(here, (uint32_t)own.st_ino, name), "host");
	/* the number of the initial namespace in Linux 6.18 and later */
	assert_name(attribution_netns(here, 4026531833U, name), "host");
	assert_null(attribution_netns(here, 1, name));
	attribution_free(&here);
}

TEST(test_netns_two_folders)
{
	char name[ATTRIBUTION_NETNS_MAX], link[64], other[64];
	const struct attribution_places places = {.netns = {link, other}};
	struct attribution *two = NULL;
	uint32_t inode, here;

	need_root();
	snprintf(link, sizeof(link), "%s/link", top);
	snprintf(other, sizeof(other), "%s/other", top);
	assert_int_equal(symlink(folder, link), 0);
	assert_int_equal(symlink(folder, other), 0);
	inode = add_netns("same", true);
	assert_int_equal(attribution_new(&two, &places), 0);
	assert_name(attribution_netns(two, inode, name), "same");

	assert_int_equal(unlink(other), 0);
	assert_int_equal(mkdir(other, 0755), 0);
	delete_netns("same");
	here = add_netns("here", true);
	touch(at(other, "there"));
	assert_int_equal(mount(at(folder, "here"), at(other, "there"), "none", MS_BIND, NULL), 0);
	delete_netns("here");
	pause_for(1000);
	assert_name(attribution_netns(two, here, name), "there");
	umount2(at(other, "there"), MNT_DETACH);
	attribution_free(&two);
}

/* ---- cgroups ------------------------------------------------------------ */

static uint64_t id_of(const char *path)
{
	struct stat file;

	assert_int_equal(stat(path, &file), 0);
	return file.st_ino;
}

static const char *cgroup(uint64_t id)
{
	static char path[ATTRIBUTION_CGROUP_MAX];

	memset(path, '?', sizeof(path));
	return attribution_cgroup(attribution, id, path);
}

/* Without file handles the tree is searched in steps, so an answer may need several calls. */
static const char *cgroup_soon(uint64_t id)
{
	const char *path = cgroup(id);

	for (int i = 0; i < 300 && !path; i++) {
		pause_for(10);
		path = cgroup(id);
	}
	return path;
}

static char *make_cgroup(const char *name)
{
	char *path = at(own_cgroup, name);

	assert_int_equal(mkdir(path, 0755), 0);
	return path;
}

static void check_cgroups(void)
{
	const char *below = own_cgroup + strlen(cgroups);
	uint64_t own = id_of(own_cgroup), unit, odd, hidden;

	unit = id_of(make_cgroup("nginx.service"));
	odd = id_of(make_cgroup("nginx.service/a (deleted)"));
	hidden = id_of(make_cgroup("nginx.service/.hidden"));
	assert_name(cgroup_soon(id_of(cgroups)), "/");
	assert_name(cgroup_soon(own), below);
	assert_name(cgroup_soon(unit), at(below, "nginx.service"));
	assert_name(cgroup_soon(odd), at(below, "nginx.service/a (deleted)"));
	assert_name(cgroup_soon(hidden), at(below, "nginx.service/.hidden"));
	assert_null(cgroup(0));
	assert_null(cgroup(0x7fffffff12345678));
	assert_null(cgroup(0x7fffffff12345678));
	/* a file in a cgroup has an inode number, too */
	assert_null(cgroup(id_of(at(own_cgroup, "cgroup.procs"))));

	assert_int_equal(rmdir(at(own_cgroup, "nginx.service/.hidden")), 0);
	assert_int_equal(rmdir(at(own_cgroup, "nginx.service/a (deleted)")), 0);
	assert_int_equal(rmdir(at(own_cgroup, "nginx.service")), 0);
	assert_name(cgroup(unit), at(below, "nginx.service"));
}

TEST(test_cgroup)
{
	need_cgroup2();
	check_cgroups();
}

TEST(test_cgroup_gone)
{
	uint64_t gone;

	need_cgroup2();
	gone = id_of(make_cgroup("gone"));
	assert_int_equal(rmdir(at(own_cgroup, "gone")), 0);
	assert_null(cgroup(gone));
}

/* An unknown id is searched for again; the cache is smaller than the number of ids. */
TEST(test_cgroup_cache)
{
	uint64_t own = id_of(is_root ? cgroups : "/");

	need_cgroup2();
	assert_name(cgroup(own), "/");
	for (uint64_t id = 1; id < 4 * CGROUP_PATHS_MAX; id++)
		assert_null(cgroup(0x7fffffff00000000 + id));
	assert_name(cgroup(own), "/");
}

/* Adds or drops the capabilities for file handles; libc has no function for that. */
static void have_capabilities(bool have)
{
	const uint32_t mask = 1U << CAP_DAC_READ_SEARCH | 1U << CAP_SYS_ADMIN;
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	assert_int_equal(syscall(SYS_capget, &header, data), 0);
	data[0].effective = have ? data[0].effective | mask : data[0].effective & ~mask;
	assert_int_equal(syscall(SYS_capset, &header, data), 0);
}

static int stop_with_capabilities(void **state)
{
	if (is_root)
		have_capabilities(true);
	return stop(state);
}

TEST_WITH(test_cgroup_walk, start, stop_with_capabilities)
{
	need_cgroup2();
	have_capabilities(false);
	check_cgroups();
}

TEST_WITH(test_cgroup_walk_again, start, stop_with_capabilities)
{
	uint64_t later, missing;

	need_cgroup2();
	have_capabilities(false);
	missing = 0x7fffffff12345678;
	for (int i = 0; i < 30; i++) {
		assert_null(cgroup(missing));
		pause_for(10);
	}
	later = id_of(make_cgroup("later"));
	assert_name(cgroup_soon(later), at(own_cgroup + strlen(cgroups), "later"));
	assert_int_equal(rmdir(at(own_cgroup, "later")), 0);
}

struct visited {
	const char *top;
	size_t in_step, own;
	uint64_t wanted;
	char path[128];
};

static void count_visit(void *data, uint64_t id, const char *path)
{
	struct visited *visited = data;

	visited->in_step++;
	if (strncmp(path, visited->top, strlen(visited->top)) == 0)
		visited->own++;
	if (id == visited->wanted)
		snprintf(visited->path, sizeof(visited->path), "%s", path);
}

/* A wide and deep tree is searched in steps, completely, without the file systems mounted in it. */
TEST_WITH(test_cgroup_walk_steps, start, stop_with_capabilities)
{
	char wide[256], name[64];
	struct visited visited = {.top = wide};
	struct cgroup_walk *walk = NULL;
	int root = is_root ? open(cgroups, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1, steps = 1;

	need_cgroup2();
	snprintf(wide, sizeof(wide), "%s/wide/", own_cgroup + strlen(cgroups));
	make_cgroup("wide");
	for (int i = 0; i < 120; i++) {
		snprintf(name, sizeof(name), "wide/%d", i);
		make_cgroup(name);
	}
	make_cgroup("wide/0/deep");
	visited.wanted = id_of(make_cgroup("wide/0/deep/deeper"));
	assert_int_equal(mount("none", at(own_cgroup, "wide/1"), "tmpfs", 0, NULL), 0);
	assert_int_equal(mkdir(at(own_cgroup, "wide/1/not-a-cgroup"), 0755), 0);

	assert_int_equal(cgroup_walk_new(&walk, root), 0);
	while (!cgroup_walk_step(walk, count_visit, &visited)) {
		assert_true(visited.in_step <= 70);
		visited.in_step = 0;
		steps++;
	}
	assert_true(steps >= 3);
	assert_int_equal(visited.own, 121); /* 120 and two deeper ones, but not wide/1 */
	assert_string_equal(visited.path + strlen(own_cgroup + strlen(cgroups)),
			    "/wide/0/deep/deeper");
	/* starts again and stops before the end */
	visited.own = 0;
	assert_int_equal(cgroup_walk_step(walk, count_visit, &visited), 0);
	cgroup_walk_free(&walk);
	cgroup_walk_free(&walk);
	close(root);
	umount2(at(own_cgroup, "wide/1"), MNT_DETACH);
	nftw(at(own_cgroup, "wide"), remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void check_mountinfo(const char *text, uint64_t id, const char *expected)
{
	const struct attribution_places places = {.mountinfo = text ? mountinfo : NULL};
	char path[ATTRIBUTION_CGROUP_MAX];
	struct attribution *other = NULL;

	if (text)
		write_file(mountinfo, text);
	assert_int_equal(attribution_new(&other, &places), 0);
	if (expected)
		assert_name(attribution_cgroup(other, id, path), expected);
	else
		assert_null(attribution_cgroup(other, id, path));
	attribution_free(&other);
}

TEST(test_cgroup_mounts)
{
	char part[64], text[512];
	uint64_t inside, outside;

	need_cgroup2();
	inside = id_of(make_cgroup("inside"));
	outside = id_of(own_cgroup);
	check_mountinfo(NULL, inside, NULL);
	check_mountinfo("", inside, NULL);
	check_mountinfo("garbage\n - cgroup2 \n1 - cgroup2 x\n1 2 3 4 - cgroup2 x\n", inside, NULL);
	check_mountinfo("24 27 0:22 / /nowhere rw - cgroup2 none rw\n", inside, NULL);
	/* another mount hides the first one */
	snprintf(text, sizeof(text),
		 "23 27 0:22 / /tmp rw - cgroup2 none rw\n"
		 "24 27 0:22 / %s/cgroup\\0402 rw - cgroup2 none rw\n",
		 top);
	check_mountinfo(text, outside, own_cgroup + strlen(cgroups));

	snprintf(part, sizeof(part), "%s/part", top);
	assert_int_equal(mkdir(part, 0755), 0);
	assert_int_equal(mount(own_cgroup, part, "none", MS_BIND, NULL), 0);
	snprintf(text, sizeof(text), "25 27 0:22 /test %s rw - cgroup2 none rw\n", part);
	check_mountinfo(text, inside, "/inside");
	check_mountinfo(text, outside, "/");
	/* the mount of the whole file system takes precedence */
	snprintf(text, sizeof(text),
		 "25 27 0:22 /test %s rw - cgroup2 none rw\n"
		 "24 27 0:22 / %s/cgroup\\0402 rw - cgroup2 none rw\n",
		 part, top);
	check_mountinfo(text, outside, own_cgroup + strlen(cgroups));
	assert_int_equal(umount2(part, MNT_DETACH), 0);
	assert_int_equal(rmdir(at(own_cgroup, "inside")), 0);
}

/* The paths of this host, with any contents, must not crash the program. */
TEST(test_host_places)
{
	char path[ATTRIBUTION_CGROUP_MAX], name[ATTRIBUTION_NETNS_MAX];
	struct attribution *host = NULL;

	assert_int_equal(attribution_new(&host, NULL), 0);
	(void)attribution_netns(host, 4026531840U, name);
	(void)attribution_cgroup(host, 1, path);
	attribution_free(&host);
}
