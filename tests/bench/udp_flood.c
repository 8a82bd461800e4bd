/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Floods loopback UDP from one CPU to a reader on another CPU and prints one line per piece of time:
 *   sent received seconds sender_cpu
 * `sent` and `received` are packets, and `seconds` is how long the sender sent.  `sender_cpu` is
 * the sender's share of its CPU in this time: less than 1 means that other tasks ran there, too.
 *
 * Usage: udp_flood SECONDS[,SECONDS]... [PAYLOAD_BYTES [SENDER_CPU READER_CPU]]
 *        (defaults: 64 bytes, sender on CPU 0, reader on CPU 1)
 *
 * Pieces follow each other without a pause: 1,2 floods for 3 s.
 *
 * Each packet is one send() and one recv(), so that the cost of a tracer is not shared by a batch.
 */
#include <arpa/inet.h>
#include <err.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PACKET_MAX 65507 /* the largest UDP payload over IPv4 */
#define BURST 64	 /* packets between two readings of the clock */
#define PIECES_MAX 64
#define QUIET_US 20000 /* a reader that receives nothing for this time has emptied its queue */

struct flood {
	double pieces[PIECES_MAX]; /* seconds of each */
	int n_pieces;
	size_t payload;
	int sender_cpu, reader_cpu;
	int sender, reader;	     /* sockets */
	volatile uint64_t *received; /* packets; the reader's process writes it */
};

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		err(1, "cannot run on CPU %d", cpu);
}

static void open_sockets(struct flood *f)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(address);

	f->reader = socket(AF_INET, SOCK_DGRAM, 0);
	f->sender = socket(AF_INET, SOCK_DGRAM, 0);
	if (f->reader < 0 || f->sender < 0 ||
	    bind(f->reader, (struct sockaddr *)&address, length) ||
	    getsockname(f->reader, (struct sockaddr *)&address, &length) ||
	    connect(f->sender, (struct sockaddr *)&address, length))
		err(1, "cannot open loopback sockets");
}

static _Noreturn void read_all(const struct flood *f)
{
	static char buffer[PACKET_MAX];
	uint64_t n = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pin(f->reader_cpu);
	while (recv(f->reader, buffer, sizeof(buffer), 0) >= 0)
		*f->received = ++n;
	err(1, "recv");
}

static void wait_for_reader(const struct flood *f)
{
	uint64_t last;

	do {
		last = *f->received;
		usleep(QUIET_US);
	} while (*f->received != last);
}

static void send_piece(const struct flood *f, double seconds, bool last)
{
	static char packet[PACKET_MAX];
	const uint64_t before = *f->received, cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID);
	const uint64_t start = now_ns(CLOCK_MONOTONIC), end = start + (uint64_t)(seconds * 1e9);
	uint64_t now, used, sent = 0;

	do {
		for (int i = 0; i < BURST; i++)
			if (send(f->sender, packet, f->payload, 0) == (ssize_t)f->payload)
				sent++;
		now = now_ns(CLOCK_MONOTONIC);
	} while (now < end);
	used = now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	if (last)
		wait_for_reader(f);
	printf("%ju %ju %.6f %.4f\n", (uintmax_t)sent, (uintmax_t)(*f->received - before),
	       (double)(now - start) / 1e9, (double)used / (double)(now - start));
}

/* Returns false unless `text` is numbers above 0, joined by commas. */
static bool read_pieces(struct flood *f, const char *text)
{
	for (;;) {
		char *rest;
		double seconds = strtod(text, &rest);

		if (!(seconds > 0) || f->n_pieces == PIECES_MAX)
			return false;
		f->pieces[f->n_pieces++] = seconds;
		if (*rest != ',')
			return *rest == 0;
		text = rest + 1;
	}
}

int main(int argc, char **argv)
{
	struct flood f = {
		.payload = argc > 2 ? strtoul(argv[2], NULL, 10) : 64,
		.sender_cpu = argc > 4 ? atoi(argv[3]) : 0,
		.reader_cpu = argc > 4 ? atoi(argv[4]) : 1,
	};
	pid_t child;

	if (argc < 2 || !read_pieces(&f, argv[1]) || f.payload > PACKET_MAX || argc > 5 ||
	    argc == 4)
		errx(2, "usage: udp_flood SECONDS[,SECONDS]... [PAYLOAD_BYTES [SENDER_CPU "
			"READER_CPU]]");
	open_sockets(&f);
	f.received = mmap(NULL, sizeof(*f.received), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (f.received == MAP_FAILED)
		err(1, "mmap");

	child = fork();
	if (child < 0)
		err(1, "fork");
	if (child == 0)
		read_all(&f);
	pin(f.sender_cpu);
	for (int i = 0; i < f.n_pieces; i++)
		send_piece(&f, f.pieces[i], i == f.n_pieces - 1);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return 0;
}
