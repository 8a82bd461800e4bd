/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Ethernet frame that a record's bytes came from, put together again: the
 * link header where it was recorded, else one that is made up and says so, the
 * VLAN tag that the kernel keeps beside the bytes, and what was captured from
 * the network header on.
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
	const uint8_t *net; /* from the network header on, as far as it was captured */
	size_t net_len;
	uint16_t protocol;	/* EtherType in host order as skb->protocol has it, 0 = not known */
	uint16_t vlan_protocol; /* of the tag in the skb's metadata, 0 = none */
	uint16_t vlan_tci;
	uint32_t length; /* bytes on the wire, without the link header and the tags */
};

#define WIRE_FRAME_MAX (12 + 4 + (NF_L2_MAX - 12) + NF_NET_MAX)

struct wire_frame {
	uint8_t bytes[WIRE_FRAME_MAX];
	uint32_t captured; /* of bytes[] */
	uint32_t length;   /* on the wire, with the link header: at least `captured` */
	uint32_t type_at;  /* where the EtherType after the last tag stands in bytes[] */
	bool addressed;	   /* the addresses were recorded; else they are 0 */
	bool typed;	   /* the EtherType is known; else it is 0xffff, which IANA keeps free */
};

/*
 * `tags` says whether the frame has its VLAN tags, or is as it would be without
 * them.  Lengths in `source` larger than a record can hold are cut down.
 */
void wire_frame_build(struct wire_frame *frame, const struct wire_frame_source *source, bool tags);

/*
 * What a record holds; `source` points into it.  The length is the IP
 * header's where that was readable: skb->len of a dropped packet leaves out
 * the headers that were pulled before.
 */
void wire_frame_of_bytes(struct wire_frame_source *source, const struct nf_bytes *bytes);

#endif
