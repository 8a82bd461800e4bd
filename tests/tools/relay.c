/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A network that nobody can trace: passes packets between two TUN devices, "a" and "b", each in a network namespace.
 * It delays, drops, reorders and duplicates exactly what it is told, and knows what TCP then waits for.
 *
 *   relay NETNS_A DEVICE_A INDEX_A NETNS_B DEVICE_B INDEX_B [SEED]     (a namespace is a path)
 *
 * It makes the devices, prints "ready", and reads commands, one per line; it answers each with "ok":
 *   delay SIDE MICROSECONDS        of all packets that SIDE, a or b, sends from now on
 *   drop SIDE WHICH
 *   duplicate SIDE WHICH
 *   hold SIDE WHICH MICROSECONDS   deliver them that much later, after packets that were sent later
 *   report                         prints one line of JSON first
 * WHICH is N, the Nth packet that SIDE sends from now on, or N-M, or 1/N, one in N at random.  Only packets with
 * payload count: TCP segments with data, and all packets but TCP's.  The relay ends when its input ends.
 *
 * The report has for each SIDE the numbers of packets and, for each TCP segment that was delivered behind a hole in its
 * sequence, how long it waited for the one that filled the hole.  The clock is CLOCK_MONOTONIC.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define PACKET_MAX 65536
#define RULES 64
#define FLOWS 64
#define ADDRESSES 32 /* bytes of both addresses */

enum action {
	DROP,
	DUPLICATE,
	HOLD,
};

struct rule {
	enum action action;
	uint64_t first, last; /* numbers of packets with payload */
	uint64_t one_in;      /* 0: all from first to last */
	uint64_t hold_ns;
};

/* A packet on its way. */
struct packet {
	struct packet *next;
	uint64_t due_ns;
	size_t length;
	unsigned char data[];
};

/* A TCP segment that its receiver cannot use yet. */
struct waiting {
	uint32_t sequence, end;
	uint64_t since_ns;
};

struct waited {
	uint16_t port; /* destination */
	uint32_t sequence;
	uint64_t since_ns, ns;
};

/* What the receiver has of one TCP connection, in one direction. */
struct flow {
	unsigned char addresses[ADDRESSES];
	uint16_t source, destination;
	bool begun;
	uint32_t next; /* the sequence number that the receiver expects */
	struct waiting *waiting;
	size_t waits;
};

struct side {
	int fd;
	uint64_t delay_ns;
	uint64_t taken, given, payload, dropped, duplicated, held, refused;
	struct rule rule[RULES];
	int rules;
	struct packet *first; /* on their way to the other side, by due_ns */
	struct flow flow[FLOWS];
	int flows;
	struct waited *waited;
	size_t waited_count;
};

static struct side side[2];
static uint64_t random_state = 1;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* xorshift64*: the same packets for the same seed. */
static uint64_t random_number(void)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return random_state * 0x2545f4914f6cdd1d >> 16;
}

/* Room for one more in an array that grows. */
static void *grown(void *array, size_t count, size_t size)
{
	if (count & (count - 1))
		return array;
	array = realloc(array, (count ? 2 * count : 1) * size);
	if (!array)
		err(1, "realloc");
	return array;
}

/* ---- TCP ------------------------------------------------------------------------ */

struct segment {
	const unsigned char *addresses;
	size_t address_bytes; /* of both */
	uint16_t source, destination;
	uint32_t sequence, length;
	bool syn;
};

/* False: not a TCP segment. */
static bool read_segment(struct segment *s, const unsigned char *data, size_t length)
{
	struct tcphdr tcp;
	struct ip ip;
	size_t header, total;

	if (length < sizeof(ip))
		return false;
	memcpy(&ip, data, sizeof(ip));
	if (ip.ip_v == 4 && ip.ip_p == IPPROTO_TCP) {
		header = ip.ip_hl * 4U;
		total = ntohs(ip.ip_len);
		s->addresses = data + offsetof(struct ip, ip_src);
		s->address_bytes = 8;
	} else if (ip.ip_v == 6 && length >= sizeof(struct ip6_hdr) &&
		   data[offsetof(struct ip6_hdr, ip6_nxt)] == IPPROTO_TCP) {
		header = sizeof(struct ip6_hdr);
		total = length;
		s->addresses = data + offsetof(struct ip6_hdr, ip6_src);
		s->address_bytes = ADDRESSES;
	} else {
		return false;
	}
	if (total > length || total < header + sizeof(tcp))
		return false;
	memcpy(&tcp, data + header, sizeof(tcp));
	s->source = ntohs(tcp.source);
	s->destination = ntohs(tcp.dest);
	s->sequence = ntohl(tcp.seq);
	s->syn = tcp.syn;
	s->length = (uint32_t)(total - header - tcp.doff * 4U);
	return total >= header + tcp.doff * 4U;
}

static bool has_payload(const unsigned char *data, size_t length)
{
	struct segment s;

	return !read_segment(&s, data, length) || s.length;
}

static struct flow *flow_of(struct side *from, const struct segment *s)
{
	struct flow *flow;

	for (int i = 0; i < from->flows; i++) {
		flow = &from->flow[i];
		if (flow->source == s->source && flow->destination == s->destination &&
		    !memcmp(flow->addresses, s->addresses, s->address_bytes))
			return flow;
	}
	if (from->flows == FLOWS)
		errx(1, "more than %d TCP connections", FLOWS);
	flow = &from->flow[from->flows++];
	flow->source = s->source;
	flow->destination = s->destination;
	memcpy(flow->addresses, s->addresses, s->address_bytes);
	return flow;
}

/* Whether a is before b, or the same. */
static bool until(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) <= 0;
}

static void wait_for_hole(struct flow *flow, const struct segment *s, uint64_t now)
{
	for (size_t i = 0; i < flow->waits; i++)
		if (until(flow->waiting[i].sequence, s->sequence) &&
		    until(s->sequence + s->length, flow->waiting[i].end))
			return; /* it has these bytes already */
	flow->waiting = grown(flow->waiting, flow->waits, sizeof(*flow->waiting));
	flow->waiting[flow->waits++] = (struct waiting){s->sequence, s->sequence + s->length, now};
}

/* All segments that are now in sequence have waited. */
static void fill_hole(struct side *from, struct flow *flow, uint64_t now)
{
	for (size_t i = 0; i < flow->waits;) {
		struct waiting w = flow->waiting[i];

		if (!until(w.sequence, flow->next)) {
			i++;
			continue;
		}
		if (!until(w.end, flow->next))
			flow->next = w.end;
		flow->waiting[i] = flow->waiting[--flow->waits];
		from->waited = grown(from->waited, from->waited_count, sizeof(*from->waited));
		from->waited[from->waited_count++] = (struct waited){flow->destination, w.sequence,
								     w.since_ns, now - w.since_ns};
		i = 0;
	}
}

/* The receiver gets this packet now. */
static void follow_sequence(struct side *from, const struct packet *p, uint64_t now)
{
	struct segment s;
	struct flow *flow;

	if (!read_segment(&s, p->data, p->length) || (!s.length && !s.syn))
		return;
	flow = flow_of(from, &s);
	if (s.syn) {
		flow->begun = true;
		flow->next = s.sequence + 1 + s.length;
		flow->waits = 0;
		return;
	}
	if (!flow->begun) {
		flow->begun = true;
		flow->next = s.sequence;
	}
	if (!until(s.sequence, flow->next)) {
		wait_for_hole(flow, &s, now);
		return;
	}
	if (!until(s.sequence + s.length, flow->next)) {
		flow->next = s.sequence + s.length;
		fill_hole(from, flow, now);
	}
}

/* ---- packets ---------------------------------------------------------------------- */

static const struct rule *rule_for(struct side *from, enum action action)
{
	const struct rule *found = NULL;

	/* Each rule draws for each packet, so that they do not change one another's choice. */
	for (int i = 0; i < from->rules; i++) {
		const struct rule *r = &from->rule[i];

		if (r->action != action || from->payload < r->first || from->payload > r->last)
			continue;
		if (!r->one_in || random_number() % r->one_in == 0)
			found = r;
	}
	return found;
}

static void send_at(struct side *from, const unsigned char *data, size_t length, uint64_t due_ns)
{
	struct packet *p = malloc(sizeof(*p) + length), **at = &from->first;

	if (!p)
		err(1, "malloc");
	p->due_ns = due_ns;
	p->length = length;
	memcpy(p->data, data, length);
	while (*at && (*at)->due_ns <= due_ns)
		at = &(*at)->next;
	p->next = *at;
	*at = p;
}

static void take(struct side *from)
{
	static unsigned char data[PACKET_MAX];
	const struct rule *hold = NULL;
	uint64_t due_ns;
	ssize_t n = read(from->fd, data, sizeof(data));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0)
		err(1, "read");
	from->taken++;
	due_ns = now_ns() + from->delay_ns;
	if (has_payload(data, (size_t)n)) {
		from->payload++;
		if (rule_for(from, DROP)) {
			from->dropped++;
			return;
		}
		hold = rule_for(from, HOLD);
		if (hold) {
			from->held++;
			due_ns += hold->hold_ns;
		}
		if (rule_for(from, DUPLICATE)) {
			from->duplicated++;
			send_at(from, data, (size_t)n, due_ns);
		}
	}
	send_at(from, data, (size_t)n, due_ns);
}

/* Deliver all packets that are due; returns when the next one is due, UINT64_MAX: there is none. */
static uint64_t give(struct side *from, const struct side *to)
{
	struct packet *p;

	while ((p = from->first) && p->due_ns <= now_ns()) {
		from->first = p->next;
		follow_sequence(from, p, now_ns());
		if (write(to->fd, p->data, p->length) == (ssize_t)p->length)
			from->given++;
		else
			from->refused++;
		free(p);
	}
	return p ? p->due_ns : UINT64_MAX;
}

/* ---- commands ---------------------------------------------------------------------- */

static void report(void)
{
	for (int i = 0; i < 2; i++) {
		const struct side *s = &side[i];

		printf("%c\"%c\": {\"taken\": %ju, \"payload\": %ju, \"given\": %ju, \"dropped\": %ju, \"duplicated\": %ju, \"held\": %ju, \"refused\": %ju, \"waits\": [",
		       i ? ',' : '{', 'a' + i, (uintmax_t)s->taken, (uintmax_t)s->payload,
		       (uintmax_t)s->given, (uintmax_t)s->dropped, (uintmax_t)s->duplicated,
		       (uintmax_t)s->held, (uintmax_t)s->refused);
		for (size_t j = 0; j < s->waited_count; j++)
			printf("%s{\"port\": %u, \"sequence\": %u, \"since_ns\": %ju, \"ns\": %ju}",
			       j ? ", " : "", s->waited[j].port, s->waited[j].sequence,
			       (uintmax_t)s->waited[j].since_ns, (uintmax_t)s->waited[j].ns);
		printf("]}");
	}
	printf("}\n");
}

static void add_rule(struct side *of, enum action action, const char *which, uint64_t hold_ns)
{
	struct rule *r = &of->rule[of->rules];
	uintmax_t first, last;
	int n;

	if (of->rules++ == RULES)
		errx(2, "more than %d rules", RULES);
	*r = (struct rule){action, of->payload + 1, UINT64_MAX, 0, hold_ns};
	if (sscanf(which, "1/%ju", &last) == 1 && last) {
		r->one_in = last;
		return;
	}
	n = sscanf(which, "%ju-%ju", &first, &last);
	if (n < 1 || !first)
		errx(2, "not N, N-M or 1/N: %s", which);
	r->first = of->payload + first;
	r->last = of->payload + (n == 2 ? last : first);
}

static void obey(const char *line)
{
	char word[16], letter, which[64];
	uintmax_t us = 0;
	struct side *of;
	int n = sscanf(line, "%15s %c %63s %ju", word, &letter, which, &us);

	if (n == 1 && !strcmp(word, "report")) {
		report();
		return;
	}
	if (n < 3 || (letter != 'a' && letter != 'b'))
		errx(2, "not a command: %s", line);
	of = &side[letter - 'a'];
	if (!strcmp(word, "delay"))
		of->delay_ns = strtoull(which, NULL, 10) * 1000;
	else if (!strcmp(word, "drop"))
		add_rule(of, DROP, which, 0);
	else if (!strcmp(word, "duplicate"))
		add_rule(of, DUPLICATE, which, 0);
	else if (!strcmp(word, "hold") && n == 4)
		add_rule(of, HOLD, which, us * 1000);
	else
		errx(2, "not a command: %s", line);
}

/* All whole lines of the input; false: it has ended. */
static bool read_commands(void)
{
	static char text[4096];
	static size_t length;
	char *line = text, *end;
	ssize_t n = read(STDIN_FILENO, text + length, sizeof(text) - length - 1);

	if (n <= 0)
		return n < 0 && errno == EINTR;
	length += (size_t)n;
	text[length] = '\0';
	while ((end = strchr(line, '\n'))) {
		*end = '\0';
		obey(line);
		puts("ok");
		line = end + 1;
	}
	fflush(stdout);
	length = strlen(line);
	memmove(text, line, length);
	return true;
}

/* ---- devices ------------------------------------------------------------------------- */

static int tun_in(const char *netns, const char *name, int index)
{
	struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
	int fd = open(netns, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || setns(fd, CLONE_NEWNET))
		err(1, "%s", netns);
	close(fd);
	fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		err(1, "/dev/net/tun");
	strncpy(request.ifr_name, name, IFNAMSIZ - 1);
	if (ioctl(fd, TUNSETIFINDEX, &index) || ioctl(fd, TUNSETIFF, &request))
		err(1, "%s", name);
	return fd;
}

static void relay(void)
{
	struct pollfd fds[] = {{.fd = side[0].fd, .events = POLLIN},
			       {.fd = side[1].fd, .events = POLLIN},
			       {.fd = STDIN_FILENO, .events = POLLIN}};

	for (;;) {
		uint64_t a = give(&side[0], &side[1]), b = give(&side[1], &side[0]);
		uint64_t next = a < b ? a : b, now = now_ns();
		uint64_t left = next > now ? next - now : 0;
		struct timespec wait = {.tv_sec = (time_t)(left / 1000000000),
					.tv_nsec = (long)(left % 1000000000)};

		if (ppoll(fds, 3, next == UINT64_MAX ? NULL : &wait, NULL) < 0 && errno != EINTR)
			err(1, "ppoll");
		for (int i = 0; i < 2; i++)
			if (fds[i].revents & POLLIN)
				take(&side[i]);
		if (fds[2].revents && !read_commands())
			return;
	}
}

int main(int argc, char **argv)
{
	if (argc != 7 && argc != 8) {
		fputs("usage: relay NETNS_A DEVICE_A INDEX_A NETNS_B DEVICE_B INDEX_B [SEED]\n",
		      stderr);
		return 2;
	}
	for (int i = 0; i < 2; i++)
		side[i].fd = tun_in(argv[1 + 3 * i], argv[2 + 3 * i], atoi(argv[3 + 3 * i]));
	if (argc == 8)
		random_state = strtoull(argv[7], NULL, 10) * 2 + 1;
	prctl(PR_SET_TIMERSLACK, 1);
	puts("ready");
	fflush(stdout);
	relay();
	return 0;
}
