/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /proc/PID/net/netstat, protocols and dev, as kernels print them, and with invalid contents. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/kernel/proc_net.h"
#include "tests/unit/test.h"

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
	unlinkat(fd, "dev", 0);
	close(fd);
	return rmdir(directory);
}

ALL_TESTS(setup, teardown);

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

TEST(test_counters)
{
	struct found found = {0};

	write_file("netstat", "IpExt: InNoRoutes\nIpExt: 5\n"
			      "TcpExt: SyncookiesSent ListenDrops Last\nTcpExt: 1 20 "
			      "18446744073709551615\nTcpExtra: A\nTcpExtra: 3\n");
	assert_int_equal(proc_net_counters(fd, "TcpExt", take, &found), 0);
	assert_int_equal(found.count, 3);
	assert_int_equal(found.drops, 20);
	assert_true(found.last == UINT64_MAX);
}

TEST(test_invalid)
{
	static const char *const texts[] = {"", "TcpExt: A B\n", "TcpExt: A B\nTcpExt: 1\n",
					    "TcpExt: A\nIpExt: 1\n", "IpExt: A\nIpExt: 1\n"};
	struct found found = {0};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		write_file("netstat", texts[i]);
		assert_int_equal(proc_net_counters(fd, "TcpExt", take, &found), -EBADMSG);
	}
	unlinkat(fd, "netstat", 0);
	assert_int_equal(proc_net_counters(fd, "TcpExt", take, &found), -ENOENT);
}

TEST(test_sockets)
{
	uint32_t sockets = 99;

	write_file("protocols",
		   "protocol  size sockets  memory press maxhdr  slab module     cl co\n"
		   "XDP        960      3      -1   NI       0   no   kernel      n  n\n"
		   "UNIX      1024    153      -1   NI       0   yes  kernel      n  n\n");
	assert_int_equal(proc_net_sockets(fd, "XDP", &sockets), 0);
	assert_int_equal(sockets, 3);
	assert_int_equal(proc_net_sockets(fd, "MPTCP", &sockets), 0);
	assert_int_equal(sockets, 0);
}

#define HEADINGS                                                                                  \
	"Inter-|   Receive                                                |  Transmit\n"          \
	" face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs" \
	" drop fifo colls carrier compressed\n"

struct devices {
	size_t count;
	struct proc_net_device last;
};

static int take_device(const struct proc_net_device *device, void *userdata)
{
	struct devices *devices = userdata;

	devices->count++;
	devices->last = *device;
	return strcmp(device->name, "stop") ? 0 : -ECANCELED;
}

TEST(test_devices)
{
	struct devices found = {0};

	write_file(
		"dev", HEADINGS
		"    lo:       0       0    0    0    0     0          0         0        0       0"
		"    0    0    0     0       0          0\n"
		"fifteen_letters:18446744073709551615 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n");
	assert_int_equal(proc_net_devices(fd, take_device, &found), 0);
	assert_int_equal(found.count, 2);
	assert_string_equal(found.last.name, "fifteen_letters");
	assert_true(found.last.rx_bytes == UINT64_MAX);
	assert_int_equal(found.last.rx_packets, 2);
	assert_int_equal(found.last.multicast, 8);
	assert_int_equal(found.last.tx_bytes, 9);
	assert_int_equal(found.last.tx_packets, 10);
	assert_int_equal(found.last.tx_compressed, 16);
	/* A namespace without devices is not an error. */
	write_file("dev", HEADINGS);
	assert_int_equal(proc_net_devices(fd, take_device, &found), 0);
	write_file("dev", HEADINGS "stop: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"
				   "lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n");
	assert_int_equal(proc_net_devices(fd, take_device, &found), -ECANCELED);
	assert_int_equal(found.count, 3);
}

TEST(test_invalid_devices)
{
	static const char *const texts[] = {
		"", HEADINGS "lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n",
		HEADINGS "no colon 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n",
		HEADINGS ": 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n",
		HEADINGS "sixteen_letters_: 1 2 3 4 5 6 7 8 9 10 11 12\n"};
	struct devices found = {0};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		write_file("dev", texts[i]);
		assert_int_equal(proc_net_devices(fd, take_device, &found), -EBADMSG);
	}
	unlinkat(fd, "dev", 0);
	assert_int_equal(proc_net_devices(fd, take_device, &found), -ENOENT);
	assert_int_equal(found.count, 0);
}
