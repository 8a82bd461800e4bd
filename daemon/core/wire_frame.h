/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Ethernet frame that a record's bytes came from, rebuilt: the link header as it was recorded, otherwise a made-up
 * one that is marked as such; the VLAN tag that the kernel keeps outside the bytes; and the bytes captured from the
 * network header on.
 */
#ifndef DAEMON_CORE_WIRE_FRAME_H
#define DAEMON_CORE_WIRE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/records.h"

struct wire_frame_source {
	const uint8_t *l2; /* from the MAC header up to the network header, or nothing */
	size_t l2_len;
	const uint8_t *net; /* from the network header on, as far as captured */
	size_t net_len;
	uint16_t protocol;	/* EtherType of skb->protocol, in host order; 0: not known */
	uint16_t vlan_protocol; /* of the tag in the skb's metadata; 0: none */
	uint16_t vlan_tci;
	uint32_t length; /* bytes on the wire, without the link header and the tags */
};

#define WIRE_FRAME_MAX (12 + 4 + (NF_L2_MAX - 12) + NF_NET_MAX)

struct wire_frame {
	uint8_t bytes[WIRE_FRAME_MAX];
	uint32_t captured; /* bytes in bytes[] */
	uint32_t length;   /* bytes on the wire, with the link header; at least `captured` */
	uint32_t type_at;  /* index in bytes[] of the EtherType after the last tag */
	bool addressed;	   /* the addresses were recorded; otherwise they are 0 */
	bool typed;	   /* the EtherType is known; otherwise it is 0xffff, which IANA reserves */
};

/*
 * Build the frame with its VLAN tags or, if `tags` is false, as it would be without them.  A net_len above NF_NET_MAX
 * is reduced to it; with an l2_len above NF_L2_MAX, the link header counts as not recorded.
 */
void wire_frame_build(struct wire_frame *frame, const struct wire_frame_source *source, bool tags);

/*
 * Describe the contents of a record; `source` points into it.  The length is that of the IP header if it was readable,
 * because skb->len of a dropped packet lacks the headers that the kernel had pulled.
 */
void wire_frame_of_bytes(struct wire_frame_source *source, const struct nf_bytes *bytes);

#endif
