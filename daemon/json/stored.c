/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The way back: the bytes of a packet from the members that packet.c gave its record. */
#include <stdlib.h>
#include <string.h>

#include "bpf/records.h"
#include "daemon/core/packet.h"
#include "daemon/json/json.h"

#define TYPE_IPV4 0x0800
#define TYPE_ARP 0x0806
#define TYPE_IPV6 0x86dd

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static size_t from_hex(const char *text, uint8_t *bytes, size_t size)
{
	size_t count = 0;

	while (text && count < size && digit(text[0]) >= 0 && digit(text[1]) >= 0) {
		bytes[count++] = (uint8_t)(digit(text[0]) << 4 | digit(text[1]));
		text += 2;
	}
	return count;
}

static bool read_mac(const char *text, uint8_t *mac)
{
	for (int i = 0; text && i < 6; i++, text += 3)
		if (from_hex(text, mac + i, 1) != 1 || (i < 5 && text[2] != ':'))
			return false;
	return text;
}

/* That of the skb. */
static uint16_t type_of(const json_t *record)
{
	const char *protocol = json_string_value(json_object_get(record, "protocol"));

	if (!protocol)
		return 0;
	if (!strncmp(protocol, "ipv4", 4))
		return TYPE_IPV4;
	if (!strncmp(protocol, "ipv6", 4))
		return TYPE_IPV6;
	return !strcmp(protocol, "arp") ? TYPE_ARP : (uint16_t)strtoul(protocol, NULL, 16);
}

static uint16_t number_of(const json_t *object, const char *member)
{
	return (uint16_t)json_integer_value(json_object_get(object, member));
}

static void put16(uint8_t *p, uint16_t value)
{
	p[0] = (uint8_t)(value >> 8);
	p[1] = (uint8_t)value;
}

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

/* The type behind all tags; 0: not known. */
static uint16_t inner_type(const json_t *record)
{
	uint16_t type = number_of(json_object_get(record, "ethernet"), "type");
	uint16_t version = number_of(json_object_get(record, "ip"), "version");

	if (version)
		return version == 4 ? TYPE_IPV4 : TYPE_IPV6;
	return type;
}

/*
 * The outermost tag.  An skb whose protocol is that of a tag has it in front of the network header (the kernel dropped
 * the packet before skb_vlan_untag()) or in the Ethernet header, whose bytes are those of one in the metadata.  The
 * record has no bit 12 of the tag (drop eligible).
 */
static void read_vlan(const json_t *record, const json_t *vlan, struct nf_bytes *bytes)
{
	uint16_t tci = (uint16_t)(number_of(vlan, "id") | number_of(vlan, "priority") << 13);
	uint16_t inner = inner_type(record);

	if (packet_is_vlan(bytes->protocol)) {
		uint16_t next = bytes->net_len < 4 ? 0 : get16(bytes->net + 2);
		bool tagged = bytes->net_len >= 4 && (next == inner || packet_is_vlan(next));

		if (tagged && (get16(bytes->net) & ~0x1000) == tci)
			return;
		if (!tagged && inner)
			bytes->protocol = inner;
	}
	bytes->flags = NF_BYTES_VLAN;
	bytes->vlan_proto = number_of(vlan, "protocol");
	bytes->vlan_tci = tci;
}

void json_packet_bytes(const json_t *record, struct nf_bytes *bytes)
{
	const json_t *ethernet = json_object_get(record, "ethernet");
	const json_t *vlan = json_object_get(record, "vlan");

	*bytes = (struct nf_bytes){
		.len = (uint32_t)json_integer_value(json_object_get(record, "length_bytes")),
		.protocol = type_of(record)};
	bytes->net_len = (uint8_t)from_hex(json_string_value(json_object_get(record, "header")),
					   bytes->net, sizeof(bytes->net));
	if (vlan)
		read_vlan(record, vlan, bytes);
	if (!read_mac(json_string_value(json_object_get(ethernet, "destination")), bytes->l2) ||
	    !read_mac(json_string_value(json_object_get(ethernet, "source")), bytes->l2 + 6))
		return;
	put16(bytes->l2 + 12, bytes->protocol);
	bytes->l2_len = 14;
}
