/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packets written byte by byte, complete and cut at every length. */
#include <netinet/in.h>
#include <string.h>

#include "bpf/records.h"
#include "common/array.h"
#include "daemon/core/packet.h"
#include "tests/unit/test.h"

#define BYTES(...) ((const uint8_t[]){__VA_ARGS__}), sizeof((const uint8_t[]){__VA_ARGS__})

static struct nf_bytes record;
static struct packet packet;
static char flow[PACKET_FLOW_MAX];

static int start(void **state)
{
	(void)state;
	memset(&record, 0, sizeof(record));
	/* Bytes beyond the given length must have no effect. */
	memset(record.l2, 0xee, sizeof(record.l2));
	memset(record.net, 0xee, sizeof(record.net));
	return 0;
}

EACH_TEST(start, NULL);

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

/* 10.0.0.1 > 10.0.0.2, ttl 63. */
static void ipv4(uint8_t protocol, uint16_t length)
{
	record.protocol = 0x0800;
	net(BYTES(0x45, 0, (uint8_t)(length >> 8), (uint8_t)length, 0x12, 0x34, 0x40, 0, 63,
		  protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2));
}

/* fe80::1 > fe80::2, hop limit 64. */
static void ipv6(uint8_t next, uint16_t payload)
{
	record.protocol = 0x86dd;
	net(BYTES(0x60, 0, 0, 0, (uint8_t)(payload >> 8), (uint8_t)payload, next, 64));
	net(BYTES(0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1));
	net(BYTES(0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2));
}

static void udp(void)
{
	net(BYTES(0, 53, 0x10, 0x92, 0, 12, 0, 0, 'p', 'i', 'n', 'g'));
}

/* 22 > 5000, seq 0x01020304, ack 0x05060708, SYN and ACK. */
static void tcp(void)
{
	net(BYTES(0, 22, 0x13, 0x88, 1, 2, 3, 4, 5, 6, 7, 8, 0x50, 0x12, 0xff, 0xff, 0, 0, 0, 0));
}

static void parse(void)
{
	packet_parse(&record, &packet);
	strcpy(flow, "(none)");
	packet_flow(&packet, flow);
}

#define IP_L4 (PACKET_IP | PACKET_LENGTH | PACKET_L4)
#define TCP_ALL (IP_L4 | PACKET_PORTS | PACKET_SEQUENCE | PACKET_ACKNOWLEDGEMENT | PACKET_FLAGS)

/* ---- Ethernet and VLAN --------------------------------------------------- */

TEST(test_nothing)
{
	parse();
	assert_int_equal(packet.parts, 0);
	assert_int_equal(packet.vlans, 0);
	assert_false(packet_flow(&packet, flow));
	assert_string_equal(flow, "(none)");
}

TEST(test_ethernet)
{
	ethernet_addresses();
	l2(BYTES(0x08, 0x00));
	ipv4(17, 32);
	udp();
	parse();
	assert_int_equal(packet.parts, PACKET_ETHERNET | IP_L4 | PACKET_PORTS);
	assert_memory_equal(packet.ethernet.destination, "\x02\0\0\0\0\x0b", 6);
	assert_memory_equal(packet.ethernet.source, "\x02\0\0\0\0\x0a", 6);
	assert_int_equal(packet.ethernet.type, 0x0800);
	assert_int_equal(packet.vlans, 0);
}

TEST(test_ethernet_every_length)
{
	record.protocol = 0x0800;
	ethernet_addresses();
	l2(BYTES(0x08, 0x00));
	for (unsigned int len = 0; len <= NF_L2_MAX; len++) {
		record.l2_len = (uint8_t)len;
		parse();
		assert_int_equal(packet.parts, len == 14 ? PACKET_ETHERNET : 0);
	}
}

/* skb->mac_header may still be that of a tunnel's outer packet. */
TEST(test_ethernet_of_another_packet)
{
	ethernet_addresses();
	l2(BYTES(0x88, 0x47));
	ipv4(17, 32);
	parse();
	assert_false(packet.parts & PACKET_ETHERNET);
	assert_true(packet.parts & PACKET_IP);
}

TEST(test_ethernet_with_length)
{
	ethernet_addresses();
	l2(BYTES(0x00, 0x26));
	record.protocol = 0x0004; /* ETH_P_802_2 */
	parse();
	assert_int_equal(packet.parts, PACKET_ETHERNET);
	assert_int_equal(packet.ethernet.type, 0x26);
	assert_int_equal(packet.protocol, 0x0004);
}

TEST(test_vlan_in_metadata)
{
	ethernet_addresses();
	l2(BYTES(0x08, 0x00));
	ipv4(17, 32);
	record.flags = NF_BYTES_VLAN;
	record.vlan_proto = 0x8100;
	record.vlan_tci = 5 << 13 | 1 << 12 | 100;
	parse();
	assert_true(packet.parts & PACKET_ETHERNET);
	assert_int_equal(packet.vlans, 1);
	assert_int_equal(packet.vlan[0].protocol, 0x8100);
	assert_int_equal(packet.vlan[0].id, 100);
	assert_int_equal(packet.vlan[0].priority, 5);
}

/* On transmit, skb->protocol is the tag's, and the network header follows the tag. */
TEST(test_vlan_stack_in_l2)
{
	ethernet_addresses();
	l2(BYTES(0x88, 0xa8, 0x60, 0x07, 0x81, 0x00, 0x0f, 0xff, 0x08, 0x00));
	ipv4(17, 32);
	udp();
	record.protocol = 0x88a8;
	parse();
	assert_int_equal(packet.parts, PACKET_ETHERNET | IP_L4 | PACKET_PORTS);
	assert_int_equal(packet.ethernet.type, 0x0800);
	assert_int_equal(packet.protocol, 0x0800);
	assert_int_equal(packet.vlans, 2);
	assert_int_equal(packet.vlan[0].protocol, 0x88a8);
	assert_int_equal(packet.vlan[0].id, 7);
	assert_int_equal(packet.vlan[0].priority, 3);
	assert_int_equal(packet.vlan[1].protocol, 0x8100);
	assert_int_equal(packet.vlan[1].id, 0xfff);
	assert_string_equal(flow, "udp 10.0.0.1:53 > 10.0.0.2:4242");
}

TEST(test_vlan_in_metadata_and_l2)
{
	ethernet_addresses();
	l2(BYTES(0x81, 0x00, 0x00, 0x02, 0x86, 0xdd));
	ipv6(17, 12);
	record.flags = NF_BYTES_VLAN;
	record.vlan_proto = 0x88a8;
	record.vlan_tci = 1;
	parse();
	assert_true(packet.parts & PACKET_ETHERNET);
	assert_int_equal(packet.vlans, 2);
	assert_int_equal(packet.vlan[0].id, 1);
	assert_int_equal(packet.vlan[1].id, 2);
}

/* On receive, before skb_vlan_untag(), the network header points at the tag. */
TEST(test_vlan_in_front_of_net)
{
	ethernet_addresses();
	l2(BYTES(0x81, 0x00));
	net(BYTES(0x00, 0x2a, 0x81, 0x00, 0x00, 0x2b, 0x08, 0x00));
	ipv4(6, 40);
	tcp();
	record.protocol = 0x8100;
	parse();
	assert_int_equal(packet.parts, PACKET_ETHERNET | TCP_ALL);
	assert_int_equal(packet.vlans, 2);
	assert_int_equal(packet.vlan[0].id, 0x2a);
	assert_int_equal(packet.vlan[1].id, 0x2b);
	assert_int_equal(packet.protocol, 0x0800);
	assert_int_equal(packet.ethernet.type, 0x0800);
	/* the same without l2 bytes, cut inside the second tag */
	record.l2_len = 0;
	record.net_len = 7;
	parse();
	assert_int_equal(packet.parts, 0);
	assert_int_equal(packet.vlans, 1);
	assert_int_equal(packet.protocol, 0x8100);
}

TEST(test_vlan_more_than_told)
{
	for (unsigned int i = 0; i < 20; i++)
		net(BYTES(0, (uint8_t)i, 0x81, 0x00));
	net(BYTES(0, 20, 0x08, 0x00));
	ipv4(17, 20);
	record.protocol = 0x8100;
	parse();
	assert_int_equal(packet.vlans, PACKET_VLANS);
	assert_int_equal(packet.vlan[PACKET_VLANS - 1].id, PACKET_VLANS - 1);
	assert_true(packet.parts & PACKET_IP);
}

/* ---- ARP ------------------------------------------------------------------ */

TEST(test_arp)
{
	record.protocol = 0x0806;
	net(BYTES(0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 1, 10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 10, 0, 0,
		  2));
	for (unsigned int len = 0; len <= 28; len++) {
		record.net_len = (uint8_t)len;
		parse();
		assert_string_equal(flow, len < 28 ? "arp" : "arp 10.0.0.1 > 10.0.0.2");
	}
	record.net[1] = 6; /* hardware other than Ethernet */
	parse();
	assert_string_equal(flow, "arp");
}

/* ---- IPv4 ----------------------------------------------------------------- */

TEST(test_ipv4_udp)
{
	ipv4(17, 32);
	udp();
	parse();
	assert_int_equal(packet.parts, IP_L4 | PACKET_PORTS);
	assert_int_equal(packet.ip.version, 4);
	assert_int_equal(packet.ip.ttl, 63);
	assert_int_equal(packet.ip.protocol, 17);
	assert_int_equal(packet.ip.length, 32);
	assert_false(packet.ip.fragment);
	assert_memory_equal(packet.ip.source, "\x0a\0\0\x01", 4);
	assert_memory_equal(packet.ip.destination, "\x0a\0\0\x02", 4);
	assert_int_equal(packet.transport.source_port, 53);
	assert_int_equal(packet.transport.destination_port, 4242);
	assert_string_equal(flow, "udp 10.0.0.1:53 > 10.0.0.2:4242");
}

static unsigned int tcp_parts(unsigned int len)
{
	return (len >= 4 ? PACKET_PORTS : 0) | (len >= 8 ? PACKET_SEQUENCE : 0) |
	       (len >= 12 ? PACKET_ACKNOWLEDGEMENT : 0) | (len >= 14 ? PACKET_FLAGS : 0);
}

TEST(test_ipv4_tcp_every_length)
{
	ipv4(6, 40);
	tcp();
	for (unsigned int len = 0; len <= 40; len++) {
		record.net_len = (uint8_t)len;
		parse();
		assert_int_equal(packet.parts, len < 20 ? 0 : IP_L4 | tcp_parts(len - 20));
		assert_string_equal(flow, len < 20   ? "(none)"
					  : len < 24 ? "tcp 10.0.0.1 > 10.0.0.2"
						     : "tcp 10.0.0.1:22 > 10.0.0.2:5000");
	}
	assert_int_equal(packet.transport.sequence, 0x01020304);
	assert_int_equal(packet.transport.acknowledgement, 0x05060708);
	assert_int_equal(packet.transport.flags, 0x12);
}

TEST(test_ipv4_icmp_every_length)
{
	ipv4(1, 28);
	net(BYTES(8, 0, 0, 0, 0, 1, 0, 1));
	for (unsigned int len = 20; len <= 28; len++) {
		record.net_len = (uint8_t)len;
		parse();
		assert_int_equal(packet.parts, IP_L4 | (len >= 22 ? PACKET_ICMP : 0));
		assert_string_equal(flow, len < 22 ? "icmp 10.0.0.1 > 10.0.0.2"
						   : "icmp 10.0.0.1 > 10.0.0.2 type 8 code 0");
	}
}

TEST(test_ipv4_options_every_length)
{
	ipv4(17, 72);
	record.net[0] = 0x4f;
	for (unsigned int i = 0; i < 40; i++)
		net(BYTES(1));
	udp();
	for (unsigned int len = 20; len <= 72; len++) {
		record.net_len = (uint8_t)len;
		parse();
		assert_int_equal(packet.parts, IP_L4 | (len >= 64 ? PACKET_PORTS : 0));
	}
	assert_int_equal(packet.transport.destination_port, 4242);
}

TEST(test_ipv4_fragments)
{
	ipv4(17, 32);
	udp();
	record.net[6] = 0x20; /* more fragments, offset 0 */
	parse();
	assert_false(packet.ip.fragment);
	assert_true(packet.parts & PACKET_PORTS);

	record.net[7] = 0x01; /* offset 8 bytes */
	parse();
	assert_true(packet.ip.fragment);
	assert_int_equal(packet.parts, IP_L4);
	assert_string_equal(flow, "udp 10.0.0.1 > 10.0.0.2");

	record.net[6] = 0x10; /* the highest bit of the offset */
	record.net[7] = 0;
	parse();
	assert_true(packet.ip.fragment);
}

TEST(test_ipv4_malformed)
{
	ipv4(17, 32);
	udp();
	for (unsigned int first = 0; first < 256; first++) {
		record.net[0] = (uint8_t)first;
		parse();
		assert_int_equal(!!(packet.parts & PACKET_IP),
				 first >> 4 == 4 && (first & 15) >= 5);
	}
}

/* The header's total length excludes padding, and has no other effect. */
TEST(test_ipv4_total_length)
{
	ipv4(17, 20);
	udp();
	for (unsigned int length = 0; length < 65536; length++) {
		record.net[2] = (uint8_t)(length >> 8);
		record.net[3] = (uint8_t)length;
		parse();
		assert_int_equal(!!(packet.parts & PACKET_LENGTH), length > 0);
		assert_int_equal(!!(packet.parts & PACKET_PORTS), length == 0 || length >= 24);
		if (length)
			assert_int_equal(packet.ip.length, length);
	}
}

/* The TCP data offset, 0 to 15 words, has no effect. */
TEST(test_tcp_data_offset)
{
	ipv4(6, 40);
	tcp();
	for (unsigned int offset = 0; offset < 16; offset++) {
		record.net[32] = (uint8_t)(offset << 4);
		parse();
		assert_int_equal(packet.parts, TCP_ALL);
	}
}

/* ICMP in IPv6 and ICMPv6 in IPv4 are other protocols. */
TEST(test_icmp_of_the_other_version)
{
	ipv4(58, 28);
	net(BYTES(8, 0, 0, 0, 0, 1, 0, 1));
	parse();
	assert_int_equal(packet.parts, IP_L4);
	start(NULL);
	ipv6(1, 8);
	net(BYTES(8, 0, 0, 0, 0, 1, 0, 1));
	parse();
	assert_int_equal(packet.parts, IP_L4);
	assert_string_equal(flow, "icmp fe80::1 > fe80::2");
}

/* ---- IPv6 ----------------------------------------------------------------- */

TEST(test_ipv6_tcp_every_length)
{
	ipv6(6, 20);
	tcp();
	for (unsigned int len = 0; len <= 60; len++) {
		record.net_len = (uint8_t)len;
		parse();
		assert_int_equal(packet.parts, len < 40 ? 0 : IP_L4 | tcp_parts(len - 40));
	}
	assert_int_equal(packet.ip.version, 6);
	assert_int_equal(packet.ip.ttl, 64);
	assert_int_equal(packet.ip.length, 60);
	assert_string_equal(flow, "tcp [fe80::1]:22 > [fe80::2]:5000");
}

TEST(test_ipv6_icmp)
{
	ipv6(58, 8);
	net(BYTES(135, 0, 0, 0, 0, 0, 0, 0));
	parse();
	assert_int_equal(packet.parts, IP_L4 | PACKET_ICMP);
	assert_string_equal(flow, "icmpv6 fe80::1 > fe80::2 type 135 code 0");
}

/* Hop-by-hop, routing (24 bytes), destination, AH (24 bytes), first fragment, UDP. */
TEST(test_ipv6_chain_every_length)
{
	static const struct {
		unsigned int from;
		uint8_t protocol;
	} known[] = {{40, 0}, {48, 43}, {72, 60}, {80, 51}, {104, 44}, {112, 17}};
	unsigned int step = 0;

	ipv6(0, 84);
	net(BYTES(43, 0, 1, 4, 0, 0, 0, 0));
	net(BYTES(60, 2, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
	net(BYTES(51, 0, 1, 4, 0, 0, 0, 0));
	net(BYTES(44, 4, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
	net(BYTES(17, 0, 0, 1, 0, 0, 0, 9));
	udp();
	for (unsigned int len = 40; len <= 124; len++) {
		record.net_len = (uint8_t)len;
		while (step + 1 < ARRAY_SIZE(known) && len >= known[step + 1].from)
			step++;
		parse();
		assert_int_equal(packet.ip.protocol, known[step].protocol);
		assert_int_equal(packet.parts, PACKET_IP | PACKET_LENGTH |
						       (len >= 112 ? PACKET_L4 : 0) |
						       (len >= 116 ? PACKET_PORTS : 0));
		if (len < 112)
			assert_string_equal(flow, "ipv6 fe80::1 > fe80::2");
	}
	assert_false(packet.ip.fragment);
	assert_string_equal(flow, "udp [fe80::1]:53 > [fe80::2]:4242");
}

TEST(test_ipv6_later_fragment)
{
	ipv6(44, 20);
	net(BYTES(17, 0, 0, 8, 0, 0, 0, 9));
	udp();
	parse();
	assert_true(packet.ip.fragment);
	assert_int_equal(packet.parts, IP_L4);
	assert_int_equal(packet.ip.protocol, 17);
	/* the fragmented part begins with an extension header, which is not in this fragment */
	record.net[40] = 60;
	record.net[49] = 0; /* these bytes look like one */
	parse();
	assert_true(packet.ip.fragment);
	assert_int_equal(packet.parts, PACKET_IP | PACKET_LENGTH);
	assert_int_equal(packet.ip.protocol, 60);
}

TEST(test_ipv6_ends)
{
	ipv6(59, 8); /* no next header */
	udp();
	parse();
	assert_int_equal(packet.parts, IP_L4);
	assert_int_equal(packet.ip.protocol, 59);
	record.net[6] = 50; /* ESP: the rest is encrypted */
	parse();
	assert_int_equal(packet.parts, IP_L4);
	assert_string_equal(flow, "esp fe80::1 > fe80::2");
	record.net[6] = 253;
	parse();
	assert_string_equal(flow, "ipv6/253 fe80::1 > fe80::2");
}

TEST(test_ipv6_malformed)
{
	ipv6(17, 12);
	udp();
	for (unsigned int first = 0; first < 256; first++) {
		record.net[0] = (uint8_t)first;
		parse();
		assert_int_equal(!!(packet.parts & PACKET_IP), first >> 4 == 6);
	}
	/* An authentication header that is longer than the packet. */
	record.net[0] = 0x60;
	record.net[6] = 51;
	record.net[40] = 51;
	record.net[41] = 0xff;
	parse();
	assert_int_equal(packet.parts, PACKET_IP | PACKET_LENGTH);
}

/* Hop-by-hop headers up to the end of the record: the parser ends there. */
TEST(test_ipv6_endless_chain)
{
	ipv6(0, 88);
	memset(record.net + 40, 0, 88);
	record.net_len = 128;
	parse();
	assert_int_equal(packet.parts, PACKET_IP | PACKET_LENGTH);
	assert_int_equal(packet.ip.protocol, 0);
}

TEST(test_ipv6_jumbo)
{
	ipv6(17, 0);
	udp();
	parse();
	assert_int_equal(packet.parts, PACKET_IP | PACKET_L4 | PACKET_PORTS);
}

/* ---- invalid lengths ------------------------------------------------------ */

TEST(test_record_lengths)
{
	ipv4(17, 128);
	record.net_len = 255;
	record.l2_len = 255;
	parse();
	assert_true(packet.parts & PACKET_IP);
	assert_false(packet.parts & PACKET_ETHERNET);
}

/* A hop-by-hop header up to the end of net[]: the memory after it is not part of the packet. */
TEST(test_record_length_of_net)
{
	ipv6(0, 0);
	memset(record.net + 40, 0, NF_NET_MAX - 40);
	record.net[40] = IPPROTO_UDP;
	record.net[41] = (NF_NET_MAX - 40) / 8 - 1;
	record.net_len = 255;
	parse();
	assert_int_equal(packet.parts, PACKET_IP | PACKET_L4);
}

/* ---- texts ------------------------------------------------------------------ */

TEST(test_protocol)
{
	static const struct {
		uint16_t type;
		bool known;
		uint8_t l4;
		const char *text;
	} cases[] = {
		{0x0800, true, 17, "ipv4/udp"},
		{0x86dd, true, 58, "ipv6/icmpv6"},
		{0x0800, true, 1, "ipv4/icmp"},
		{0x86dd, true, 6, "ipv6/tcp"},
		{0x86dd, true, 0, "ipv6/hopopt"},
		{0x86dd, false, 6, "ipv6"},
		{0x0800, false, 0, "ipv4"},
		{0x0800, true, 253, "ipv4/253"},
		{0x0806, true, 6, "arp"},
		{0x88cc, false, 0, "0x88cc"},
		{0x0004, false, 0, "0x0004"},
		{0, true, 17, "none"},
		{0x0800, true, 137, "ipv4/mpls-in-ip"},
		{0x86dd, true, 60, "ipv6/ipv6-opts"},
	};
	char text[PACKET_PROTOCOL_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		packet_protocol(cases[i].type, cases[i].known, cases[i].l4, text);
		assert_string_equal(text, cases[i].text);
	}
	for (unsigned int l4 = 0; l4 < 256; l4++) {
		packet_protocol(0x86dd, true, (uint8_t)l4, text);
		assert_true(strlen(text) < PACKET_PROTOCOL_MAX - 1);
	}
}

TEST(test_protocol_of_drop_keys)
{
	static const struct {
		uint16_t type;
		uint8_t flags, l4;
		const char *text;
	} cases[] = {
		{0x0800, NF_KEY_L4, 17, "ipv4/udp"},
		{0x0800, NF_KEY_OTHER_L4, 0, "ipv4/other"},
		{0x86dd, NF_KEY_OTHER_L4, 0, "ipv6/other"},
		{0x0800, 0, 0, "ipv4"},
		{0, NF_KEY_OTHER_PROTOCOL, 0, "other"},
		{0, 0, 0, "none"},
		{NF_PROTOCOL_LENGTH, 0, 0, "802.3"},
		{0x88cc, 0, 0, "0x88cc"},
		{0x0806, 0, 0, "arp"},
	};
	char text[PACKET_PROTOCOL_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		packet_drop_protocol(cases[i].type, cases[i].flags, cases[i].l4, text);
		assert_string_equal(text, cases[i].text);
	}
}

TEST(test_flow_longest)
{
	ipv6(17, 12);
	memset(record.net + 8, 0xff, 32);
	net(BYTES(0xff, 0xff, 0xff, 0xff));
	parse();
	assert_string_equal(flow, "udp [ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535 > "
				  "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535");
}
