/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /proc/PID/net/netstat and protocols, as kernels print them, and with invalid contents. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/kernel/proc_net.h"

static char directory[] = "/tmp/test_proc_net_XXXXXX";
static int fd = -1;

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(directory))
		return -1;
	fd = open(directory, O_PATH | O_DIRECTORY);
	return fd < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	(void)state;
	unlinkat(fd, "netstat", 0);
	unlinkat(fd, "protocols", 0);
	close(fd);
	return rmdir(directory);
}

static void write_file(const char *name, const char *text)
{
	int file = openat(fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(file >= 0);
	assert_int_equal(write(file, text, strlen(text)), strlen(text));
	close(file);
}

struct found {
	size_t count;
	uint64_t drops, last;
};

static void take(const char *name, uint64_t value, void *userdata)
{
	struct found *found = userdata;

	found->count++;
	found->last = value;
	if (!strcmp(name, "ListenDrops"))
		found->drops = value;
}

static void test_counters(void **state)
{
	struct found found = {0};

	(void)state;
	write_file("netstat", "IpExt: InNoRoutes\nIpExt: 5\n"
			      "TcpExt: SyncookiesSent ListenDrops Last\nTcpExt: 1 20 "
			      "18446744073709551615\nTcpExtra: A\nTcpExtra: 3\n");
	assert_int_equal(proc_net_counters(fd, "TcpExt", take, &found), 0);
	assert_int_equal(found.count, 3);
	assert_int_equal(found.drops, 20);
	assert_true(found.last == UINT64_MAX);
}

static void test_invalid(void **state)
{
	static const char *const texts[] = {"", "TcpExt: A B\n", "TcpExt: A B\nTcpExt: 1\n",
					    "TcpExt: A\nIpExt: 1\n", "IpExt: A\nIpExt: 1\n"};
	struct found found = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		write_file("netstat", texts[i]);
		assert_int_equal(proc_net_counters(fd, "TcpExt", take, &found), -EBADMSG);
	}
	unlinkat(fd, "netstat", 0);
	assert_int_equal(proc_net_counters(fd, "TcpExt", take, &found), -ENOENT);
}

static void test_sockets(void **state)
{
	uint32_t sockets = 99;

	(void)state;
	write_file("protocols",
		   "protocol  size sockets  memory press maxhdr  slab module     cl co\n"
		   "XDP        960      3      -1   NI       0   no   kernel      n  n\n"
		   "UNIX      1024    153      -1   NI       0   yes  kernel      n  n\n");
	assert_int_equal(proc_net_sockets(fd, "XDP", &sockets), 0);
	assert_int_equal(sockets, 3);
	assert_int_equal(proc_net_sockets(fd, "MPTCP", &sockets), 0);
	assert_int_equal(sockets, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counters),
		cmocka_unit_test(test_invalid),
		cmocka_unit_test(test_sockets),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
