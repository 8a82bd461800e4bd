/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes round trips of one byte for a given time: the client writes, and the server writes back.
 * Prints one line per window, a part of this time:
 *   count median p99
 * where the median and the 99th percentile are in nanoseconds.
 *
 * Usage: round_trips tcp|pipe CLIENT_CPU SERVER_CPU FROM-TO...
 *
 * `tcp` goes over loopback.  `pipe` uses two pipes and no network: with one CPU for both ends, each
 * trip is two switches of the scheduler and little more.  Windows may overlap; FROM and TO are
 * seconds since the first trip, and the trips end with the last window.
 */
#include <err.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NS 1000000000ULL
#define TRIPS_MAX (16U << 20) /* more round trips than a pair of processes makes in 30 s */

/* One end of a connection: where it reads and where it writes. */
struct end {
	int in, out;
};

struct window {
	double from, to; /* seconds */
};

/* Times are ns since the first trip began. */
struct trips {
	size_t count;
	uint64_t end[TRIPS_MAX];
	uint32_t took[TRIPS_MAX];
};

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
	CPU_SET((size_t)cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		err(1, "cannot run on CPU %d", cpu);
}

static void no_delay(int fd)
{
	int one = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
		err(1, "TCP_NODELAY");
}

static void connect_tcp(struct end *client, struct end *server)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr *name = (struct sockaddr *)&address;
	socklen_t length = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	int near = socket(AF_INET, SOCK_STREAM, 0), far;

	if (listener < 0 || near < 0 || bind(listener, name, length) || listen(listener, 1) ||
	    getsockname(listener, name, &length) || connect(near, name, length))
		err(1, "cannot connect over loopback");
	far = accept(listener, NULL, NULL);
	if (far < 0)
		err(1, "accept");
	close(listener);
	no_delay(near);
	no_delay(far);
	*client = (struct end){near, near};
	*server = (struct end){far, far};
}

static void connect_pipes(struct end *client, struct end *server)
{
	int there[2], back[2];

	if (pipe(there) || pipe(back))
		err(1, "pipe");
	*client = (struct end){back[0], there[1]};
	*server = (struct end){there[0], back[1]};
}

static const struct kind {
	const char *name;
	void (*connect)(struct end *client, struct end *server);
} kinds[] = {
	{"tcp", connect_tcp},
	{"pipe", connect_pipes},
};

static void serve(const struct end *end)
{
	char byte;

	while (read(end->in, &byte, 1) == 1)
		if (write(end->out, &byte, 1) != 1)
			err(1, "write");
}

static void ask(const struct end *end, double seconds, struct trips *trips)
{
	const uint64_t start = now_ns(), until = start + (uint64_t)(seconds * 1e9);
	uint64_t begin = start;
	char byte = 'x';

	while (begin < until && trips->count < TRIPS_MAX) {
		uint64_t now;

		if (write(end->out, &byte, 1) != 1 || read(end->in, &byte, 1) != 1)
			err(1, "round trip");
		now = now_ns();
		trips->took[trips->count] = (uint32_t)(now - begin);
		trips->end[trips->count++] = now - start;
		begin = now;
	}
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void print_window(const struct trips *trips, const struct window *window)
{
	uint32_t *took = calloc(TRIPS_MAX, sizeof(*took));
	size_t count = 0;

	if (!took)
		err(1, "calloc");
	for (size_t i = 0; i < trips->count; i++) {
		double at = (double)trips->end[i] / 1e9;

		if (at >= window->from && at < window->to)
			took[count++] = trips->took[i];
	}
	if (!count)
		errx(1, "no round trip from %g to %g s", window->from, window->to);
	qsort(took, count, sizeof(*took), compare);
	printf("%zu %u %u\n", count, took[count / 2], took[count * 99 / 100]);
	free(took);
}

static double read_windows(char **words, int n, struct window *windows)
{
	double last = 0;

	for (int i = 0; i < n; i++) {
		struct window *w = &windows[i];

		if (sscanf(words[i], "%lf-%lf", &w->from, &w->to) != 2 || w->from < 0 ||
		    w->to <= w->from)
			errx(2, "%s: must be FROM-TO, in seconds", words[i]);
		if (w->to > last)
			last = w->to;
	}
	return last;
}

int main(int argc, char **argv)
{
	struct trips *trips = calloc(1, sizeof(*trips));
	const struct kind *kind = NULL;
	struct end client, server;
	struct window *windows;
	double seconds;
	int n = argc - 4;

	for (size_t i = 0; argc > 1 && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(argv[1], kinds[i].name))
			kind = &kinds[i];
	if (!kind || n < 1)
		errx(2, "usage: round_trips tcp|pipe CLIENT_CPU SERVER_CPU FROM-TO...");
	windows = calloc((size_t)n, sizeof(*windows));
	if (!trips || !windows)
		err(1, "calloc");
	seconds = read_windows(argv + 4, n, windows);

	kind->connect(&client, &server);
	switch (fork()) {
	case -1:
		err(1, "fork");
	case 0:
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run_on(atoi(argv[3]));
		serve(&server);
		return 0;
	}
	run_on(atoi(argv[2]));
	ask(&client, seconds, trips);
	for (int i = 0; i < n; i++)
		print_window(trips, &windows[i]);
	return 0;
}
