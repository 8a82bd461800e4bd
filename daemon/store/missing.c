/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/store/missing.h"

#include <netinet/in.h>
#include <string.h>

#include "daemon/core/packet.h"
#include "daemon/store/recent.h"

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
	for (size_t i = 0; (record = recent_newest(drops, i)); i++) {
		const struct nf_drop_record *drop = (const struct nf_drop_record *)record;

		/* Records are not quite in the order of their times. */
		if (record->time_ns + 2 * MISSING_NS < filled_ns)
			break;
		if (!(drop->flags & NF_DROP_L4) || drop->l4 != IPPROTO_TCP ||
		    record->time_ns > filled_ns || record->time_ns + MISSING_NS < filled_ns)
			continue;
		packet_parse(&drop->bytes, &dropped);
		if (!is_segment(&dropped) || !is_same_flow(&waited, &dropped) ||
		    journey->missing - dropped.transport.sequence >= dropped.transport.payload)
			continue;
		return drop;
	}
	return NULL;
}
