/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/store/missing.h"

#include <netinet/in.h>
#include <string.h>

#include "daemon/core/packet.h"
#include "daemon/store/recent.h"

#define ETHERTYPE_IPV4 0x0800
#define ETHERTYPE_IPV6 0x86dd
#define SEGMENT (PACKET_IP | PACKET_PORTS | PACKET_SEQUENCE)

static bool is_segment(const struct packet *packet)
{
	return (packet->parts & SEGMENT) == SEGMENT && packet->ip.protocol == IPPROTO_TCP;
}

static bool is_same_flow(const struct packet *one, const struct packet *other)
{
	return one->ip.version == other->ip.version &&
	       !memcmp(one->ip.source, other->ip.source, sizeof(one->ip.source)) &&
	       !memcmp(one->ip.destination, other->ip.destination, sizeof(one->ip.destination)) &&
	       one->transport.source_port == other->transport.source_port &&
	       one->transport.destination_port == other->transport.destination_port;
}

/* Where the ports are behind a plain IP header; 0 if there is another. */
static size_t ports_at(const struct nf_bytes *bytes)
{
	if (bytes->protocol == ETHERTYPE_IPV4 && bytes->net[0] >> 4 == 4)
		return (size_t)(bytes->net[0] & 0xf) * 4;
	return bytes->protocol == ETHERTYPE_IPV6 && bytes->net[6] == IPPROTO_TCP ? 40 : 0;
}

/* Tells most packets of other flows without parsing them. */
static bool can_be_same_flow(const struct nf_bytes *one, const struct nf_bytes *other)
{
	bool ipv4 = one->protocol == ETHERTYPE_IPV4;
	size_t addresses = ipv4 ? 12 : 8, ports = ports_at(one);

	if (!ports || ports != ports_at(other) || one->protocol != other->protocol)
		return true;
	return !memcmp(one->net + ports, other->net + ports, 4) &&
	       !memcmp(one->net + addresses, other->net + addresses, ipv4 ? 8 : 32);
}

const struct nf_drop_record *missing_find(struct recent *drops,
					  const struct nf_journey_record *journey)
{
	uint64_t filled_ns = journey->stage_ns[NF_STAGE_GAP_FILLED];
	const struct nf_record *record;
	struct packet waited, dropped;

	if (!filled_ns || !journey->missing)
		return NULL;
	packet_parse(&journey->bytes, &waited);
	if (!is_segment(&waited))
		return NULL;
	for (size_t i = 0; i < MISSING_RECORDS && (record = recent_newest(drops, i)); i++) {
		const struct nf_drop_record *drop = (const struct nf_drop_record *)record;

		if (!(drop->flags & NF_DROP_L4) || drop->l4 != IPPROTO_TCP ||
		    record->time_ns > filled_ns || record->time_ns + MISSING_NS < filled_ns ||
		    !can_be_same_flow(&journey->bytes, &drop->bytes))
			continue;
		packet_parse(&drop->bytes, &dropped);
		if (!is_segment(&dropped) || !is_same_flow(&waited, &dropped) ||
		    journey->missing - dropped.transport.sequence >= dropped.transport.payload)
			continue;
		return drop;
	}
	return NULL;
}
