/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes network namespaces, and sends frames on the loopback device of each that no protocol handles.  The kernel drops
 * each frame (UNHANDLED_PROTO), and frees a namespace when its process makes the next one.  Prints one line:
 *   namespaces frames
 * Every namespace gets one frame of each EtherType in `types`, COPIES times.  JOBS processes share the work, because
 * closing a packet socket waits for a grace period of RCU (synchronize_net() in packet_release()).
 */
#include <arpa/inet.h>
#include <err.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define FRAME_BYTES 60
#define TYPE_OFFSET 12

/* Well-known to netflowd, and without a handler in the kernels that tests run on; the last one is not known. */
static const uint16_t types[] = {0x8035, 0x8809, 0x88cc, 0x88f7, 0x8906, 0x8914, 0x894f, 0x9999};

#define TYPES (sizeof(types) / sizeof(types[0]))

static void set_up(int fd)
{
	struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP};

	if (ioctl(fd, SIOCSIFFLAGS, &request))
		err(1, "cannot set lo up");
}

static void send_frames(int fd, unsigned long copies)
{
	struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex("lo")};
	unsigned char frame[FRAME_BYTES] = {0};

	for (unsigned long i = 0; i < copies * TYPES; i++) {
		uint16_t type = htons(types[i % TYPES]);

		memcpy(frame + TYPE_OFFSET, &type, sizeof(type));
		if (sendto(fd, frame, sizeof(frame), 0, (struct sockaddr *)&to, sizeof(to)) !=
		    sizeof(frame))
			err(1, "cannot send");
	}
}

static void churn(unsigned long namespaces, unsigned long copies)
{
	for (unsigned long i = 0; i < namespaces; i++) {
		int fd;

		if (unshare(CLONE_NEWNET))
			err(1, "cannot make a namespace");
		fd = socket(AF_PACKET, SOCK_RAW, 0);
		if (fd < 0)
			err(1, "cannot open a socket");
		set_up(fd);
		send_frames(fd, copies);
		close(fd);
	}
}

/* Wait for all children; false if one of them failed. */
static bool wait_for_children(void)
{
	bool all = true;
	int status;

	while (wait(&status) > 0)
		all &= WIFEXITED(status) && WEXITSTATUS(status) == 0;
	return all;
}

int main(int argc, char **argv)
{
	unsigned long namespaces, copies, jobs;

	if (argc != 4) {
		fputs("usage: netns_churn NAMESPACES COPIES JOBS\n", stderr);
		return 2;
	}
	namespaces = strtoul(argv[1], NULL, 10);
	copies = strtoul(argv[2], NULL, 10);
	jobs = strtoul(argv[3], NULL, 10);
	for (unsigned long i = 0; i < jobs; i++) {
		pid_t child = fork();

		if (child < 0)
			err(1, "cannot fork");
		if (child)
			continue;
		churn(namespaces / jobs + (i < namespaces % jobs), copies);
		_exit(0);
	}
	if (!wait_for_children())
		return 1;
	printf("%lu %lu\n", namespaces, namespaces * copies * TYPES);
	return 0;
}
