/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names that outlast what they name: a real network namespace and a real cgroup, which are removed
 * while a record of them is held.  These tests need root, and a mount namespace of their own.
 */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "daemon/core/names.h"
#include "daemon/kernel/attribution.h"
#include "daemon/store/captures.h"
#include "tests/unit/daemon/store/resolved.h"

static char top[] = "/tmp/test_records_XXXXXX";
static char blue[sizeof(top) + 8], cgroups[sizeof(top) + 8], cgroup[sizeof(top) + 64];
static struct names *names;
static struct attribution *attribution;
static struct records *records;

/* A network namespace of that name, as `ip netns add` makes one.  Its inode number. */
static uint32_t make_netns(const char *path)
{
	struct stat found;
	int status;
	pid_t child;

	assert_int_equal(fclose(fopen(path, "we")), 0);
	child = fork();
	if (!child)
		_exit(unshare(CLONE_NEWNET) < 0 ||
		      mount("/proc/self/ns/net", path, NULL, MS_BIND, NULL) < 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(stat(path, &found), 0);
	return (uint32_t)found.st_ino;
}

static void remove_netns(const char *path)
{
	assert_int_equal(umount2(path, MNT_DETACH), 0);
	assert_int_equal(unlink(path), 0);
}

static int start(void **state)
{
	const struct attribution_places places = {.netns = {top},
						  .mountinfo = "/proc/self/mountinfo"};

	(void)state;
	if (!mkdtemp(top) || names_new(&names) < 0)
		return -1;
	snprintf(blue, sizeof(blue), "%s/blue", top);
	if (geteuid() == 0 &&
	    (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0))
		return -1;
	snprintf(cgroups, sizeof(cgroups), "%s/cgroups", top);
	snprintf(cgroup, sizeof(cgroup), "%s/test_records-%d.service", cgroups, getpid());
	if (geteuid() == 0 && mkdir(cgroups, 0755) == 0)
		(void)mount("none", cgroups, "cgroup2", 0, NULL);
	return attribution_new(&attribution, &places);
}

static int stop(void **state)
{
	(void)state;
	attribution_free(&attribution);
	names_free(&names);
	(void)umount2(cgroups, MNT_DETACH);
	(void)rmdir(cgroups);
	return rmdir(top);
}

static int start_store(void **state)
{
	(void)state;
	records = resolved_store(names, NULL, attribution);
	return 0;
}

static int stop_store(void **state)
{
	(void)state;
	records_free(&records);
	return 0;
}

static void need_root(void)
{
	if (geteuid() != 0) {
		print_message("not root: no namespace and no cgroup to remove\n");
		skip();
	}
}

static const char *netns_name_of_drop(void)
{
	static struct drop drop;

	assert_int_equal(records_drop(records, 0, &drop), 0);
	return drop.device.netns_name;
}

/* A new name may be seen a second late (kernel/attribution.h); the daemon looks again every second. */
static void expect_name_soon(const char *name)
{
	for (int attempt = 0; attempt < 300 && !netns_name_of_drop(); attempt++) {
		usleep(10000);
		records_settle(records);
	}
	assert_non_null(netns_name_of_drop());
	assert_string_equal(netns_name_of_drop(), name);
}

/* The lookup of a namespace is repeated after CAPTURES_FRESH_NS; wait for that. */
static void pause_until_stale(void)
{
	usleep(2 * CAPTURES_FRESH_NS / 1000);
}

static void test_a_namespace_that_is_gone(void **state)
{
	struct nf_drop_record record = {.header.size = NF_DROP_RECORD_PLAIN};

	(void)state;
	need_root();
	record.netns = make_netns(blue);
	records_add_drop(records, &record);
	expect_name_soon("blue");
	remove_netns(blue);
	pause_until_stale();
	records_settle(records);
	assert_string_equal(netns_name_of_drop(), "blue");
	/* A record that is taken now has a namespace without a name, although the number is the same. */
	records_add_drop(records, &record);
	assert_null(netns_name_of_drop());
}

/* A new namespace with the same number is not given the old one's name, nor the other way round. */
static void test_a_name_that_moves_on(void **state)
{
	struct nf_drop_record record = {.header.size = NF_DROP_RECORD_PLAIN};
	char green[sizeof(blue) + 8];

	(void)state;
	need_root();
	snprintf(green, sizeof(green), "%s/green", top);
	record.netns = make_netns(blue);
	records_add_drop(records, &record);
	expect_name_soon("blue");
	remove_netns(blue);
	/* The kernel may use the number again at once; either way this is another namespace. */
	record.netns = make_netns(green);
	pause_until_stale();
	assert_non_null(netns_name_of_drop());
	assert_string_equal(netns_name_of_drop(), "blue");
	records_add_drop(records, &record);
	expect_name_soon("green");
	remove_netns(green);
}

static void test_a_cgroup_that_is_gone(void **state)
{
	struct nf_journey_record record = {
		.header = {.size = sizeof(record), .time_ns = 30},
		.stage_ns = {[NF_STAGE_RECEIVE] = 10, [NF_STAGE_COPY] = 30},
		.outcome = NF_OUTCOME_DELIVERED,
	};
	struct journey journey;
	struct stat found;

	(void)state;
	need_root();
	if (mkdir(cgroup, 0755) < 0) {
		print_message("no cgroup2 can be mounted, or written to\n");
		skip();
	}
	assert_int_equal(stat(cgroup, &found), 0);
	record.cgroup = found.st_ino;
	records_add_journey(records, &record);
	assert_int_equal(rmdir(cgroup), 0);
	assert_int_equal(records_journey(records, 0, &journey), 0);
	assert_non_null(journey.owner);
	assert_string_equal(journey.owner->cgroup, strrchr(cgroup, '/'));
	assert_string_equal(journey.owner->unit, strrchr(cgroup, '/') + 1);
	assert_null(journey.owner->container);
}

/* Many records share a name; it is gone with the last of them. */
static void test_names_are_shared_and_released(void **state)
{
	OWN_CAPTURES struct captures *captures = NULL;
	struct captured *first, *second, *other;

	(void)state;
	assert_int_equal(captures_new(&captures, NULL), 0);
	first = captures_netns(captures, 4026531840);
	second = captures_netns(captures, 4026531840);
	other = captures_owner(captures, 4026531840);
	assert_ptr_equal(first, second);
	assert_ptr_not_equal(first, other);
	assert_int_equal(captures_count(captures), 2);
	captures_release(captures, first);
	assert_int_equal(captures_count(captures), 2);
	captures_release(captures, second);
	captures_release(captures, other);
	assert_int_equal(captures_count(captures), 0);
	assert_null(captures_netns(captures, 0));
	captures_release(captures, NULL);
}

/* Without attribution nothing has a name; there are no records at first. */
static void test_an_empty_store(void **state)
{
	struct journey journey;
	struct drop drop;

	(void)state;
	assert_int_equal(records_count(records, RECORDS_DROPS), 0);
	assert_int_equal(records_capacity(records, RECORDS_DROPS), 1);
	assert_true(records_drop(records, 0, &drop) < 0);
	assert_true(records_journey(records, 0, &journey) < 0);
	assert_int_equal(records_time(records, RECORDS_SLOTS, 0), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, start_store, stop_store)
	const struct CMUnitTest tests[] = {
		TEST(a_namespace_that_is_gone), TEST(a_name_that_moves_on),
		TEST(a_cgroup_that_is_gone),	TEST(names_are_shared_and_released),
		TEST(an_empty_store),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
