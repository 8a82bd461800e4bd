/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sends a load of a known shape from one network namespace to another, reads all of it, and prints one line:
 *   sent sent_bytes read_calls read read_bytes planned_ns elapsed_ns p50_ns p99_ns max_ns
 * `sent` and `read` are messages of BYTES: datagrams, or parts of a stream.  `read_calls` are calls that returned
 * data.  `planned_ns` is the time that the load should have taken, `elapsed_ns` what sending took.  The last three are
 * times from before a message was sent until it was read, of UDP messages without UDP_GRO; otherwise 0.
 *
 * Exits with 77 and a reason if the kernel lacks what a way of sending or reading needs.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/io_uring.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MESSAGE_MAX 65536
#define TIMES_MAX (1 << 20) /* messages whose times are kept */
#define BATCH 8 /* datagrams of UDP_SEGMENT, messages of recvmmsg(), sockets of SO_REUSEPORT */
#define SILENCE_MS 500
#define RECEIVE_BUFFER (256 << 20)
#define LACKING 77

enum way { PLAIN, GSO, ZEROCOPY, SENDFILE, URING, MMSG, PEEK, REUSEPORT, GRO, WAYS };

static const char *const way_names[WAYS] = {
	[PLAIN] = "plain", [GSO] = "gso",   [ZEROCOPY] = "zerocopy", [SENDFILE] = "sendfile",
	[URING] = "uring", [MMSG] = "mmsg", [PEEK] = "peek",	     [REUSEPORT] = "reuseport",
	[GRO] = "gro",
};

struct options {
	uint64_t count, rate; /* messages; per second, 0: as fast as possible */
	size_t size;
	uint64_t on_ns, off_ns; /* it sends for this time, then pauses for that; 0: always */
	uint64_t slow_one_in;	/* the reader sleeps after each of these; 0: never */
	uint64_t slow_ns;	/* for that long */
	bool stream;
	enum way send, read;
	const char *writer_netns, *reader_netns, *address, *port;
};

/* What the reader's process writes. */
struct shared {
	volatile uint64_t calls, messages, bytes, times, done;
	uint64_t ns[TIMES_MAX];
};

struct uring {
	int fd;
	unsigned int *sq_tail, *sq_array, *cq_head;
	struct io_uring_sqe *sqe;
	struct io_uring_cqe *cqe;
	unsigned int sq_mask, cq_mask;
};

static char buffer[BATCH][MESSAGE_MAX];
static struct shared *shared;
static struct uring ring;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
	struct timespec t = {.tv_sec = (time_t)(ns / 1000000000),
			     .tv_nsec = (long)(ns % 1000000000)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		continue;
}

static _Noreturn void lacking(const char *what)
{
	printf("%s: %s\n", what, strerror(errno));
	exit(LACKING);
}

/* ---- arguments ---- */

static _Noreturn void usage(void)
{
	fputs("usage: shape [-n COUNT] [-r PER_SECOND] [-s BYTES] [-o ON_MS -O OFF_MS]\n"
	      "             [-k SLOW_ONE_IN -K SLOW_MS] -W WRITER_NETNS -R READER_NETNS udp|tcp SEND READ ADDRESS PORT\n"
	      "A namespace is a path.\n"
	      "SEND: plain, gso, zerocopy, sendfile, uring\n"
	      "READ: plain, mmsg, peek, reuseport, gro, uring\n",
	      stderr);
	exit(2);
}

static enum way way_of(const char *name)
{
	for (int i = 0; i < WAYS; i++)
		if (!strcmp(way_names[i], name))
			return (enum way)i;
	usage();
}

static struct options parse(int argc, char **argv)
{
	struct options o = {.count = 1, .size = 64};
	int c;

	while ((c = getopt(argc, argv, "n:r:s:o:O:k:K:W:R:")) != -1) {
		switch (c) {
		case 'n':
			o.count = strtoull(optarg, NULL, 10);
			break;
		case 'r':
			o.rate = strtoull(optarg, NULL, 10);
			break;
		case 's':
			o.size = strtoull(optarg, NULL, 10);
			break;
		case 'o':
			o.on_ns = strtoull(optarg, NULL, 10) * 1000000;
			break;
		case 'O':
			o.off_ns = strtoull(optarg, NULL, 10) * 1000000;
			break;
		case 'k':
			o.slow_one_in = strtoull(optarg, NULL, 10);
			break;
		case 'K':
			o.slow_ns = strtoull(optarg, NULL, 10) * 1000000;
			break;
		case 'W':
			o.writer_netns = optarg;
			break;
		case 'R':
			o.reader_netns = optarg;
			break;
		default:
			usage();
		}
	}
	if (argc - optind != 5 || !o.writer_netns || !o.reader_netns || o.size < sizeof(uint64_t) ||
	    o.size > MESSAGE_MAX / BATCH)
		usage();
	o.stream = !strcmp(argv[optind], "tcp");
	o.send = way_of(argv[optind + 1]);
	o.read = way_of(argv[optind + 2]);
	o.address = argv[optind + 3];
	o.port = argv[optind + 4];
	return o;
}

/* ---- io_uring: one operation at a time ---- */

static void ring_open(void)
{
	struct io_uring_params p = {0};
	const int protection = PROT_READ | PROT_WRITE, flags = MAP_SHARED | MAP_POPULATE;
	char *sq, *cq;

	ring.fd = (int)syscall(SYS_io_uring_setup, 1, &p);
	if (ring.fd < 0)
		lacking("io_uring");
	sq = mmap(NULL, p.sq_off.array + p.sq_entries * sizeof(unsigned int), protection, flags,
		  ring.fd, IORING_OFF_SQ_RING);
	cq = mmap(NULL, p.cq_off.cqes + p.cq_entries * sizeof(*ring.cqe), protection, flags,
		  ring.fd, IORING_OFF_CQ_RING);
	ring.sqe = mmap(NULL, p.sq_entries * sizeof(*ring.sqe), protection, flags, ring.fd,
			IORING_OFF_SQES);
	if (sq == MAP_FAILED || cq == MAP_FAILED || ring.sqe == MAP_FAILED)
		err(1, "mmap of io_uring");
	ring.sq_tail = (unsigned int *)(void *)(sq + p.sq_off.tail);
	ring.sq_array = (unsigned int *)(void *)(sq + p.sq_off.array);
	ring.sq_mask = *(unsigned int *)(void *)(sq + p.sq_off.ring_mask);
	ring.cq_head = (unsigned int *)(void *)(cq + p.cq_off.head);
	ring.cqe = (struct io_uring_cqe *)(void *)(cq + p.cq_off.cqes);
	ring.cq_mask = *(unsigned int *)(void *)(cq + p.cq_off.ring_mask);
}

static ssize_t ring_do(unsigned char operation, int fd, void *data, size_t length)
{
	unsigned int tail = *ring.sq_tail, head = *ring.cq_head;

	ring.sqe[0] = (struct io_uring_sqe){.opcode = operation,
					    .fd = fd,
					    .addr = (uintptr_t)data,
					    .len = (unsigned int)length};
	ring.sq_array[tail & ring.sq_mask] = 0;
	__atomic_store_n(ring.sq_tail, tail + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring.fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
		err(1, "io_uring_enter");
	errno = -ring.cqe[head & ring.cq_mask].res;
	__atomic_store_n(ring.cq_head, head + 1, __ATOMIC_RELEASE);
	return errno > 0 ? -1 : -errno;
}

/* ---- sockets ---- */

static void enter(const char *netns)
{
	int fd = open(netns, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || setns(fd, CLONE_NEWNET))
		err(1, "%s", netns);
	close(fd);
}

static void set(int fd, int level, int option, int value)
{
	if (setsockopt(fd, level, option, &value, sizeof(value)))
		lacking("setsockopt");
}

static socklen_t address_of(const struct options *o, struct sockaddr_storage *address)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)address;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)address;
	in_port_t port = htons((in_port_t)atoi(o->port));

	*address = (struct sockaddr_storage){0};
	if (inet_pton(AF_INET, o->address, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = port;
		return sizeof(*v4);
	}
	if (inet_pton(AF_INET6, o->address, &v6->sin6_addr) != 1)
		usage();
	v6->sin6_family = AF_INET6;
	v6->sin6_port = port;
	return sizeof(*v6);
}

/* It listens on all addresses, because the writer's can be one that a router translates. */
static int reader_socket(const struct options *o)
{
	struct sockaddr_storage address;
	socklen_t length = address_of(o, &address);
	int fd = socket(address.ss_family, o->stream ? SOCK_STREAM : SOCK_DGRAM, 0);

	if (fd < 0)
		err(1, "socket");
	if (address.ss_family == AF_INET)
		((struct sockaddr_in *)&address)->sin_addr.s_addr = 0;
	else
		((struct sockaddr_in6 *)&address)->sin6_addr = in6addr_any;
	set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (o->read == REUSEPORT)
		set(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	if (o->read == GRO)
		set(fd, IPPROTO_UDP, UDP_GRO, 1);
	if (!o->stream)
		set(fd, SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER);
	if (bind(fd, (struct sockaddr *)&address, length))
		err(1, "bind");
	if (o->stream && listen(fd, 1))
		err(1, "listen");
	return fd;
}

static int writer_socket(const struct options *o)
{
	struct sockaddr_storage address;
	socklen_t length = address_of(o, &address);
	int fd = socket(address.ss_family, o->stream ? SOCK_STREAM : SOCK_DGRAM, 0);

	if (fd < 0)
		err(1, "socket");
	if (o->stream)
		set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	if (o->send == GSO && !o->stream)
		set(fd, IPPROTO_UDP, UDP_SEGMENT, (int)o->size);
	if (o->send == ZEROCOPY)
		set(fd, SOL_SOCKET, SO_ZEROCOPY, 1);
	if (connect(fd, (struct sockaddr *)&address, length))
		err(1, "connect");
	return fd;
}

/* ---- the reader ---- */

static void took(const struct options *o, const char *data, size_t length)
{
	uint64_t sent;

	shared->bytes += length;
	/* With UDP_GRO several datagrams come at once. */
	shared->messages =
		o->stream || o->read == GRO ? shared->bytes / o->size : shared->messages + 1;
	if (!o->stream && o->read != GRO && shared->times < TIMES_MAX) {
		memcpy(&sent, data, sizeof(sent));
		shared->ns[shared->times] = now() - sent;
		shared->times++;
	}
}

static ssize_t read_many(const struct options *o, int fd)
{
	struct mmsghdr messages[BATCH] = {0};
	struct iovec pieces[BATCH];
	int n;

	for (int i = 0; i < BATCH; i++) {
		pieces[i] = (struct iovec){buffer[i], MESSAGE_MAX};
		messages[i].msg_hdr = (struct msghdr){.msg_iov = &pieces[i], .msg_iovlen = 1};
	}
	n = recvmmsg(fd, messages, BATCH, MSG_WAITFORONE, NULL);
	for (int i = 0; i < n; i++)
		took(o, buffer[i], messages[i].msg_len);
	return n;
}

/*
 * A negative number at the end of a stream, or if nothing came.  TCP merges what waits into one skb of more than 64 KB,
 * and each read of a stream has to take one skb at least: so it has room for all that fits into one.
 */
static ssize_t read_once(const struct options *o, int fd)
{
	size_t room = o->stream ? sizeof(buffer) : MESSAGE_MAX;
	ssize_t n;

	if (o->read == MMSG)
		return read_many(o, fd);
	if (o->read == PEEK && recv(fd, buffer[0], MESSAGE_MAX, MSG_PEEK) <= 0)
		return -1;
	if (o->read == URING)
		n = ring_do(IORING_OP_RECV, fd, buffer, room);
	else
		n = recv(fd, buffer, room, 0);
	if (n > 0)
		took(o, buffer[0], (size_t)n);
	return n;
}

static _Noreturn void read_all(const struct options *o, struct pollfd *fds, nfds_t sockets)
{
	uint64_t slow = o->slow_one_in;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (o->read == URING)
		ring_open();
	shared->done = 0;
	/* One socket blocks in its own call, as most readers do; poll() only notices that nothing comes any more. */
	while (o->stream || shared->messages < o->count) {
		int ready = poll(fds, sockets, SILENCE_MS);

		if (!ready && shared->done)
			break;
		for (nfds_t i = 0; ready > 0 && i < sockets; i++) {
			if (!(fds[i].revents & (POLLIN | POLLHUP)))
				continue;
			if (read_once(o, fds[i].fd) <= 0)
				_exit(0);
			shared->calls++;
		}
		if (slow && shared->messages >= slow) {
			sleep_until(now() + o->slow_ns);
			slow += o->slow_one_in;
		}
	}
	_exit(0);
}

/* ---- the writer ---- */

static void send_whole(const struct options *o, int fd, int file, size_t length)
{
	int flags = o->send == ZEROCOPY ? MSG_ZEROCOPY : 0;
	size_t sent = 0;

	while (sent < length) {
		off_t from = 0;
		ssize_t n = o->send == SENDFILE ? sendfile(fd, file, &from, length - sent)
			    : o->send == URING
				    ? ring_do(IORING_OP_SEND, fd, buffer[0] + sent, length - sent)
				    : send(fd, buffer[0] + sent, length - sent, flags);

		if (n < 0 && errno == ENOBUFS && flags) /* too many pages are pinned */
			flags = 0;
		else if (n < 0 && errno == EIO && o->send == GSO)
			lacking("send to a device that computes no checksums");
		else if (n < 0)
			err(1, "send");
		else
			sent += (size_t)n;
	}
}

/* When message i is due, from the begin on. */
static uint64_t due(const struct options *o, uint64_t i)
{
	uint64_t ns = o->rate ? i * 1000000000 / o->rate : 0;

	return o->on_ns ? ns + ns / o->on_ns * o->off_ns : ns;
}

static uint64_t write_all(const struct options *o, int fd)
{
	uint64_t together = o->send == GSO && !o->stream ? BATCH : 1, begin;
	int file = memfd_create("shape", MFD_CLOEXEC);

	if (file < 0 || ftruncate(file, MESSAGE_MAX))
		err(1, "memfd");
	if (o->send == URING)
		ring_open();
	begin = now();
	for (uint64_t i = 0; i < o->count; i += together) {
		uint64_t time;

		if (begin + due(o, i) > now())
			sleep_until(begin + due(o, i));
		time = now();
		for (uint64_t j = 0; j < together; j++)
			memcpy(buffer[0] + j * o->size, &time, sizeof(time));
		send_whole(o, fd, file, o->size * together);
	}
	return now() - begin;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The next higher one, because there are several ways to count ranks. */
static uint64_t quantile(double share)
{
	uint64_t n = shared->times, rank = (uint64_t)((double)n * share) + 1;

	return n ? shared->ns[rank < n ? rank : n - 1] : 0;
}

int main(int argc, char **argv)
{
	struct options o = parse(argc, argv);
	struct pollfd fds[BATCH];
	nfds_t sockets = o.read == REUSEPORT && !o.stream ? BATCH : 1;
	uint64_t elapsed;
	pid_t reader;
	int writer, status;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		err(1, "mmap");
	enter(o.reader_netns);
	for (nfds_t i = 0; i < sockets; i++)
		fds[i] = (struct pollfd){.fd = reader_socket(&o), .events = POLLIN};
	enter(o.writer_netns);
	writer = writer_socket(&o);
	if (o.stream) {
		fds[0].fd = accept(fds[0].fd, NULL, NULL);
		if (fds[0].fd < 0)
			err(1, "accept");
	}
	reader = fork();
	if (reader < 0)
		err(1, "fork");
	if (reader == 0) {
		close(writer);
		read_all(&o, fds, sockets);
	}
	elapsed = write_all(&o, writer);
	if (o.stream)
		shutdown(writer, SHUT_WR);
	shared->done = 1;
	if (waitpid(reader, &status, 0) < 0 || !WIFEXITED(status))
		errx(1, "the reader died");
	if (WEXITSTATUS(status))
		return WEXITSTATUS(status);
	qsort(shared->ns, shared->times, sizeof(shared->ns[0]), compare);
	printf("%ju %ju %ju %ju %ju %ju %ju %ju %ju %ju\n", (uintmax_t)o.count,
	       (uintmax_t)(o.count * o.size), (uintmax_t)shared->calls, (uintmax_t)shared->messages,
	       (uintmax_t)shared->bytes, (uintmax_t)due(&o, o.count), (uintmax_t)elapsed,
	       (uintmax_t)quantile(0.5), (uintmax_t)quantile(0.99), (uintmax_t)quantile(1));
	return 0;
}
