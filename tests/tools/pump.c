/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sends messages from one network namespace to another, reads all of them, and prints one line:
 *   messages bytes messages_read bytes_read
 *
 * One process writes and another reads.  With UDP the writer is at most WINDOW datagrams ahead of the
 * reader (default 32), so that no datagram is lost and few are in flight.  With TCP a message is one
 * write or one read.  A message has BYTES (default 100).
 *
 * With -p (patient) the writer sends a message only while the reader sleeps in recv().  A reader that looks for the
 * next datagram by itself can take it before the kernel calls sk_data_ready() for it.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MESSAGE_MAX (1 << 20)
#define SILENCE_S 5 /* a reader that receives nothing for this time gives up */

struct pump {
	int type; /* SOCK_DGRAM or SOCK_STREAM */
	struct sockaddr_in address;
	uint64_t count, window;
	size_t size;
	bool patient;
	const char *writer_netns, *reader_netns;
	int writer, reader;	     /* sockets */
	volatile uint64_t *messages; /* read so far; the reader's process writes both */
	volatile uint64_t *bytes;
};

static char buffer[MESSAGE_MAX];

static _Noreturn void usage(void)
{
	fputs("usage: pump [-p] [-w WINDOW] [-s BYTES] [-W WRITER_NETNS] [-R READER_NETNS]\n"
	      "            udp|tcp IPV4_ADDRESS PORT COUNT        (a namespace is a path)\n",
	      stderr);
	exit(2);
}

static struct pump parse(int argc, char **argv)
{
	struct pump p = {.window = 32, .size = 100};
	int option;

	while ((option = getopt(argc, argv, "pw:s:W:R:")) != -1) {
		if (option == 'w')
			p.window = strtoull(optarg, NULL, 10);
		else if (option == 's')
			p.size = strtoul(optarg, NULL, 10);
		else if (option == 'p')
			p.patient = true;
		else if (option == 'W')
			p.writer_netns = optarg;
		else if (option == 'R')
			p.reader_netns = optarg;
		else
			usage();
	}
	if (argc - optind != 4 || !p.window || !p.size || p.size > MESSAGE_MAX)
		usage();
	argv += optind;
	p.type = !strcmp(argv[0], "tcp") ? SOCK_STREAM : SOCK_DGRAM;
	p.address.sin_family = AF_INET;
	if (inet_pton(AF_INET, argv[1], &p.address.sin_addr) != 1)
		usage();
	p.address.sin_port = htons((uint16_t)atoi(argv[2]));
	p.count = strtoull(argv[3], NULL, 10);
	return p;
}

static int socket_in(const char *netns, int type)
{
	int fd;

	if (netns) {
		fd = open(netns, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || setns(fd, CLONE_NEWNET))
			err(1, "%s", netns);
		close(fd);
	}
	fd = socket(AF_INET, type, 0);
	if (fd < 0)
		err(1, "socket");
	return fd;
}

static void connect_both(struct pump *p)
{
	const struct sockaddr *address = (const struct sockaddr *)&p->address;
	struct timeval silence = {.tv_sec = SILENCE_S};
	int one = 1;

	p->reader = socket_in(p->reader_netns, p->type);
	setsockopt(p->reader, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(p->reader, address, sizeof(p->address)))
		err(1, "bind");
	if (p->type == SOCK_STREAM && listen(p->reader, 1))
		err(1, "listen");
	p->writer = socket_in(p->writer_netns, p->type);
	if (connect(p->writer, address, sizeof(p->address)))
		err(1, "connect");
	if (p->type == SOCK_STREAM)
		p->reader = accept(p->reader, NULL, NULL);
	if (p->reader < 0 ||
	    setsockopt(p->reader, SOL_SOCKET, SO_RCVTIMEO, &silence, sizeof(silence)))
		err(1, "cannot set up the reader");
}

static _Noreturn void read_all(const struct pump *p)
{
	uint64_t messages = 0, bytes = 0;
	ssize_t n;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(p->writer);
	while ((p->type == SOCK_STREAM || messages < p->count) &&
	       (n = recv(p->reader, buffer, sizeof(buffer), 0)) > 0) {
		*p->bytes = bytes += (uint64_t)n;
		*p->messages = ++messages;
	}
	_exit(0);
}

static void write_message(const struct pump *p)
{
	size_t sent = 0;

	while (sent < p->size) {
		ssize_t n = send(p->writer, buffer, p->size - sent, 0);

		if (n < 0)
			err(1, "send");
		sent += (size_t)n;
	}
}

/* /proc/PID/syscall shows the number of a system call only while the process sleeps in it, otherwise "running". */
static bool sleeps_in_recv(pid_t reader)
{
	char path[64];
	long number = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/syscall", reader);
	file = fopen(path, "re");
	if (!file)
		err(1, "%s", path);
	if (fscanf(file, "%ld", &number) != 1)
		number = -1;
	fclose(file);
	return number == SYS_recvfrom;
}

static void wait_for_sleep(pid_t reader)
{
	while (!sleeps_in_recv(reader)) {
		if (waitpid(reader, NULL, WNOHANG))
			errx(1, "the reader has ended");
		sched_yield();
	}
}

static void write_all(const struct pump *p, pid_t reader)
{
	for (uint64_t i = 0; i < p->count; i++) {
		while (p->type == SOCK_DGRAM && i - *p->messages >= p->window) {
			if (waitpid(reader, NULL, WNOHANG))
				errx(1, "datagrams were lost: %ju sent, %ju read", (uintmax_t)i,
				     (uintmax_t)*p->messages);
			sched_yield();
		}
		if (p->patient)
			wait_for_sleep(reader);
		write_message(p);
	}
	close(p->writer);
}

int main(int argc, char **argv)
{
	struct pump p = parse(argc, argv);
	uint64_t *shared = mmap(NULL, 2 * sizeof(*shared), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t reader;

	if (shared == MAP_FAILED)
		err(1, "mmap");
	p.messages = &shared[0];
	p.bytes = &shared[1];
	connect_both(&p);
	reader = fork();
	if (reader < 0)
		err(1, "fork");
	if (reader == 0)
		read_all(&p);
	write_all(&p, reader);
	waitpid(reader, NULL, 0);
	printf("%ju %ju %ju %ju\n", (uintmax_t)p.count, (uintmax_t)(p.count * p.size),
	       (uintmax_t)*p.messages, (uintmax_t)*p.bytes);
	return 0;
}
