/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sends UDP datagrams that touch an exact number of memory pages, and prints one line for each,
 * before it sends the datagram:
 *   sequence slots bytes
 * With -w it builds a datagram, prints its line, and sends it after it reads a byte from standard
 * input, so that a test can change the machine in between.  It prints "sent" then, and frees its
 * memory when standard input ends.
 *
 * xen-netfront needs a slot of its ring for every page that the linear part and the fragments of an
 * skb touch (xennet_count_skb_slots()).  A corked datagram has a linear part in one page, and a
 * fragment for every piece that is not contiguous with the previous one.  A piece across the border
 * of two pages needs two slots, and a piece within a page needs one.
 *
 * The position of a piece is known, because a new process begins with an empty task fragment
 * (current->task_frag): the kernel then allocates blocks of FRAGMENT_SIZE (SKB_FRAG_PAGE_ORDER) and
 * uses each from its start.  Between two pieces, datagrams that are never sent use up the bytes up
 * to the position of the next piece.  So every datagram has a process of its own.  The number of
 * slots is wrong if memory is so fragmented that the kernel gets single pages.
 *
 * The payload is a 32-bit sequence number and the number of slots, also 32 bits, both big-endian.
 * The bytes after them have the value (sequence + 31 * i) & 255, where i is the byte's index.
 */
#include <arpa/inet.h>
#include <err.h>
#include <getopt.h>
#include <netinet/udp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096U /* XEN_PAGE_SIZE, and the kernel's on x86 */
#define FRAGMENT_SIZE (8 * PAGE)
#define HEAD 8U		/* payload bytes in the linear part */
#define PIECE 80U	/* so that FRAGS_MAX pieces fit into an MTU of 1500 */
#define PIECE_MAX 2000U /* so that a piece fits into a page that already has half of another */
#define GAP 64U		/* keeps the kernel from merging a piece with the previous one */
#define FRAGS_MAX 17
#define SLOTS_MAX (1 + 2 * FRAGS_MAX)

struct datagram {
	uint32_t sequence, slots;
	int fd;
	size_t piece;  /* bytes */
	size_t sent;   /* payload bytes so far */
	size_t offset; /* of the next byte in the task fragment's block */
	uint8_t payload[HEAD + FRAGS_MAX * PIECE_MAX];
};

struct options {
	uint32_t count; /* datagrams with each number of slots */
	uint32_t piece;
	bool wait;
	struct sockaddr_in to;
};

static _Noreturn void usage(void)
{
	fprintf(stderr,
		"usage: rocket [-n COUNT] [-s PIECE_BYTES] [-w] IPV4_ADDRESS PORT SLOTS...\n"
		"       (SLOTS: 1 to %d)\n",
		SLOTS_MAX);
	exit(2);
}

static uint32_t number(const char *text, uint32_t min, uint32_t max)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (end == text || *end || n < min || n > max)
		errx(2, "not a number from %u to %u: %s", min, max, text);
	return (uint32_t)n;
}

static int connected(const struct sockaddr_in *to)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0)
		err(1, "socket");
	if (connect(fd, (const struct sockaddr *)to, sizeof(*to)))
		err(1, "connect to %s%s", inet_ntoa(to->sin_addr),
		    to->sin_addr.s_addr == htonl(INADDR_LOOPBACK) ? ": ip link set lo up" : "");
	return fd;
}

/* Appends to the socket's next datagram. */
static void append(int fd, const void *data, size_t size)
{
	ssize_t n = send(fd, data, size, MSG_MORE);

	if (n < 0)
		err(1, "send");
	if ((size_t)n != size)
		errx(1, "send: %zd bytes of %zu", n, size);
}

/*
 * Uses up bytes of the task fragment.  The socket stays open to keep its pages, because the kernel
 * would start the block again if they were free.
 */
static void eat(size_t size)
{
	static const uint8_t nothing[2 * FRAGMENT_SIZE];
	const struct sockaddr_in loopback = {
		.sin_family = AF_INET,
		.sin_port = htons(9),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = connected(&loopback);

	append(fd, nothing, 1); /* the linear part, which is not in the task fragment */
	append(fd, nothing, size);
}

/* Makes `offset` the position of the next piece, in this block or in the next. */
static void move_to(struct datagram *d, size_t offset)
{
	size_t left = FRAGMENT_SIZE - d->offset;

	eat(offset > d->offset ? offset - d->offset : left + offset);
	d->offset = offset;
}

static void add_piece(struct datagram *d, size_t size)
{
	append(d->fd, d->payload + d->sent, size);
	d->sent += size;
}

static void add_straddling(struct datagram *d)
{
	size_t border = (d->offset / PAGE + 1) * PAGE;

	/* A piece cannot cross the end of a block. */
	if (border >= FRAGMENT_SIZE)
		border = PAGE;
	move_to(d, border - d->piece / 2);
	add_piece(d, d->piece);
	d->offset += d->piece;
}

static void add_plain(struct datagram *d)
{
	move_to(d, d->offset + GAP);
	add_piece(d, d->piece);
	d->offset += d->piece;
}

static void fill(struct datagram *d)
{
	uint32_t head[] = {htonl(d->sequence), htonl(d->slots)};

	memcpy(d->payload, head, HEAD);
	for (size_t i = HEAD; i < sizeof(d->payload); i++)
		d->payload[i] = (uint8_t)(d->sequence + 31 * i);
}

/* Reads a byte from standard input; returns 0 at its end. */
static size_t wait_for_byte(void)
{
	char byte;
	ssize_t n = read(STDIN_FILENO, &byte, 1);

	if (n < 0)
		err(1, "standard input");
	return (size_t)n;
}

/* Sends the appended pieces as one datagram, in the context of this process. */
static void push(int fd)
{
	if (setsockopt(fd, IPPROTO_UDP, UDP_CORK, &(int){0}, sizeof(int)))
		err(1, "UDP_CORK");
}

/* The linear part is one slot, so an odd number of slots needs only straddling pieces. */
static _Noreturn void send_datagram(struct datagram *d, const struct options *o)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	d->fd = connected(&o->to);
	fill(d);
	add_piece(d, HEAD);
	for (uint32_t n = (d->slots - 1) / 2; n; n--)
		add_straddling(d);
	if (d->slots % 2 == 0)
		add_plain(d);
	printf("%u %u %zu\n", d->sequence, d->slots, d->sent);
	fflush(stdout);
	if (o->wait && !wait_for_byte())
		errx(1, "standard input ended before datagram %u was sent", d->sequence);
	push(d->fd);
	if (o->wait) {
		puts("sent");
		fflush(stdout);
		wait_for_byte();
	}
	exit(0);
}

static void send_one(const struct options *o, uint32_t sequence, uint32_t slots)
{
	struct datagram d = {.sequence = sequence, .slots = slots, .piece = o->piece};
	pid_t child = fork();
	int status;

	if (child < 0)
		err(1, "fork");
	if (child == 0)
		send_datagram(&d, o);
	if (waitpid(child, &status, 0) != child || status)
		errx(1, "datagram %u was not sent", sequence);
}

int main(int argc, char **argv)
{
	struct options o = {.count = 1, .piece = PIECE, .to = {.sin_family = AF_INET}};
	uint32_t sequence = 0;
	int c;

	while ((c = getopt(argc, argv, "n:s:w")) != -1) {
		switch (c) {
		case 'n':
			o.count = number(optarg, 1, UINT16_MAX);
			break;
		case 's':
			o.piece = number(optarg, 2, PIECE_MAX);
			break;
		case 'w':
			o.wait = true;
			break;
		default:
			usage();
		}
	}
	if (argc - optind < 3 || inet_pton(AF_INET, argv[optind], &o.to.sin_addr) != 1)
		usage();
	o.to.sin_port = htons((uint16_t)number(argv[optind + 1], 1, UINT16_MAX));
	for (int i = optind + 2; i < argc; i++)
		for (uint32_t n = 0; n < o.count; n++)
			send_one(&o, sequence++, number(argv[i], 1, SLOTS_MAX));
	return 0;
}
