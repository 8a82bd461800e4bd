/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes network namespaces, one after the other, and sends an exact number of UDP datagrams to a closed port of the
 * loopback device of each: each datagram is one drop, in a namespace and at a device that nobody has seen before.
 *
 * With -c, each namespace also gets a cgroup of its own below DIRECTORY, from which the datagrams are sent and which is
 * then removed.
 *
 * Prints one line when it ends or gets SIGTERM:
 *   namespaces datagrams
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define CLOSED_PORT 9 /* discard: nothing listens in a new namespace */

static volatile sig_atomic_t stopped;

static void on_stop(int number)
{
	(void)number;
	stopped = 1;
}

static unsigned long number(const char *text)
{
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(text, &end, 10);
	if (errno || end == text || *end)
		errx(2, "not a number: %s", text);
	return n;
}

static void loopback_up(int fd)
{
	struct ifreq request = {.ifr_name = "lo"};

	request.ifr_flags = IFF_UP | IFF_RUNNING;
	if (ioctl(fd, SIOCSIFFLAGS, &request) < 0)
		err(1, "lo");
}

/* A full send buffer makes sendto() wait, so every datagram is sent. */
static void send_datagrams(int fd, unsigned long count)
{
	const struct sockaddr_in to = {.sin_family = AF_INET,
				       .sin_port = htons(CLOSED_PORT),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	for (unsigned long i = 0; i < count; i++)
		if (sendto(fd, "churn", 5, 0, (const struct sockaddr *)&to, sizeof(to)) != 5)
			err(1, "sendto");
}

static void move_to(const char *cgroup)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "0", 1) != 1)
		err(1, "%s", path);
	close(fd);
}

static void turn(unsigned long datagrams, const char *cgroups, unsigned long i)
{
	char cgroup[PATH_MAX];
	int fd;

	if (cgroups) {
		snprintf(cgroup, sizeof(cgroup), "%s/%lu", cgroups, i);
		if (mkdir(cgroup, 0755) < 0)
			err(1, "%s", cgroup);
		move_to(cgroup);
	}
	/* The namespace before this one has no process any more, and the kernel removes it. */
	if (unshare(CLONE_NEWNET) < 0)
		err(1, "unshare");
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		err(1, "socket");
	loopback_up(fd);
	send_datagrams(fd, datagrams);
	close(fd);
	if (cgroups) {
		move_to(cgroups);
		if (rmdir(cgroup) < 0)
			err(1, "%s", cgroup);
	}
}

int main(int argc, char **argv)
{
	const struct sigaction action = {.sa_handler = on_stop};
	unsigned long namespaces, datagrams, done;
	const char *cgroups = NULL;
	int option;

	while ((option = getopt(argc, argv, "c:")) != -1) {
		if (option != 'c')
			return 2;
		cgroups = optarg;
	}
	if (argc - optind != 2)
		errx(2, "usage: churn [-c DIRECTORY] NAMESPACES DATAGRAMS");
	namespaces = number(argv[optind]);
	datagrams = number(argv[optind + 1]);
	sigaction(SIGTERM, &action, NULL);
	for (done = 0; done < namespaces && !stopped; done++)
		turn(datagrams, cgroups, done);
	printf("%lu %lu\n", done, done * datagrams);
	return 0;
}
