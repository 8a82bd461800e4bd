/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sends an exact number of UDP datagrams and prints one line:
 *   attempted accepted
 * `attempted` is always COUNT.  `accepted` is less if the kernel refuses datagrams in the sender's own
 * context, for example because of a firewall rule on output.
 *
 * The socket is not connected, so that ICMP errors do not stop the program.  The payload of datagram i
 * begins with i as a 64-bit big-endian number, cut to the size of the payload.
 *
 * Defaults: one datagram, 64 bytes of payload, as fast as possible.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <netdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define BATCH 64	  /* datagrams in one system call */
#define SIZE_MAX_V4 65507 /* the largest UDP payload over IPv4 */

struct options {
	uint64_t count;
	size_t size;
	const char *source_port;
	int ttl;	 /* 0: the kernel's default */
	int send_buffer; /* bytes; 0: the kernel's default */
	uint64_t rate;	 /* datagrams per second; 0: as fast as possible */
	const char *host, *port;
};

static _Noreturn void usage(void)
{
	fputs("usage: udp_send [-n COUNT] [-s PAYLOAD_BYTES] [-p SOURCE_PORT] [-t TTL]\n"
	      "                [-b SEND_BUFFER_BYTES] [-r DATAGRAMS_PER_SECOND] ADDRESS PORT\n",
	      stderr);
	exit(2);
}

static uint64_t number(const char *text, uint64_t max)
{
	char *end;
	unsigned long long n;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno || end == text || *end || n > max)
		errx(2, "not a number from 0 to %ju: %s", (uintmax_t)max, text);
	return n;
}

static struct options parse(int argc, char **argv)
{
	struct options o = {.count = 1, .size = 64};
	int c;

	while ((c = getopt(argc, argv, "n:s:p:t:b:r:")) != -1) {
		switch (c) {
		case 'n':
			o.count = number(optarg, UINT64_MAX);
			break;
		case 's':
			o.size = number(optarg, SIZE_MAX_V4);
			break;
		case 'p':
			o.source_port = optarg;
			break;
		case 't':
			o.ttl = (int)number(optarg, 255);
			break;
		case 'b':
			o.send_buffer = (int)number(optarg, 1 << 30);
			break;
		case 'r':
			o.rate = number(optarg, 1000000000);
			break;
		default:
			usage();
		}
	}
	if (argc - optind != 2)
		usage();
	o.host = argv[optind];
	o.port = argv[optind + 1];
	return o;
}

static struct addrinfo *resolve(const char *host, const char *port, int family, int flags)
{
	struct addrinfo hints = {
		.ai_family = family,
		.ai_socktype = SOCK_DGRAM,
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | flags,
	};
	struct addrinfo *found;
	int r = getaddrinfo(host, port, &hints, &found);

	if (r)
		errx(1, "%s port %s: %s", host ? host : "*", port, gai_strerror(r));
	return found;
}

static void set(int fd, int level, int option, int value)
{
	if (setsockopt(fd, level, option, &value, sizeof(value)))
		err(1, "setsockopt %d %d", level, option);
}

static int open_socket(const struct options *o, int family)
{
	int fd = socket(family, SOCK_DGRAM, 0);

	if (fd < 0)
		err(1, "socket");
	if (o->ttl && family == AF_INET6)
		set(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, o->ttl);
	else if (o->ttl)
		set(fd, IPPROTO_IP, IP_TTL, o->ttl);
	if (o->send_buffer)
		set(fd, SOL_SOCKET, SO_SNDBUFFORCE, o->send_buffer);
	if (o->source_port) {
		struct addrinfo *own = resolve(NULL, o->source_port, family, AI_PASSIVE);

		if (bind(fd, own->ai_addr, own->ai_addrlen))
			err(1, "bind to port %s", o->source_port);
		freeaddrinfo(own);
	}
	return fd;
}

/* Sleeps until datagram i is due. */
static void pace(const struct options *o, const struct timespec *start, uint64_t i)
{
	uint64_t ns = (uint64_t)start->tv_nsec + (uint64_t)((double)i * 1e9 / (double)o->rate);
	struct timespec due = {
		.tv_sec = start->tv_sec + (time_t)(ns / 1000000000),
		.tv_nsec = (long)(ns % 1000000000),
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == EINTR)
		continue;
}

static uint64_t send_all(int fd, const struct options *o, const struct addrinfo *to)
{
	static char payload[BATCH][SIZE_MAX_V4];
	struct mmsghdr messages[BATCH];
	struct iovec pieces[BATCH];
	unsigned int batch = o->rate ? 1 : BATCH;
	uint64_t done = 0, accepted = 0;
	struct timespec start;

	for (int i = 0; i < BATCH; i++) {
		pieces[i] = (struct iovec){payload[i], o->size};
		messages[i] = (struct mmsghdr){.msg_hdr = {.msg_name = to->ai_addr,
							   .msg_namelen = to->ai_addrlen,
							   .msg_iov = &pieces[i],
							   .msg_iovlen = 1}};
	}
	clock_gettime(CLOCK_MONOTONIC, &start);
	while (done < o->count) {
		unsigned int n = o->count - done < batch ? (unsigned int)(o->count - done) : batch;
		int r;

		for (unsigned int i = 0; i < n; i++) {
			uint64_t sequence = htobe64(done + i);

			memcpy(payload[i], &sequence,
			       o->size < sizeof(sequence) ? o->size : sizeof(sequence));
		}
		if (o->rate)
			pace(o, &start, done);
		r = sendmmsg(fd, messages, n, 0);
		if (r > 0) {
			done += (unsigned int)r;
			accepted += (unsigned int)r;
		} else if (errno == EPERM || errno == EACCES || errno == ENOBUFS) {
			done++; /* the kernel refused and dropped the first of the batch */
		} else if (errno != EINTR) {
			err(1, "sendmmsg to %s port %s after %ju", o->host, o->port,
			    (uintmax_t)done);
		}
	}
	return accepted;
}

int main(int argc, char **argv)
{
	struct options o = parse(argc, argv);
	struct addrinfo *to = resolve(o.host, o.port, AF_UNSPEC, 0);
	int fd = open_socket(&o, to->ai_family);
	uint64_t accepted = send_all(fd, &o, to);

	printf("%ju %ju\n", (uintmax_t)o.count, (uintmax_t)accepted);
	freeaddrinfo(to);
	close(fd);
	return 0;
}
