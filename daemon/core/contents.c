/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/core/contents.h"

static void read_bytes(struct contents *contents, const struct nf_bytes *bytes)
{
	contents->bytes = bytes;
	packet_parse(bytes, &contents->packet);
	if (!packet_flow(&contents->packet, contents->flow))
		contents->flow[0] = '\0';
}

void contents_read(struct contents *contents, const struct nf_bytes *bytes)
{
	const struct packet *packet = &contents->packet;

	read_bytes(contents, bytes);
	packet_protocol(bytes->protocol, packet->parts & PACKET_L4, packet->ip.protocol,
			contents->protocol);
}

void contents_read_l4(struct contents *contents, const struct nf_bytes *bytes, bool l4_known,
		      uint8_t l4)
{
	read_bytes(contents, bytes);
	packet_protocol(bytes->protocol, l4_known, l4, contents->protocol);
}
