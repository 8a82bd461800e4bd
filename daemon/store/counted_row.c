/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/store/counted_row.h"

#include "common/texts.h"
#include "common/time.h"
#include "daemon/core/packet.h"
#include "daemon/probe/backend.h"
#include "daemon/rows/drop_row.h"

void counted_row_set(struct drop_row *row, const struct backend_drops *drops, struct texts *texts)
{
	const struct nf_drop_key *from = &drops->key;
	char protocol[PACKET_PROTOCOL_MAX];
	struct drop_key *key = &row->key;

	packet_drop_protocol(from->protocol, from->flags, from->l4, protocol);
	key->protocol = texts_keep(texts, protocol, sizeof(protocol));
	if (drops->device[0])
		key->device.name = texts_keep(texts, drops->device, sizeof(drops->device));
	if (!from->location)
		key->location = key->function = NULL;
	key->device.ifindex = drops->ifindex;
	key->device.netns = drops->netns;
	key->device.netns_id = from->netns;
	key->device.identity = drops->identity;
	key->cgroup_id = from->cgroup;
	row->evidence = from->evidence;
	row->lost = (uint8_t)((drops->gone ? DROP_GONE : 0) | (drops->unkeyed ? DROP_UNKEYED : 0) |
			      (from->flags & NF_KEY_COARSE ? DROP_COARSE : 0));
	row->packets = drops->packets;
	row->segments = drops->segments;
	row->bytes = drops->bytes;
	row->unmeasured = drops->unmeasured;
	row->last_ns = (int64_t)time_realtime_of(drops->last_ns);
}
