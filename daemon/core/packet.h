/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The headers in the first bytes of a packet: Ethernet, VLAN, ARP, IPv4, IPv6, TCP, UDP, ICMP.  Every byte comes from
 * the network, so every read stays within the bytes of the record.  A part that could not be read is absent: its
 * PACKET_* bit is not set, and its value has no meaning.
 */
#ifndef DAEMON_CORE_PACKET_H
#define DAEMON_CORE_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nf_bytes;

/*
 * Which members of struct packet were readable.  PACKET_LENGTH is absent if the header says 0, as in BIG TCP and
 * jumbograms.  PACKET_L4 is absent if the chain of IPv6 extension headers was not readable to its end.
 */
enum packet_part {
	PACKET_ETHERNET = 1 << 0,
	PACKET_ARP = 1 << 1,	/* ARP for Ethernet and IPv4: both IPv4 addresses */
	PACKET_IP = 1 << 2,	/* the whole fixed header: 20 or 40 bytes */
	PACKET_LENGTH = 1 << 3, /* ip.length */
	PACKET_L4 = 1 << 4,	/* ip.protocol is that of the upper layer */
	PACKET_PORTS = 1 << 5,	/* of TCP or UDP */
	PACKET_SEQUENCE = 1 << 6,
	PACKET_ACKNOWLEDGEMENT = 1 << 7,
	PACKET_FLAGS = 1 << 8, /* of TCP; with PACKET_LENGTH, payload too */
	PACKET_ICMP = 1 << 9,  /* type and code of ICMP or ICMPv6 */
};

/* VLAN tags of one packet that are kept; further tags are skipped. */
#define PACKET_VLANS 4

struct packet_vlan {
	uint16_t protocol; /* 0x8100 or 0x88a8 */
	uint16_t id;
	uint8_t priority; /* 0 … 7 */
};

struct packet_ethernet {
	uint8_t source[6];
	uint8_t destination[6];
	uint16_t type; /* after the VLAN tags; below 0x600 it is the length of an 802.3 frame */
};

struct packet_ip {
	uint8_t version; /* 4 or 6 */
	uint8_t ttl;
	uint8_t protocol; /* without PACKET_L4, the type of an extension header */
	bool fragment;	  /* not the first fragment: has no transport header */
	uint16_t
		header; /* bytes before the transport header, options and extension headers included */
	uint32_t length;    /* bytes, IP header included, as the header says */
	uint8_t source[16]; /* version 4: the first 4 bytes */
	uint8_t destination[16];
};

struct packet_transport {
	uint16_t source_port;
	uint16_t destination_port;
	uint8_t flags; /* as in the TCP header: FIN is bit 0, CWR bit 7 */
	uint32_t
		payload; /* bytes after the TCP header, as the headers say; 0: none, or not known */
	uint32_t sequence;
	uint32_t acknowledgement;
};

struct packet {
	unsigned int parts; /* enum packet_part */
	uint16_t protocol;  /* EtherType after the VLAN tags; 0: none */
	unsigned int vlans; /* tags in vlan[], outermost first */
	struct packet_vlan vlan[PACKET_VLANS];
	struct packet_ethernet ethernet;
	uint8_t arp_sender[4];
	uint8_t arp_target[4];
	struct packet_ip ip;
	struct packet_transport transport;
	uint8_t icmp_type;
	uint8_t icmp_code;
};

/*
 * Read the headers in `bytes`.  Lengths in it that exceed its arrays are reduced to them.  Never fails: an unreadable
 * packet has no parts.
 */
void packet_parse(const struct nf_bytes *bytes, struct packet *packet);

/* Whether an EtherType is that of a VLAN tag, 802.1Q or 802.1ad. */
bool packet_is_vlan(uint16_t type);

/*
 * Whether the `len` bytes before the network header are an Ethernet header.  A record does not say from which kind of
 * device it comes, and skb->mac_header may be older than skb->network_header.  The header is Ethernet if it is as long
 * as an Ethernet header with its tags, and its type does not contradict `protocol`, which is that of the skb.
 */
bool packet_is_ethernet(const uint8_t *l2, size_t len, uint16_t protocol);

/* Size of the buffer for packet_protocol(), the 0 at the end included. */
#define PACKET_PROTOCOL_MAX 24

/*
 * The text of a protocol: "ipv4/udp", "ipv6/icmpv6", "ipv4/253", "ipv6" if `l4` is not known, "arp", "0x88cc", "none".
 * As in a drop key, the EtherType is in host order, and `l4` is the IP protocol number, which counts only if
 * `l4_known`.  In IPv6 that number may be the type of an extension header.
 */
void packet_protocol(uint16_t ethertype, bool l4_known, uint8_t l4,
		     char text[static PACKET_PROTOCOL_MAX]);

/*
 * The text of the protocol of a drop key: as packet_protocol(), but "other" and "ipv4/other" for protocols that are not
 * well known, and "802.3" for all frames with a length instead of an EtherType.
 */
void packet_drop_protocol(uint16_t ethertype, uint8_t key_flags, uint8_t l4,
			  char text[static PACKET_PROTOCOL_MAX]);

/* Size of the buffer for packet_flow(), the 0 at the end included. */
#define PACKET_FLOW_MAX 160

/*
 * The text of a flow, as far as it was readable: "udp 10.0.0.1:53 > 10.0.0.2:4242", "tcp [fe80::1]:22 >
 * [fe80::2]:5000", "icmp 10.0.0.1 > 10.0.0.2 type 8 code 0", "arp 10.0.0.1 > 10.0.0.2" (sender and target).  Returns
 * false and leaves `text` alone if the packet is not ARP and has no IP header.
 */
bool packet_flow(const struct packet *packet, char text[static PACKET_FLOW_MAX]);

#endif
