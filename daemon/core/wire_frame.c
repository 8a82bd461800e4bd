/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/core/wire_frame.h"

#include <string.h>

#include "daemon/core/packet.h"

#define ADDRESS_BYTES 12 /* of both addresses */
#define TAG_BYTES 4
#define TYPE_BYTES 2

/* Smaller values are lengths on the wire, or the kernel's own numbers in skb->protocol. */
#define TYPE_MIN 0x0600
#define TYPE_UNKNOWN 0xffff
/* The kernel's numbers for 802.3 frames, linux/if_ether.h. */
#define PROTOCOL_802_3 0x0001
#define PROTOCOL_802_2 0x0004
#define LENGTH_802_3_MAX 1500

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static void append(struct wire_frame *frame, const uint8_t *bytes, size_t len)
{
	if (!len)
		return;
	memcpy(frame->bytes + frame->captured, bytes, len);
	frame->captured += (uint32_t)len;
}

static void append16(struct wire_frame *frame, uint16_t value)
{
	append(frame, (const uint8_t[]){(uint8_t)(value >> 8), (uint8_t)value}, 2);
}

static void append_type(struct wire_frame *frame, const struct wire_frame_source *source)
{
	uint16_t protocol = source->protocol;

	frame->typed = true;
	if (protocol >= TYPE_MIN) {
		append16(frame, protocol);
	} else if (protocol == PROTOCOL_802_3 || protocol == PROTOCOL_802_2) {
		append16(frame, (uint16_t)(source->length < LENGTH_802_3_MAX ? source->length
									     : LENGTH_802_3_MAX));
	} else {
		append16(frame, TYPE_UNKNOWN);
		frame->typed = false;
	}
}

/* Everything before the network header. */
static void append_link(struct wire_frame *frame, const struct wire_frame_source *source)
{
	static const uint8_t none[ADDRESS_BYTES];

	frame->addressed = source->l2_len <= NF_L2_MAX &&
			   packet_is_ethernet(source->l2, source->l2_len, source->protocol);
	append(frame, frame->addressed ? source->l2 : none, ADDRESS_BYTES);
	if (source->vlan_protocol) {
		append16(frame, source->vlan_protocol);
		append16(frame, source->vlan_tci);
	}
	if (frame->addressed) {
		append(frame, source->l2 + ADDRESS_BYTES, source->l2_len - ADDRESS_BYTES);
		frame->typed = true;
	} else {
		append_type(frame, source);
	}
}

/* Whether a tag is at `at`, captured together with the type that follows it. */
static bool tag_at(const struct wire_frame *frame, uint32_t at)
{
	return frame->captured >= at + TAG_BYTES + TYPE_BYTES &&
	       packet_is_vlan(get16(frame->bytes + at));
}

static void cut_tag(struct wire_frame *frame, uint32_t at)
{
	frame->captured -= TAG_BYTES;
	memmove(frame->bytes + at, frame->bytes + at + TAG_BYTES, frame->captured - at);
}

void wire_frame_build(struct wire_frame *frame, const struct wire_frame_source *source, bool tags)
{
	size_t net_len = source->net_len < NF_NET_MAX ? source->net_len : NF_NET_MAX;

	frame->captured = 0;
	append_link(frame, source);
	/* Before skb_vlan_untag(), the network header points to the tag, so these bytes may have tags, too. */
	append(frame, source->net, net_len);

	frame->type_at = ADDRESS_BYTES;
	while (tag_at(frame, frame->type_at)) {
		if (tags)
			frame->type_at += TAG_BYTES;
		else
			cut_tag(frame, frame->type_at);
	}
	frame->length = frame->type_at + TYPE_BYTES + source->length;
	if (frame->length < frame->captured)
		frame->length = frame->captured;
}

void wire_frame_of_bytes(struct wire_frame_source *source, const struct nf_bytes *bytes)
{
	struct packet packet;

	packet_parse(bytes, &packet);
	*source = (struct wire_frame_source){
		.l2 = bytes->l2,
		.l2_len = bytes->l2_len,
		.net = bytes->net,
		.net_len = bytes->net_len,
		.protocol = bytes->protocol,
		.vlan_protocol = bytes->flags & NF_BYTES_VLAN ? bytes->vlan_proto : 0,
		.vlan_tci = bytes->vlan_tci,
		.length = packet.parts & PACKET_LENGTH ? packet.ip.length : bytes->len,
	};
}
