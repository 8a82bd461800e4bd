/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes round trips over loopback TCP for a given time: the client on CPU 0 sends one byte, and the
 * server on CPU 1 sends one byte back.  Prints one line:
 *   count median p99
 * where the median and the 99th percentile are in nanoseconds.
 *
 * Usage: tcp_rr SECONDS
 */
#include <err.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NS 1000000000ULL
#define TRIPS_MAX (8U << 20) /* more round trips than loopback TCP makes in a minute */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS + (uint64_t)t.tv_nsec;
}

static void run_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		err(1, "cannot run on CPU %d", cpu);
}

static void no_delay(int fd)
{
	int one = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
		err(1, "TCP_NODELAY");
}

static int listen_anywhere(struct sockaddr_in *address)
{
	socklen_t length = sizeof(*address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	*address = (struct sockaddr_in){.sin_family = AF_INET,
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	if (fd < 0 || bind(fd, (struct sockaddr *)address, sizeof(*address)) || listen(fd, 1) ||
	    getsockname(fd, (struct sockaddr *)address, &length))
		err(1, "listen");
	return fd;
}

static void serve(int listener)
{
	int fd = accept(listener, NULL, NULL);
	char byte;

	if (fd < 0)
		err(1, "accept");
	no_delay(fd);
	while (read(fd, &byte, 1) == 1)
		if (write(fd, &byte, 1) != 1)
			err(1, "write");
}

static size_t ask(const struct sockaddr_in *server, uint64_t until, uint32_t *trips)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	size_t count = 0;
	char byte = 'x';

	if (fd < 0 || connect(fd, (const struct sockaddr *)server, sizeof(*server)))
		err(1, "connect");
	no_delay(fd);
	for (uint64_t begin = now_ns(), end; begin < until && count < TRIPS_MAX; begin = end) {
		if (write(fd, &byte, 1) != 1 || read(fd, &byte, 1) != 1)
			err(1, "round trip");
		end = now_ns();
		trips[count++] = (uint32_t)(end - begin);
	}
	close(fd);
	return count;
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	double seconds = argc == 2 ? strtod(argv[1], NULL) : 0;
	uint32_t *trips = calloc(TRIPS_MAX, sizeof(*trips));
	struct sockaddr_in address;
	int listener;
	size_t count;

	if (!(seconds > 0))
		errx(2, "usage: tcp_rr SECONDS");
	if (!trips)
		err(1, "calloc");
	listener = listen_anywhere(&address);
	switch (fork()) {
	case -1:
		err(1, "fork");
	case 0:
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run_on(1);
		serve(listener);
		return 0;
	}
	run_on(0);
	count = ask(&address, now_ns() + (uint64_t)(seconds * 1e9), trips);
	if (!count)
		errx(1, "no round trip in %g s", seconds);
	qsort(trips, count, sizeof(*trips), compare);
	printf("%zu %u %u\n", count, trips[count / 2], trips[count * 99 / 100]);
	return 0;
}
