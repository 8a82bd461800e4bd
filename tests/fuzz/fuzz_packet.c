/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzes the packet parser, the texts and the JSON of a drop record with arbitrary bytes.
 *
 * The input is the record in the layout of struct nf_drop_record, padded with zeros.  The record is
 * copied to memory of exactly the size in its header, so that ASan detects a read past its end.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/records.h"
#include "daemon/core/names.h"
#include "daemon/core/packet.h"
#include "daemon/json/json.h"
#include "tests/unit/daemon/store/resolved.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct names *reasons(void)
{
	static struct names *names;

	if (!names &&
	    (names_new(&names) < 0 || names_add_reason(names, 3, "SKB_DROP_REASON_NO_SOCKET") < 0))
		abort();
	return names;
}

/* Copies the input to memory of the size in its header.  The caller frees the copy. */
static struct nf_drop_record *copy_record(const uint8_t *data, size_t size)
{
	struct nf_drop_record record = {0};
	struct nf_drop_record *copy;

	memcpy(&record, data, size < sizeof(record) ? size : sizeof(record));
	if (record.header.size < NF_DROP_RECORD_PLAIN)
		record.header.size = NF_DROP_RECORD_PLAIN;
	if (record.header.size > sizeof(record))
		record.header.size = sizeof(record);
	copy = malloc(record.header.size);
	if (!copy)
		abort();
	memcpy(copy, &record, record.header.size);
	return copy;
}

/* Checks conditions that hold for every packet. */
static void check_packet(const struct packet *packet)
{
	unsigned int parts = packet->parts;

	assert(packet->vlans <= PACKET_VLANS);
	if (parts & ~(unsigned int)(PACKET_ETHERNET | PACKET_ARP))
		assert(parts & PACKET_IP);
	if (parts & PACKET_IP)
		assert(packet->ip.version == 4 || packet->ip.version == 6);
	if (parts & (PACKET_PORTS | PACKET_ICMP))
		assert(parts & PACKET_L4 && !packet->ip.fragment);
	if (parts & PACKET_FLAGS)
		assert(parts & PACKET_ACKNOWLEDGEMENT);
	if (parts & PACKET_ACKNOWLEDGEMENT)
		assert(parts & PACKET_SEQUENCE);
	if (parts & PACKET_SEQUENCE)
		assert(parts & PACKET_PORTS);
	assert(!(parts & PACKET_PORTS && parts & PACKET_ICMP));
	assert(!(parts & PACKET_ARP && parts & PACKET_IP));
}

/* With one byte less, the parser must not find more parts, and known values must not change. */
static void check_shorter(const struct nf_drop_record *record, const struct packet *packet)
{
	struct nf_drop_record *shorter = copy_record((const uint8_t *)record, record->header.size);
	struct packet less;

	if (shorter->bytes.net_len > NF_NET_MAX)
		shorter->bytes.net_len = NF_NET_MAX;
	if (shorter->bytes.net_len) {
		shorter->bytes.net_len--;
		packet_parse(&shorter->bytes, &less);
		assert(!(less.parts & ~packet->parts));
		if (less.parts & PACKET_PORTS)
			assert(less.transport.source_port == packet->transport.source_port);
	}
	free(shorter);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nf_drop_record *record = copy_record(data, size);
	char flow[PACKET_FLOW_MAX], protocol[PACKET_PROTOCOL_MAX];
	struct packet packet;
	json_t *object;

	packet_parse(&record->bytes, &packet);
	check_packet(&packet);
	check_shorter(record, &packet);
	if (packet_flow(&packet, flow))
		assert(strlen(flow) > 0 && strlen(flow) < sizeof(flow) - 1);
	packet_protocol(record->bytes.protocol, record->flags & NF_DROP_L4, record->l4, protocol);
	assert(strlen(protocol) < sizeof(protocol) - 1);

	object = resolved_drop_json(record, reasons(), NULL);
	assert(object);
	assert(!!json_object_get(object, "ip") == !!(packet.parts & PACKET_IP));
	json_decref(object);
	free(record);
	return 0;
}
