/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names that outlast what they name: a real network namespace and a real cgroup, which are removed
 * while a record of them is held.  These tests need root, and a mount namespace of their own.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "daemon/core/names.h"
#include "daemon/kernel/attribution.h"
#include "daemon/kernel/netns_cookie.h"
#include "daemon/store/captures.h"
#include "tests/unit/daemon/store/resolved.h"
#include "tests/unit/moved_time.h"
#include "tests/unit/test.h"

#define MS UINT64_C(1000000)

static char top[] = "/tmp/test_records_XXXXXX";
static char blue[sizeof(top) + 8], cgroups[sizeof(top) + 8], cgroup[sizeof(top) + 64];
static struct names *names;
static struct attribution *attribution;
static struct records *records;

/* A namespace and the process that made it, which keeps it until it is killed. */
struct netns {
	uint32_t id, inode;
	uint64_t cookie;
	pid_t keeper;
};

/* The child: enters a new namespace, gives it a name unless `path` is NULL, and reports its identity. */
static int keep_netns(const char *path, int report)
{
	struct netns made = {0};
	socklen_t size = sizeof(made.cookie);
	struct stat found;
	int fd;

	if (unshare(CLONE_NEWNET) < 0 || stat("/proc/self/ns/net", &found) < 0 ||
	    (path && mount("/proc/self/ns/net", path, NULL, MS_BIND, NULL) < 0))
		return 1;
	fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &made.cookie, &size) < 0)
		return 1;
	close(fd);
	made.inode = (uint32_t)found.st_ino;
	made.id = (uint32_t)made.cookie;
	if (write(report, &made, sizeof(made)) != sizeof(made))
		return 1;
	for (;;)
		pause();
}

static struct netns new_netns(const char *path)
{
	struct netns made = {0};
	int report[2];
	pid_t keeper;

	if (path)
		assert_int_equal(fclose(fopen(path, "we")), 0);
	assert_int_equal(pipe(report), 0);
	keeper = fork();
	if (!keeper)
		_exit(keep_netns(path, report[1]));
	close(report[1]);
	assert_int_equal(read(report[0], &made, sizeof(made)), sizeof(made));
	close(report[0]);
	made.keeper = keeper;
	return made;
}

static void end_keeper(const struct netns *netns)
{
	kill(netns->keeper, SIGKILL);
	assert_int_equal(waitpid(netns->keeper, NULL, 0), netns->keeper);
}

/* A network namespace of that name, which nothing but its name keeps, as `ip netns add` makes one. */
static struct netns make_netns(const char *path)
{
	struct netns made = new_netns(path);

	end_keeper(&made);
	return made;
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

ALL_TESTS(start, stop);

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

EACH_TEST(start_store, stop_store);

static void need_root(void)
{
	if (geteuid() != 0) {
		print_message("not root: no namespace and no cgroup to remove\n");
		skip();
	}
}

static void name_record(struct nf_drop_record *record, struct netns netns)
{
	record->netns = netns.inode;
	record->netns_id = netns.id;
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
		let_pass(10 * MS);
		usleep(1000); /* for the threads that look */
		records_settle(records);
	}
	assert_non_null(netns_name_of_drop());
	assert_string_equal(netns_name_of_drop(), name);
}

/* The lookup of a namespace is repeated after CAPTURES_FRESH_NS. */
static void pause_until_stale(void)
{
	let_pass(2 * CAPTURES_FRESH_NS);
}

/* The name that was found first stays the name of that namespace, also without a file. */
TEST(test_a_namespace_that_is_gone)
{
	struct nf_drop_record record = {.header.size = NF_DROP_RECORD_PLAIN};

	need_root();
	name_record(&record, make_netns(blue));
	records_add_drop(records, &record);
	expect_name_soon("blue");
	remove_netns(blue);
	pause_until_stale();
	records_settle(records);
	assert_string_equal(netns_name_of_drop(), "blue");
	records_add_drop(records, &record);
	assert_string_equal(netns_name_of_drop(), "blue");
}

/* A new namespace with the same number is not given the old one's name, nor the other way round. */
TEST(test_a_name_that_moves_on)
{
	struct nf_drop_record record = {.header.size = NF_DROP_RECORD_PLAIN};
	char green[sizeof(blue) + 8];

	need_root();
	snprintf(green, sizeof(green), "%s/green", top);
	name_record(&record, make_netns(blue));
	records_add_drop(records, &record);
	expect_name_soon("blue");
	remove_netns(blue);
	/* The kernel may use the number again at once; either way this is another namespace. */
	name_record(&record, make_netns(green));
	pause_until_stale();
	assert_non_null(netns_name_of_drop());
	assert_string_equal(netns_name_of_drop(), "blue");
	records_add_drop(records, &record);
	expect_name_soon("green");
	remove_netns(green);
}

TEST(test_a_cgroup_that_is_gone)
{
	struct nf_journey_record record = {
		.header = {.size = sizeof(record), .time_ns = 30},
		.stage_ns = {[NF_STAGE_RECEIVE] = 10, [NF_STAGE_COPY] = 30},
		.outcome = NF_OUTCOME_DELIVERED,
	};
	struct journey journey;
	struct stat found;

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

/*
 * Make namespaces until one has this inode number, which the kernel frees in a work item (cleanup_net()), and give that
 * one a name.  The others keep the numbers below it.  False: a process outside the test has the number.
 */
#define KEPT_MAX 100
static bool netns_with_inode(const char *path, uint32_t inode, struct netns *found)
{
	struct netns kept[KEPT_MAX];
	char link[64];
	int count = 0;

	while (count < KEPT_MAX) {
		kept[count] = new_netns(NULL);
		if (kept[count++].inode == inode)
			break;
		usleep(5000);
	}
	*found = kept[count - 1];
	if (found->inode == inode) {
		snprintf(link, sizeof(link), "/proc/%d/ns/net", found->keeper);
		assert_int_equal(fclose(fopen(path, "we")), 0);
		assert_int_equal(mount(link, path, NULL, MS_BIND, NULL), 0);
	}
	for (int i = 0; i < count; i++)
		end_keeper(&kept[i]);
	return found->inode == inode;
}

/*
 * A namespace without a name is deleted, and another one gets its inode number and a name: at no time do records of the
 * first show the name of the second.
 */
TEST(test_a_number_used_again)
{
	OWN_CAPTURES struct captures *captures = NULL;
	struct captured *first, *again, *second;
	struct netns stranger, named;

	need_root();
	assert_int_equal(captures_new(&captures, attribution), 0);
	for (int attempt = 0;; attempt++) {
		stranger = new_netns(NULL);
		first = captures_netns(captures, stranger.id, stranger.inode);
		assert_null(captures_netns_name(first));
		end_keeper(&stranger);
		if (netns_with_inode(blue, stranger.inode, &named))
			break;
		captures_release(captures, first);
		assert_true(attempt < 60);
		/* The kernel frees the numbers of this attempt later; the next one must not be above them. */
		usleep(100000 * (useconds_t)(attempt < 5 ? attempt : 5));
	}
	assert_int_not_equal(named.id, stranger.id);
	/* A record of the first that is only read now. */
	again = captures_netns(captures, stranger.id, stranger.inode);
	for (int i = 0; i < 30; i++) {
		captures_settle(captures, CAPTURES_SETTLE_NS);
		assert_null(captures_netns_name(again));
		let_pass(10 * MS);
		usleep(1000); /* for the threads that look */
	}
	second = captures_netns(captures, named.id, named.inode);
	for (int i = 0; i < 120; i++) {
		captures_settle(captures, CAPTURES_SETTLE_NS);
		captures_release(captures, captures_netns(captures, stranger.id, stranger.inode));
		assert_null(captures_netns_name(first));
		let_pass(10 * MS);
		usleep(1000); /* for the threads that look */
	}
	assert_non_null(captures_netns_name(second));
	assert_string_equal(captures_netns_name(second), "blue");
	remove_netns(blue);
	captures_release(captures, first);
	captures_release(captures, again);
	captures_release(captures, second);
	assert_int_equal(captures_count(captures), 0);
}

/* The name comes long after the first record, which shows it all the same, because the cookie proves it. */
TEST(test_a_late_name)
{
	OWN_CAPTURES struct captures *captures = NULL;
	char path[64];
	struct captured *early, *later;
	struct netns netns;

	need_root();
	assert_int_equal(captures_new(&captures, attribution), 0);
	netns = new_netns(NULL);
	early = captures_netns(captures, netns.id, netns.inode);
	for (int i = 0; i < 15; i++) {
		captures_settle(captures, CAPTURES_SETTLE_NS);
		let_pass(100 * MS);
	}
	assert_null(captures_netns_name(early));
	snprintf(path, sizeof(path), "/proc/%d/ns/net", netns.keeper);
	assert_int_equal(symlink(path, blue), 0);
	let_pass(1100 * MS);
	later = captures_netns(captures, netns.id, netns.inode);
	assert_ptr_equal(early, later);
	/* A machine that is busy may not read the cookie in time, and tries again. */
	for (int i = 0; i < 100 && !captures_netns_name(early); i++) {
		let_pass(20 * MS);
		usleep(1000); /* for the threads that look */
		captures_settle(captures, CAPTURES_SETTLE_NS);
	}
	assert_non_null(captures_netns_name(early));
	assert_string_equal(captures_netns_name(early), "blue");
	assert_int_equal(unlink(blue), 0);
	end_keeper(&netns);
	captures_release(captures, early);
	captures_release(captures, later);
}

/* Captures are held by records only: 100,000 namespaces that go by leave those of the records that are left. */
TEST(test_namespaces_that_go_by)
{
	static const size_t capacity[RECORDS_KINDS] = {64, 64, 64};
	const struct records_sources sources = {.names = names, .attribution = attribution};
	struct nf_drop_record record = {.header.size = NF_DROP_RECORD_PLAIN};
	OWN_RECORDS struct records *many = NULL;

	assert_int_equal(records_new(&many, capacity, &sources), 0);
	for (uint32_t i = 1; i <= 100000; i++) {
		record.netns_id = i;
		record.netns = 0xf0000000U + i % 7;
		records_add_drop(many, &record);
	}
	assert_int_equal(records_count(many, RECORDS_DROPS), 64);
	assert_int_equal(records_causes(many, RECORDS_DROPS), 64);
	/* A name and an owner each. */
	assert_int_equal(records_names(many), 2 * 64);
}

/* A machine that is busy may not run the thread in time. */
static int cookie_of(int fd, uint64_t *cookie)
{
	int r = netns_cookie(fd, cookie);

	for (int attempt = 0; attempt < 1000 && r == -ETIMEDOUT; attempt++)
		r = netns_cookie(fd, cookie);
	return r;
}

/* The caller's namespace stays as it is. */
TEST(test_cookies)
{
	struct stat before, after;
	struct netns netns;
	uint64_t cookie = 0;
	char path[64];
	int fd;

	need_root();
	assert_int_equal(stat("/proc/thread-self/ns/net", &before), 0);
	for (int i = 0; i < 10; i++) {
		cookie = 0;
		netns = new_netns(NULL);
		snprintf(path, sizeof(path), "/proc/%d/ns/net", netns.keeper);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		assert_true(fd >= 0);
		assert_int_equal(cookie_of(fd, &cookie), 0);
		assert_int_equal(cookie, netns.cookie);
		close(fd);
		end_keeper(&netns);
	}
	fd = open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC);
	assert_int_equal(cookie_of(fd, &cookie), -EINVAL);
	close(fd);
	assert_int_equal(netns_cookie(-1, &cookie), -EBADF);
	assert_int_equal(stat("/proc/thread-self/ns/net", &after), 0);
	assert_int_equal(after.st_ino, before.st_ino);
}

/* Many records share a name; it is gone with the last of them. */
TEST(test_names_are_shared_and_released)
{
	OWN_CAPTURES struct captures *captures = NULL;
	struct captured *first, *second, *other;

	assert_int_equal(captures_new(&captures, NULL), 0);
	first = captures_netns(captures, 7, 4026531840);
	second = captures_netns(captures, 7, 4026531840);
	other = captures_owner(captures, 7);
	assert_ptr_equal(first, second);
	assert_ptr_not_equal(first, other);
	assert_int_equal(captures_count(captures), 2);
	captures_release(captures, first);
	assert_int_equal(captures_count(captures), 2);
	captures_release(captures, second);
	captures_release(captures, other);
	assert_int_equal(captures_count(captures), 0);
	assert_null(captures_netns(captures, 7, 0));
	assert_null(captures_netns(captures, 0, 7));
	captures_release(captures, NULL);
}

/* Without attribution nothing has a name; there are no records at first. */
TEST(test_an_empty_store)
{
	struct journey journey;
	struct drop drop;

	assert_int_equal(records_count(records, RECORDS_DROPS), 0);
	assert_int_equal(records_capacity(records, RECORDS_DROPS), 1);
	assert_true(records_drop(records, 0, &drop) < 0);
	assert_true(records_journey(records, 0, &journey) < 0);
	assert_int_equal(records_time(records, RECORDS_SLOTS, 0), 0);
}
