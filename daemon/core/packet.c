/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/core/packet.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "bpf/records.h"

#define ETHERTYPE_IPV4 0x0800
#define ETHERTYPE_ARP 0x0806
#define ETHERTYPE_VLAN 0x8100
#define ETHERTYPE_IPV6 0x86dd
#define ETHERTYPE_QINQ 0x88a8
/* Smaller values are lengths on the wire, or the kernel's own numbers in skb->protocol. */
#define ETHERTYPE_MIN 0x0600

#define ETHERNET_BYTES 14
#define VLAN_BYTES 4
#define IPV4_BYTES 20
#define IPV6_BYTES 40

/* The bytes that are not yet read. */
struct view {
	const uint8_t *data;
	size_t len;
};

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)get16(p) << 16 | get16(p + 2);
}

/* `bytes` must not be more than view->len. */
static void skip(struct view *view, size_t bytes)
{
	view->data += bytes;
	view->len -= bytes;
}

/* ---- below IP ----------------------------------------------------------- */

bool packet_is_vlan(uint16_t type)
{
	return type == ETHERTYPE_VLAN || type == ETHERTYPE_QINQ;
}

static void add_vlan(struct packet *packet, uint16_t protocol, uint16_t tci)
{
	if (packet->vlans == PACKET_VLANS)
		return;
	packet->vlan[packet->vlans++] = (struct packet_vlan){
		.protocol = protocol, .id = tci & 0xfff, .priority = (uint8_t)(tci >> 13)};
}

/* Read the tags at the front of `view`.  Returns the type after them, or the type of the first unreadable tag. */
static uint16_t parse_vlans(struct view *view, uint16_t type, struct packet *packet)
{
	while (packet_is_vlan(type) && view->len >= VLAN_BYTES) {
		add_vlan(packet, type, get16(view->data));
		type = get16(view->data + 2);
		skip(view, VLAN_BYTES);
	}
	return type;
}

bool packet_is_ethernet(const uint8_t *l2, size_t len, uint16_t protocol)
{
	struct packet scratch = {0};
	struct view view = {l2, len};
	uint16_t type;

	if (len < ETHERNET_BYTES)
		return false;
	type = get16(l2 + 12);
	skip(&view, ETHERNET_BYTES);
	type = parse_vlans(&view, type, &scratch);
	if (view.len)
		return false;
	return type == protocol || packet_is_vlan(type) || packet_is_vlan(protocol) ||
	       type < ETHERTYPE_MIN || protocol < ETHERTYPE_MIN;
}

static void parse_ethernet(struct view l2, struct packet *packet)
{
	memcpy(packet->ethernet.destination, l2.data, 6);
	memcpy(packet->ethernet.source, l2.data + 6, 6);
	packet->ethernet.type = get16(l2.data + 12);
	skip(&l2, ETHERNET_BYTES);
	packet->ethernet.type = parse_vlans(&l2, packet->ethernet.type, packet);
	packet->parts |= PACKET_ETHERNET;
}

/* RFC 826, for Ethernet and IPv4. */
static void parse_arp(struct view net, struct packet *packet)
{
	static const uint8_t ethernet_ipv4[] = {0, 1, 8, 0, 6, 4};

	if (net.len < 28 || memcmp(net.data, ethernet_ipv4, sizeof(ethernet_ipv4)) != 0)
		return;
	memcpy(packet->arp_sender, net.data + 14, 4);
	memcpy(packet->arp_target, net.data + 24, 4);
	packet->parts |= PACKET_ARP;
}

/* ---- above IP ----------------------------------------------------------- */

static void parse_udp(struct view l4, struct packet *packet)
{
	if (l4.len < 4)
		return;
	packet->transport.source_port = get16(l4.data);
	packet->transport.destination_port = get16(l4.data + 2);
	packet->parts |= PACKET_PORTS;
}

/* `header`: bytes of the TCP header. */
static void note_payload(struct packet *packet, uint32_t header)
{
	header += packet->ip.header;
	if (packet->parts & PACKET_LENGTH && packet->ip.length > header)
		packet->transport.payload = packet->ip.length - header;
}

static void parse_tcp(struct view l4, struct packet *packet)
{
	parse_udp(l4, packet);
	if (l4.len >= 8) {
		packet->transport.sequence = get32(l4.data + 4);
		packet->parts |= PACKET_SEQUENCE;
	}
	if (l4.len >= 12) {
		packet->transport.acknowledgement = get32(l4.data + 8);
		packet->parts |= PACKET_ACKNOWLEDGEMENT;
	}
	if (l4.len >= 14) {
		packet->transport.flags = l4.data[13];
		packet->parts |= PACKET_FLAGS;
		note_payload(packet, (uint32_t)(l4.data[12] >> 4) * 4);
	}
}

static void parse_icmp(struct view l4, struct packet *packet)
{
	if (l4.len < 2)
		return;
	packet->icmp_type = l4.data[0];
	packet->icmp_code = l4.data[1];
	packet->parts |= PACKET_ICMP;
}

static void parse_transport(struct view l4, struct packet *packet)
{
	packet->parts |= PACKET_L4;
	if (packet->ip.fragment)
		return;
	if (packet->ip.protocol == IPPROTO_TCP)
		parse_tcp(l4, packet);
	else if (packet->ip.protocol == IPPROTO_UDP)
		parse_udp(l4, packet);
	else if (packet->ip.protocol == (packet->ip.version == 4 ? IPPROTO_ICMP : IPPROTO_ICMPV6))
		parse_icmp(l4, packet);
}

/* ---- IP ----------------------------------------------------------------- */

/* Note the length in the header.  Bytes after it are padding of the frame, not fields. */
static void limit(struct view *net, uint32_t length, struct packet *packet)
{
	packet->ip.length = length;
	packet->parts |= PACKET_LENGTH;
	if (length < net->len)
		net->len = length;
}

static void parse_ipv4(struct view net, struct packet *packet)
{
	struct packet_ip *ip = &packet->ip;
	size_t header;

	if (net.len < IPV4_BYTES || net.data[0] >> 4 != 4 || (net.data[0] & 0xf) < 5)
		return;
	header = (size_t)(net.data[0] & 0xf) * 4;
	ip->version = 4;
	ip->fragment = get16(net.data + 6) & 0x1fff;
	ip->ttl = net.data[8];
	ip->protocol = net.data[9];
	memcpy(ip->source, net.data + 12, 4);
	memcpy(ip->destination, net.data + 16, 4);
	packet->parts |= PACKET_IP;
	if (get16(net.data + 2))
		limit(&net, get16(net.data + 2), packet);
	/* If the options are cut off, there is no transport header to read, but its protocol is known. */
	ip->header = (uint16_t)header;
	skip(&net, header < net.len ? header : net.len);
	parse_transport(net, packet);
}

static bool is_extension(uint8_t header)
{
	return header == IPPROTO_HOPOPTS || header == IPPROTO_ROUTING ||
	       header == IPPROTO_DSTOPTS || header == IPPROTO_FRAGMENT || header == IPPROTO_AH;
}

/* The length in bytes of the extension header at `net`, which holds at least 2 bytes. */
static size_t extension_bytes(uint8_t header, struct view net)
{
	if (header == IPPROTO_FRAGMENT)
		return 8;
	if (header == IPPROTO_AH)
		return ((size_t)net.data[1] + 2) * 4;
	return ((size_t)net.data[1] + 1) * 8;
}

/* Like ipv6_skip_exthdr().  This ends, because every extension header has at least 8 bytes. */
static void parse_extensions(struct view net, struct packet *packet)
{
	struct packet_ip *ip = &packet->ip;

	while (is_extension(ip->protocol) && !ip->fragment) {
		uint8_t header = ip->protocol;
		size_t bytes;

		if (net.len < 2)
			return;
		bytes = extension_bytes(header, net);
		if (net.len < bytes)
			return;
		if (header == IPPROTO_FRAGMENT)
			ip->fragment = get16(net.data + 2) >> 3;
		ip->protocol = net.data[0];
		ip->header += (uint16_t)bytes;
		skip(&net, bytes);
	}
	if (!is_extension(ip->protocol))
		parse_transport(net, packet);
}

static void parse_ipv6(struct view net, struct packet *packet)
{
	struct packet_ip *ip = &packet->ip;

	if (net.len < IPV6_BYTES || net.data[0] >> 4 != 6)
		return;
	ip->version = 6;
	ip->protocol = net.data[6];
	ip->ttl = net.data[7];
	memcpy(ip->source, net.data + 8, 16);
	memcpy(ip->destination, net.data + 24, 16);
	packet->parts |= PACKET_IP;
	if (get16(net.data + 4))
		limit(&net, IPV6_BYTES + (uint32_t)get16(net.data + 4), packet);
	ip->header = IPV6_BYTES;
	skip(&net, IPV6_BYTES);
	parse_extensions(net, packet);
}

void packet_parse(const struct nf_bytes *bytes, struct packet *packet)
{
	struct view l2 = {bytes->l2, bytes->l2_len};
	struct view net = {bytes->net, bytes->net_len};

	if (l2.len > sizeof(bytes->l2))
		l2.len = sizeof(bytes->l2);
	if (net.len > sizeof(bytes->net))
		net.len = sizeof(bytes->net);

	*packet = (struct packet){.protocol = bytes->protocol};
	if (bytes->flags & NF_BYTES_VLAN)
		add_vlan(packet, bytes->vlan_proto, bytes->vlan_tci);
	if (packet_is_ethernet(l2.data, l2.len, bytes->protocol)) {
		parse_ethernet(l2, packet);
		/* The kernel put a tag into the frame on its way out: see __vlan_insert_tag() and skb_vlan_push(). */
		if (packet_is_vlan(packet->protocol) || packet_is_vlan(packet->ethernet.type))
			packet->protocol = packet->ethernet.type;
	}
	/* Before skb_vlan_untag(), the network header points to the tag. */
	packet->protocol = parse_vlans(&net, packet->protocol, packet);
	if (packet_is_vlan(packet->ethernet.type))
		packet->ethernet.type = packet->protocol;

	if (packet->protocol == ETHERTYPE_IPV4)
		parse_ipv4(net, packet);
	else if (packet->protocol == ETHERTYPE_IPV6)
		parse_ipv6(net, packet);
	else if (packet->protocol == ETHERTYPE_ARP)
		parse_arp(net, packet);
}

/* ---- as text ------------------------------------------------------------ */

/* IANA's keywords in lower case, but the usual name for ICMPv6. */
static const char *const l4_names[256] = {
	[0] = "hopopt",	     [1] = "icmp",	 [2] = "igmp",	       [4] = "ipip",
	[6] = "tcp",	     [17] = "udp",	 [33] = "dccp",	       [41] = "ipv6",
	[43] = "ipv6-route", [44] = "ipv6-frag", [46] = "rsvp",	       [47] = "gre",
	[50] = "esp",	     [51] = "ah",	 [58] = "icmpv6",      [59] = "ipv6-nonxt",
	[60] = "ipv6-opts",  [88] = "eigrp",	 [89] = "ospf",	       [103] = "pim",
	[108] = "ipcomp",    [112] = "vrrp",	 [115] = "l2tp",       [132] = "sctp",
	[135] = "mobility",  [136] = "udplite",	 [137] = "mpls-in-ip",
};

void packet_protocol(uint16_t ethertype, bool l4_known, uint8_t l4,
		     char text[static PACKET_PROTOCOL_MAX])
{
	const char *ip = ethertype == ETHERTYPE_IPV4   ? "ipv4"
			 : ethertype == ETHERTYPE_IPV6 ? "ipv6"
						       : NULL;

	if (!ethertype)
		snprintf(text, PACKET_PROTOCOL_MAX, "none");
	else if (ethertype == ETHERTYPE_ARP)
		snprintf(text, PACKET_PROTOCOL_MAX, "arp");
	else if (!ip)
		snprintf(text, PACKET_PROTOCOL_MAX, "0x%04x", ethertype);
	else if (!l4_known)
		snprintf(text, PACKET_PROTOCOL_MAX, "%s", ip);
	else if (l4_names[l4])
		snprintf(text, PACKET_PROTOCOL_MAX, "%s/%s", ip, l4_names[l4]);
	else
		snprintf(text, PACKET_PROTOCOL_MAX, "%s/%u", ip, l4);
}

void packet_drop_protocol(uint16_t ethertype, uint8_t key_flags, uint8_t l4,
			  char text[static PACKET_PROTOCOL_MAX])
{
	if (key_flags & NF_KEY_OTHER_PROTOCOL) {
		strcpy(text, "other");
	} else if (ethertype == NF_PROTOCOL_LENGTH) {
		strcpy(text, "802.3");
	} else {
		packet_protocol(ethertype, key_flags & NF_KEY_L4, l4, text);
		if (key_flags & NF_KEY_OTHER_L4)
			strcat(text, "/other");
	}
}

/* "udp"; "ipv4/253" if the number has no name; "ipv6" if the number was not readable. */
static void flow_protocol(const struct packet *packet, char text[static PACKET_PROTOCOL_MAX])
{
	const struct packet_ip *ip = &packet->ip;
	bool known = packet->parts & PACKET_L4;

	if (known && l4_names[ip->protocol])
		snprintf(text, PACKET_PROTOCOL_MAX, "%s", l4_names[ip->protocol]);
	else
		packet_protocol(packet->protocol, known, ip->protocol, text);
}

static void arp_flow(const struct packet *packet, char text[static PACKET_FLOW_MAX])
{
	char sender[INET_ADDRSTRLEN], target[INET_ADDRSTRLEN];

	if (!(packet->parts & PACKET_ARP)) {
		snprintf(text, PACKET_FLOW_MAX, "arp");
		return;
	}
	inet_ntop(AF_INET, packet->arp_sender, sender, sizeof(sender));
	inet_ntop(AF_INET, packet->arp_target, target, sizeof(target));
	snprintf(text, PACKET_FLOW_MAX, "arp %s > %s", sender, target);
}

static void ip_flow(const struct packet *packet, char text[static PACKET_FLOW_MAX])
{
	int family = packet->ip.version == 4 ? AF_INET : AF_INET6;
	const char *open = family == AF_INET6 ? "[" : "", *close = family == AF_INET6 ? "]" : "";
	char source[INET6_ADDRSTRLEN], destination[INET6_ADDRSTRLEN];
	char protocol[PACKET_PROTOCOL_MAX];

	flow_protocol(packet, protocol);
	inet_ntop(family, packet->ip.source, source, sizeof(source));
	inet_ntop(family, packet->ip.destination, destination, sizeof(destination));
	if (packet->parts & PACKET_PORTS)
		snprintf(text, PACKET_FLOW_MAX, "%s %s%s%s:%u > %s%s%s:%u", protocol, open, source,
			 close, packet->transport.source_port, open, destination, close,
			 packet->transport.destination_port);
	else if (packet->parts & PACKET_ICMP)
		snprintf(text, PACKET_FLOW_MAX, "%s %s > %s type %u code %u", protocol, source,
			 destination, packet->icmp_type, packet->icmp_code);
	else
		snprintf(text, PACKET_FLOW_MAX, "%s %s > %s", protocol, source, destination);
}

bool packet_flow(const struct packet *packet, char text[static PACKET_FLOW_MAX])
{
	if (packet->parts & PACKET_IP)
		ip_flow(packet, text);
	else if (packet->protocol == ETHERTYPE_ARP)
		arp_flow(packet, text);
	else
		return false;
	return true;
}
