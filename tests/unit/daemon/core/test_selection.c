/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Valid and invalid expressions, applied to packets written byte by byte.  This program defines the
 * resolver's functions, which libpcap then calls, and counts those calls.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/ether.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bpf/records.h"
#include "common/array.h"
#include "common/time.h"
#include "daemon/core/expression.h"
#include "daemon/core/selection.h"
#include "daemon/core/wire_frame.h"
#include "tests/unit/test.h"

#define BYTES(...) ((const uint8_t[]){__VA_ARGS__}), sizeof((const uint8_t[]){__VA_ARGS__})

/* ---- the resolver ------------------------------------------------------- */

static unsigned int looked_up;

static bool is_address(const char *text)
{
	struct in6_addr address;

	return inet_pton(AF_INET, text, &address) == 1 || inet_pton(AF_INET6, text, &address) == 1;
}

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		struct addrinfo **result)
{
	int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

	/* The real function only converts numbers. */
	if (!node || !(is_address(node) || (hints && hints->ai_flags & AI_NUMERICHOST))) {
		looked_up++;
		return EAI_NONAME;
	}
	*(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
	return real(node, service, hints, result);
}

int getnetbyname_r(const char *name, struct netent *entry, char *buffer, size_t size,
		   struct netent **result, int *error)
{
	(void)name, (void)entry, (void)buffer, (void)size;
	looked_up++;
	*result = NULL;
	*error = HOST_NOT_FOUND;
	return 0;
}

int getprotobyname_r(const char *name, struct protoent *entry, char *buffer, size_t size,
		     struct protoent **result)
{
	(void)name, (void)entry, (void)buffer, (void)size;
	looked_up++;
	*result = NULL;
	return 0;
}

int ether_hostton(const char *name, struct ether_addr *address)
{
	(void)name, (void)address;
	looked_up++;
	return -1;
}

/* ---- packets ------------------------------------------------------------ */

static struct nf_bytes record;
static struct selection_error error;

static int start(void **state)
{
	(void)state;
	memset(&record, 0, sizeof(record));
	/* Bytes beyond the given length must have no effect. */
	memset(record.l2, 0xee, sizeof(record.l2));
	memset(record.net, 0xee, sizeof(record.net));
	looked_up = 0;
	return 0;
}

static int stop(void **state)
{
	(void)state;
	return looked_up != 0;
}

EACH_TEST(start, stop);

static void l2(const uint8_t *bytes, size_t len)
{
	assert_true(record.l2_len + len <= sizeof(record.l2));
	memcpy(record.l2 + record.l2_len, bytes, len);
	record.l2_len = (uint8_t)(record.l2_len + len);
}

static void net(const uint8_t *bytes, size_t len)
{
	assert_true(record.net_len + len <= sizeof(record.net));
	memcpy(record.net + record.net_len, bytes, len);
	record.net_len = (uint8_t)(record.net_len + len);
}

static void ethernet_addresses(void)
{
	l2(BYTES(0x02, 0, 0, 0, 0, 0x0b, 0x02, 0, 0, 0, 0, 0x0a));
}

static void ethernet(uint16_t type)
{
	ethernet_addresses();
	l2(BYTES((uint8_t)(type >> 8), (uint8_t)type));
}

/* 10.0.0.1:40000 > 10.0.0.2:443, SYN, 1000 bytes of which 40 were captured. */
static void tcp4(void)
{
	record.protocol = 0x0800;
	net(BYTES(0x45, 0, 0x03, 0xe8, 0x12, 0x34, 0x40, 0, 63, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2));
	net(BYTES(0x9c, 0x40, 0x01, 0xbb, 1, 2, 3, 4, 5, 6, 7, 8, 0x50, 0x02, 0xff, 0xff, 0, 0, 0,
		  0));
}

/* 2001:db8::1:53 > 2001:db8::2:4242. */
static void udp6(void)
{
	record.protocol = 0x86dd;
	net(BYTES(0x60, 0, 0, 0, 0, 12, 17, 64));
	net(BYTES(0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1));
	net(BYTES(0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2));
	net(BYTES(0, 53, 0x10, 0x92, 0, 12, 0, 0, 'p', 'i', 'n', 'g'));
}

/* ARP request: who has 10.0.0.2, tell 10.0.0.1. */
static void arp(void)
{
	record.protocol = 0x0806;
	net(BYTES(0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 0x0a, 10, 0, 0, 1));
	net(BYTES(0, 0, 0, 0, 0, 0, 10, 0, 0, 2));
}

static bool takes(const char *expression)
{
	struct selection *selection = NULL;
	bool taken;

	if (selection_new(&selection, expression, &error) < 0)
		fail_msg("%s: %s", expression, error.text);
	taken = selection_takes_bytes(selection, &record);
	selection_free(&selection);
	assert_null(selection);
	return taken;
}

struct expected {
	const char *expression;
	bool taken;
};

static void check(const struct expected *expected, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (takes(expected[i].expression) != expected[i].taken)
			fail_msg("%s: %s", expected[i].expression,
				 expected[i].taken ? "not taken" : "taken");
}

#define CHECK(...)                                    \
	check((const struct expected[]){__VA_ARGS__}, \
	      ARRAY_SIZE(((const struct expected[]){__VA_ARGS__})))

/* ---- selecting ---------------------------------------------------------- */

static void check_tcp4(void)
{
	CHECK({"", true}, {" \t", true}, {"ip", true}, {"tcp", true}, {"udp", false},
	      {"ip6", false}, {"not ip6", true}, {"port 443", true}, {"src port 443", false},
	      {"tcp port 443 and net 10.0.0.0/8", true}, {"net 10.0.1.0/24", false},
	      {"host 10.0.0.1", true}, {"src 10.0.0.1", true}, {"src 10.0.0.2", false},
	      {"net 10", true}, {"net 10.0.0.0 mask 255.255.255.0", true},
	      {"portrange 440-450", true}, {"portrange 1-9 or 441-449", true},
	      {"portrange 1-9", false}, {"tcp[tcpflags] & tcp-syn != 0", true},
	      {"tcp[13] == 2 && ip[8] < 64", true}, {"tcp[tcpflags] = tcp-ack", false},
	      {"ip proto 6", true}, {"ether proto \\ip", true}, {"ether proto 0x0800", true},
	      {"ip[2:2] = 1000", true}, {"len = 1014", true}, {"greater 1014", true},
	      {"less 1013", false}, {"icmp or (tcp and not port 22)", true}, {"arp", false},
	      {"! tcp || port 0x1bb", true}, {"port (443 or 80)", true}, {"ip protochain 6", true},
	      {"vlan", false}, {"not vlan", true}, {"stp", false}, {"llc", false});
}

TEST(test_ipv4)
{
	ethernet(0x0800);
	tcp4();
	check_tcp4();
	CHECK({"ether host 02:00:00:00:00:0a", true}, {"ether dst 2:0:0:0:0:a", false},
	      {"ether src 02-00-00-00-00-0a and ether dst 0200.0000.000b", true},
	      {"ether multicast", false}, {"not ether broadcast", true},
	      {"ether[0] = 2 and ether[12:2] = 0x800", true});
}

TEST(test_ipv6)
{
	ethernet(0x86dd);
	udp6();
	CHECK({"ip6", true}, {"ip", false}, {"udp port 53", true}, {"udp dst port 53", false},
	      {"host 2001:db8::1", true}, {"src net 2001:db8::/32", true},
	      {"dst 2001:db8::1", false}, {"ip6[6] = 17", true}, {"ip6 proto 17", true},
	      {"ip6 protochain 17", true}, {"len = 66", true}, {"host ::1", false});
}

TEST(test_arp)
{
	arp();
	CHECK({"arp", true}, {"ip", false}, {"not ip", true}, {"host 10.0.0.1", true},
	      {"ip host 10.0.0.1", false}, {"arp dst host 10.0.0.2", true}, {"arp[7] = 1", true},
	      {"tcp port 443", false}, {"not arp", false}, {"ether proto \\arp", true});
}

/* tun, wireguard, or a transmitted packet that has no link header yet. */
TEST(test_no_ethernet)
{
	tcp4();
	check_tcp4();
	CHECK({"ether host 00:00:00:00:00:00", false}, {"ether src 5a:5a:5a:5a:5a:5a", false},
	      {"not ether host 02:00:00:00:00:0a", true}, {"ether broadcast", false},
	      {"ether multicast", false}, {"not ether multicast", true}, {"ether[0] = 0x5a", false},
	      {"ether[1] & 1 = 0", false}, {"ether[1] & 1 = 1", false}, {"ether[0] & 2 = 0", false},
	      {"tcp and not ether src 02:00:00:00:00:0a", true});
	/* an outdated MAC header, with another protocol */
	ethernet(0x0806);
	check_tcp4();
	CHECK({"ether host 02:00:00:00:00:0a", false});
}

TEST(test_unknown_protocol)
{
	tcp4();
	record.protocol = 0;
	CHECK({"", true}, {"ip", false}, {"not ip", true}, {"tcp port 443", false}, {"llc", false},
	      {"ether proto 0", false}, {"ether proto 0xffff", false}, {"stp", false});
	/* the kernel's number for CAN is not the length of an 802.3 frame */
	record.protocol = 0x000c;
	CHECK({"llc", false}, {"ether proto 0x000c", false}, {"ether[12:2] < 1501", false});
}

TEST(test_8023)
{
	record.protocol = 0x0004;
	net(BYTES(0x42, 0x42, 0x03, 0, 0, 0, 0, 0));
	record.len = record.net_len;
	CHECK({"stp", true}, {"llc", true}, {"llc u", true}, {"llc ui", true}, {"ip", false},
	      {"ether[12:2] = 8", true}, {"len = 22", true});
	record.l2_len = 0;
	ethernet(0x0008);
	CHECK({"stp", true}, {"llc", true}, {"ether src 02:00:00:00:00:0a", true});
}

/* ---- VLAN tags ---------------------------------------------------------- */

static void check_vlan_5(void)
{
	CHECK({"tcp port 443", true}, {"net 10.0.0.0/8", true}, {"not tcp", false}, {"vlan", true},
	      {"vlan 5", true}, {"vlan 6", false}, {"not vlan", false},
	      {"vlan 5 and tcp port 443", true}, {"vlan 5 and udp", false},
	      {"vlan and vlan 5", false}, {"ether proto \\ip", true});
}

TEST(test_vlan_beside)
{
	ethernet(0x0800);
	tcp4();
	record.flags = NF_BYTES_VLAN;
	record.vlan_proto = 0x8100;
	record.vlan_tci = 0x6005; /* priority 3 */
	check_vlan_5();
	CHECK({"len = 1014", true}, {"vlan and len = 1018", true},
	      {"vlan and ether[14:2] = 0x6005", true}, {"ether[12:2] = 0x8100", false});
	record.l2_len = 0;
	check_vlan_5();
	/* the members have no meaning without the flag */
	record.flags = 0;
	CHECK({"vlan", false});
}

TEST(test_vlan_in_link_header)
{
	ethernet(0x8100);
	l2(BYTES(0, 5, 0x08, 0));
	tcp4();
	check_vlan_5();
	record.protocol = 0x8100;
	check_vlan_5();
	CHECK({"vlan and len = 1018", true});
}

TEST(test_vlan_at_network_header)
{
	ethernet(0x8100);
	net(BYTES(0, 5, 0x08, 0));
	tcp4();
	record.protocol = 0x8100;
	check_vlan_5();
	CHECK({"len = 1014", true}, {"vlan and len = 1018", true});
	record.l2_len = 0;
	check_vlan_5();
}

TEST(test_stacked_tags)
{
	record.flags = NF_BYTES_VLAN;
	record.vlan_proto = 0x88a8;
	record.vlan_tci = 7;
	ethernet(0x8100);
	l2(BYTES(0, 8, 0x81, 0));
	record.protocol = 0x8100;
	net(BYTES(0, 9, 0x08, 0));
	tcp4();
	record.protocol = 0x8100;
	CHECK({"vlan 7", true}, {"vlan 7 and vlan 8", true}, {"vlan 7 and vlan 8 and vlan 9", true},
	      {"vlan 7 and vlan 9", false}, {"vlan and vlan and vlan and tcp port 443", true},
	      {"vlan and vlan and vlan and vlan", false}, {"vlan and vlan and tcp port 443", false},
	      {"tcp port 443", true}, {"not tcp", false}, {"len = 1014", true},
	      {"vlan and len = 1026", true});
}

/* Truncated tags: missing bytes match nothing. */
TEST(test_truncated_tags)
{
	static const uint8_t tag[] = {0, 5, 0x08, 0};

	for (size_t len = 0; len <= sizeof(tag); len++) {
		start(NULL);
		ethernet(0x8100);
		net(tag, len);
		record.protocol = 0x8100;
		record.len = 60;
		CHECK({"vlan", true}, {"vlan 5", len >= 2}, {"vlan 6", false},
		      {"vlan and not ip", false}, {"vlan and ip", len == 4}, {"tcp", false},
		      {"ip", len == 4}, {"ether src 02:00:00:00:00:0a", true});
	}
}

/* ---- bytes that were not captured --------------------------------------- */

TEST(test_truncated)
{
	ethernet(0x0800);
	tcp4();
	record.len = 1000;
	for (uint8_t len = 0; len <= 40; len++) {
		record.net_len = len;
		CHECK({"ip", true}, {"arp", false}, {"tcp", len >= 10}, {"not tcp", false},
		      {"udp", false}, {"not udp", len >= 10}, {"src host 10.0.0.1", len >= 16},
		      {"not src host 10.0.0.9", len >= 16}, {"tcp dst port 443", len >= 24},
		      {"not tcp dst port 80", len >= 24}, {"tcp[13] & 2 != 0", len >= 34},
		      {"greater 54", true});
	}
}

TEST(test_lengths_cut_down)
{
	ethernet(0x0800);
	tcp4();
	record.net_len = 255;
	CHECK({"tcp port 443", true}, {"ip[127] = 0xee", true}, {"ip[128] = 0", false},
	      {"ip[128] != 0", false});
	record.l2_len = 255;
	CHECK({"tcp port 443", true}, {"ether src 02:00:00:00:00:0a", false});
}

TEST(test_without_record)
{
	const struct wire_frame_source nothing = {0}, typed = {.protocol = 0x0800, .length = 100};
	struct selection *selection = NULL;

	assert_int_equal(selection_new(&selection, "ip and len = 114", &error), 0);
	assert_true(selection_takes(selection, &typed));
	assert_false(selection_takes(selection, &nothing));
	selection_free(&selection);
	selection_free(&selection);
}

/* ---- invalid expressions ----------------------------------------------- */

static void refused(const char *expression, int code)
{
	struct selection *selection = NULL;

	memset(&error, 0xee, sizeof(error));
	assert_int_equal(selection_new(&selection, expression, &error), code);
	assert_null(selection);
	assert_non_null(memchr(error.text, '\0', sizeof(error.text)));
	assert_true(error.offset + error.length <= strlen(expression));
	for (const char *c = error.text; *c; c++)
		assert_true(*c >= ' ' && *c <= '~');
}

TEST(test_places)
{
	static const struct {
		const char *expression, *text, *word;
	} wrong[] = {
		{"tcp port", "syntax error, at the end", ""},
		{"tcp and", "syntax error, at the end", ""},
		{"(tcp or udp", "syntax error, at the end", ""},
		{"tcp port and host 10.0.0.1", "syntax error, at \"and\", character 10", "and"},
		{"tcp udp", "syntax error, at \"udp\", character 5", "udp"},
		{"tcp && udp)", "syntax error, at \")\", character 11", ")"},
		{"tcp & udp", "syntax error, at \"&\", character 5", "&"},
		{"ip[0 = 5", "syntax error, at \"=\", character 6", "="},
		{"and tcp", "syntax error, at \"and\", character 1", "and"},
		{"tcp ~ udp", "syntax error, at \"~\"", "~"},
		{"tcp or \xc3\xa9", "syntax error, at \"?\"", "\xc3"},
		{"port 99999", "99999 > 65535, at \"99999\", character 6", "99999"},
		{"udp and port 99999 and tcp", "99999 > 65535, at \"99999\"", "99999"},
		{"net 10.0.0.1/8 or tcp", "non-network bits set in \"10.0.0.1/8\", at \"8\"", "8"},
		{"tcp and host 300.1.1.1 or udp", "at \"300.1.1.1\", character 14", "300.1.1.1"},
		{"tcp and host 300.1.1.1", "at \"300.1.1.1\", character 14", "300.1.1.1"},
		{"ip[0] = 99999999999", "overflows 32 bits, at \"99999999999\"", "99999999999"},
		{"len = 4294967296 and tcp", "overflows 32 bits, at \"4294967296\"", "4294967296"},
		{"tcp and len = 099 or udp", "non-octal digit, at \"099\"", "099"},
		{"tcp or len / 0 = 5 or udp", "division by zero, at \"0\"", "0"},
		{"port 10.0.0.1 or tcp", "'port' modifier applied to ", "10.0.0.1"},
		{"ip broadcast or tcp", "netmask not known", "broadcast"},
		{"tcp and type mgt and udp", "802.11", "mgt"},
		{"ether proto \\foo or tcp", "unknown ether proto 'foo', at \"\\foo\"", "\\foo"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		refused(wrong[i].expression, -EINVAL);
		if (!strstr(error.text, wrong[i].text))
			fail_msg("%s: %s", wrong[i].expression, error.text);
		if (error.length != strlen(wrong[i].word) ||
		    memcmp(wrong[i].expression + error.offset, wrong[i].word, error.length) != 0)
			fail_msg("%s: %zu bytes at %zu", wrong[i].expression, error.length,
				 error.offset);
	}
}

TEST(test_no_place)
{
	refused("tcp and udp", -EINVAL);
	assert_string_equal(error.text, "expression rejects all packets");
	assert_int_equal(error.length, 0);
	for (size_t i = 0; i < 3; i++) {
		refused((const char *[]){"inbound", "tcp or outbound", "ifindex 3"}[i], -EINVAL);
		assert_non_null(strstr(error.text, "only while capturing"));
	}
}

TEST(test_names)
{
	static const struct {
		const char *expression, *word;
	} named[] = {
		{"host example.com", "example.com"},
		{"tcp and dst host web-1", "web-1"},
		{"example.com", "example.com"},
		{"net loopback", "loopback"},
		{"port https", "https"},
		{"tcp port 80 or https", "https"},
		{"portrange ftp-ssh", "ftp-ssh"},
		{"ip proto \\tcp", "\\tcp"},
		{"proto ospf", "ospf"},
		{"ether host router", "router"},
		{"gateway router", "router"},
		{"host 1.2.3.4.5", "1.2.3.4.5"},
		{"host 10-20", "10-20"},
		{"port 10-20", "10-20"},
		{"portrange 1-2 or host 3-4", "3-4"},
		{"host 10.0.0.1 or (portrange 1-2) or 3-4", "3-4"},
		{"host fe80::1.example", ""},
		{"host 0x", "0x"},
		{"ip[0:abc]", "abc"},
		{"host \\tcp", "\\tcp"},
		{"TCP", "TCP"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(named); i++) {
		uint64_t before = time_monotonic();

		refused(named[i].expression, -EINVAL);
		assert_true(time_monotonic() - before < TIME_NS_PER_SECOND / 10);
		if (!strstr(error.text, "names are not looked up"))
			fail_msg("%s: %s", named[i].expression, error.text);
		if (*named[i].word)
			assert_int_equal(error.length, strlen(named[i].word));
		assert_memory_equal(named[i].expression + error.offset, named[i].word,
				    strlen(named[i].word));
		assert_int_equal(looked_up, 0);
	}
}

TEST(test_nearest_keyword)
{
	refused("tcp prot 443", -EINVAL);
	assert_string_equal(error.text, "not a keyword (did you mean port?), and names are not "
					"looked up, at \"prot\", character 5");
	refused("TCP port 443", -EINVAL);
	assert_non_null(strstr(error.text, "did you mean tcp?"));
	/* the name of a host is not a misspelled keyword */
	refused("host prot", -EINVAL);
	assert_string_equal(error.text, "not a number or an address, and names are not "
					"looked up, at \"prot\", character 6");
}

/* ---- limits of an expression ------------------------------------------- */

static char long_text[3 * EXPRESSION_LENGTH_MAX];

/* Writes `first` and then `next` with growing numbers, up to the longest valid expression. */
static void repeat(const char *first, const char *next, unsigned int times)
{
	size_t len = (size_t)sprintf(long_text, "%s", first);

	for (unsigned int i = 1; i <= times && len + 64 < EXPRESSION_LENGTH_MAX; i++)
		len += (size_t)sprintf(long_text + len, next, i, i + 100);
}

/* ASan's malloc is slow, and libpcap calls it often. */
#ifdef __SANITIZE_ADDRESS__
#define MILLISECONDS_MAX 200
#else
#define MILLISECONDS_MAX 50
#endif
#define ATTEMPTS 50

/* Returns the CPU time in milliseconds, for valid and invalid expressions. */
static unsigned int compile_time(const char *expression)
{
	struct selection *selection = NULL;
	clock_t before = clock();

	(void)!selection_new(&selection, expression, &error);
	selection_free(&selection);
	return (unsigned int)((clock() - before) * 1000 / CLOCKS_PER_SEC);
}

/*
 * Other tasks disturb the measurement, and a host that takes this CPU away does so for a while: the shortest of many
 * runs counts.
 */
static void check_time(const char *what)
{
	unsigned int best = compile_time(long_text);

	for (int i = 1; i < ATTEMPTS && best >= MILLISECONDS_MAX; i++) {
		unsigned int again = compile_time(long_text);

		best = again < best ? again : best;
	}
	if (best >= MILLISECONDS_MAX)
		fail_msg("%.60s…: %u ms", what, best);
}

TEST(test_time)
{
	static const struct {
		const char *first, *next;
	} heavy[] = {
		{"port 1", " or port %u"},
		{"port 1", " or %u"},
		{"portrange 1-2", " or portrange %u-%u"},
		{"src or dst port 1", " and not port %u"},
		{"host 10.0.0.1", " or host 10.0.0.%u and port %u"},
		{"net 10.0.0.0/8", " or ( host 10.0.0.%u and not port %u )"},
		{"ip6 host ::1", " or ip6 host 2001:db8::%u:%u"},
		{"ip6 protochain 6", " or ip6 protochain %u"},
		{"vlan", " or vlan %u"},
		{"tcp", " or tcp"},
		{"not tcp", " and (not udp)"},
		{"iih", " or csnp"},
		{"len = 1", "+%u"},
		{"len = ", "-"},
		{"ip[0] = ", "ip["},
		{"", "("},
		{"tcp", " or ("},
		{"", "!"},
		{"", "not "},
		{"tcp", ")"},
		{"port 1", " or port %u or port 99999 or"},
	};
	static const unsigned int times[] = {31, 47, 48, 300, 100000};

	for (size_t i = 0; i < ARRAY_SIZE(heavy); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(times); j++) {
			repeat(heavy[i].first, heavy[i].next, times[j]);
			check_time(long_text);
		}
	}
}

TEST(test_bounds)
{
	struct selection *selection = NULL;

	repeat("port 1", " or port %u", EXPRESSION_TERMS_MAX - 1);
	assert_int_equal(selection_new(&selection, long_text, &error), 0);
	selection_free(&selection);
	repeat("port 1", " or port %u", EXPRESSION_TERMS_MAX);
	refused(long_text, -E2BIG);
	assert_string_equal(error.text,
			    "expression too long: at most 4096 characters, 512 words and 48 terms");

	memset(long_text, ' ', sizeof(long_text));
	memcpy(long_text, "tcp", 3);
	long_text[EXPRESSION_LENGTH_MAX] = '\0';
	assert_int_equal(selection_new(&selection, long_text, &error), 0);
	selection_free(&selection);
	long_text[EXPRESSION_LENGTH_MAX] = ' ';
	long_text[EXPRESSION_LENGTH_MAX + 1] = '\0';
	refused(long_text, -E2BIG);
	memset(long_text, 'a', EXPRESSION_LENGTH_MAX);
	long_text[EXPRESSION_LENGTH_MAX] = '\0';
	refused(long_text, -EINVAL);
}

/* ---- random expressions ------------------------------------------------ */

/* The seed is constant, so that every run has the same words. */
static unsigned int random_below(unsigned int end)
{
	static uint32_t state = 0x2545f491;

	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return state % end;
}

static const char *random_word(void)
{
	static const char *const words[] = {
		"tcp",
		"udp",
		"ip",
		"ip6",
		"arp",
		"ether",
		"host",
		"net",
		"port",
		"portrange",
		"proto",
		"protochain",
		"src",
		"dst",
		"and",
		"or",
		"not",
		"(",
		")",
		"[",
		"]",
		":",
		"/",
		"=",
		"!=",
		">",
		"&",
		"-",
		"+",
		"!",
		"vlan",
		"mpls",
		"pppoes",
		"geneve",
		"len",
		"llc",
		"iso",
		"link",
		"on",
		"type",
		"mask",
		"gateway",
		"broadcast",
		"multicast",
		"less",
		"greater",
		"byte",
		"decnet",
		"l1",
		"lat",
		"stp",
		"80",
		"0",
		"1-2",
		"10-20",
		"10.0.0.1",
		"10.0",
		"1.2.3.4.5",
		"::1",
		"fe80::",
		"1:2",
		"a:b",
		"a:b:c",
		"0:0:0:1:2:3:4:555:abc:b",
		"1:2:3:4:5:6:7:8abc.x",
		"::1.2.3.4",
		"abc",
		"aa:bb:cc:dd:ee:ff",
		"aabb.ccdd.eeff",
		"a-b-c-d-e-f",
		"a-b",
		"x.",
		"x-",
		"_y",
		"fe80::1%",
		"$a",
		"$aa",
		"\\tcp",
		"\\",
		"\\arp",
		"0x1f",
		"0x",
		"08",
		"1e",
		"12ab",
		"::",
		"be:ef",
		"tcp-syn",
		"tcp-x",
		"icmp-echo",
		"\"",
		"~",
		"https",
		"TCP",
		".",
		"_",
	};

	static const char *const sane[] = {"80",    "1-2",	 "10.0.0.1", "::1",
					   "tcp",   "10",	 "0x1f",     "aa:bb:cc:dd:ee:ff",
					   "\\arp", "10.0.0.0/8"};

	return random_below(2) ? sane[random_below(ARRAY_SIZE(sane))]
			       : words[random_below(ARRAY_SIZE(words))];
}

/* Writes an expression of random terms, of which some are valid. */
static void random_expression(void)
{
	static const char *const heads[] = {
		"",
		"",
		"host ",
		"net ",
		"src ",
		"dst port ",
		"port ",
		"portrange ",
		"proto ",
		"ether proto ",
		"ether host ",
		"ip6 ",
		"iso proto ",
		"ip protochain ",
		"not ",
		"vlan ",
		"llc ",
		"len > ",
		"ip[0] = ",
		"(portrange 1-2) or ",
		"(",
		"portrange 1-2 or ",
		"portrange (",
		"type ",
		"gateway ",
		"greater ",
		"src or dst ",
	};
	static const char *const joints[] = {" ", " and ", " or ", " || not ", ") or ", "", "/"};
	size_t len = 0;

	for (unsigned int terms = 1 + random_below(5); terms; terms--)
		len += (size_t)sprintf(long_text + len, "%s%s%s",
				       heads[random_below(ARRAY_SIZE(heads))], random_word(),
				       terms > 1 ? joints[random_below(ARRAY_SIZE(joints))] : "");
}

TEST(test_random_words)
{
	unsigned int valid = 0;

	ethernet(0x0800);
	tcp4();
	for (int i = 0; i < 60000; i++) {
		struct selection *selection = NULL;

		random_expression();
		if (selection_new(&selection, long_text, &error) == 0) {
			(void)selection_takes_bytes(selection, &record);
			valid++;
		} else {
			assert_true(error.offset + error.length <= strlen(long_text));
		}
		selection_free(&selection);
		if (looked_up)
			fail_msg("looked up: %s", long_text);
	}
	assert_true(valid > 1500);
}

/* Checks that libpcap calls the functions above; otherwise the other tests would prove nothing. */
TEST(test_resolver_is_ours)
{
	struct addrinfo *(*nametoaddrinfo)(const char *);

	*(void **)&nametoaddrinfo = dlsym(RTLD_DEFAULT, "pcap_nametoaddrinfo");
	assert_non_null(nametoaddrinfo);
	assert_null(nametoaddrinfo("example.com"));
	assert_int_equal(looked_up, 1);
	looked_up = 0;
}
