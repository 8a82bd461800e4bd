/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Types DropRecord and Drops. */
#include "daemon/core/names.h"
#include "daemon/core/packet.h"
#include "daemon/json/internal.h"
#include "daemon/json/json.h"
#include "daemon/kernel/symbols.h"

static void put_reason(struct fill *f, uint32_t reason, const struct names *names)
{
	fill_text(f, "reason", names_reason(names, reason));
	fill_int(f, "reason_number", reason);
	fill_text(f, "subsystem", names_subsystem(names, reason));
	fill_text(f, "class", json_reason_class(reason, names));
}

static void put_location(struct fill *f, uint64_t address, const struct symbols *symbols)
{
	char text[SYMBOLS_TEXT_MAX];

	symbols_format(symbols, address, text, sizeof(text));
	fill_put(f, "location", json_text(text, sizeof(text)));
}

/* ---- drop records -------------------------------------------------------- */

/* Entries of stack[] that the record has, and that its size covers. */
static size_t stack_entries(const struct nf_drop_record *record)
{
	size_t room;

	if (record->header.size <= NF_DROP_RECORD_PLAIN)
		return 0;
	room = (record->header.size - NF_DROP_RECORD_PLAIN) / sizeof(record->stack[0]);
	if (room > NF_DROP_STACK_MAX)
		room = NF_DROP_STACK_MAX;
	return record->stack_len < room ? record->stack_len : room;
}

/*
 * The first entry of the stack that is the kernel's own: before the caller of
 * kfree_skb, which the record names, stand the tracepoint and the program.
 */
static size_t stack_start(const struct nf_drop_record *record, size_t entries)
{
	for (size_t i = 0; i < entries; i++)
		if (record->stack[i] == record->location)
			return i;
	return 0;
}

static json_t *stack(const struct nf_drop_record *record, size_t entries,
		     const struct symbols *symbols)
{
	char text[SYMBOLS_TEXT_MAX];
	json_t *lines = json_array();

	for (size_t i = stack_start(record, entries); i < entries; i++) {
		symbols_format(symbols, record->stack[i], text, sizeof(text));
		fill_append(&lines, json_text(text, sizeof(text)));
	}
	return lines;
}

json_t *json_drop_record(const struct nf_drop_record *record, const struct names *names,
			 const struct symbols *symbols)
{
	struct fill f = fill_new();
	struct packet packet;
	size_t entries = stack_entries(record);

	packet_parse(&record->bytes, &packet);
	fill_time(&f, "time", record->header.time_ns);
	if (record->flags & NF_DROP_REASON)
		put_reason(&f, record->reason, names);
	put_location(&f, record->location, symbols);
	fill_bytes(&f, "device", record->device, sizeof(record->device));
	fill_known(&f, "ifindex", record->ifindex);
	fill_known(&f, "netns", record->netns);
	fill_int(&f, "cpu", record->header.cpu);
	fill_int(&f, "length_bytes", record->bytes.len);
	fill_protocol(&f, record->bytes.protocol, record->flags & NF_DROP_L4, record->l4);
	fill_packet(&f, &packet);
	fill_task(&f, &record->task, record->flags & NF_DROP_TASK);
	if (entries)
		fill_put(&f, "stack", stack(record, entries, symbols));
	fill_header(&f, &record->bytes);
	return f.object;
}

/* ---- drop counters ------------------------------------------------------- */

json_t *json_drops(const struct json_drops *row, const struct names *names,
		   const struct symbols *symbols)
{
	const struct nf_drop_key *key = &row->key;
	struct fill f = fill_new();

	if (row->fields & JSON_DROPS_REASON)
		put_reason(&f, key->reason, names);
	if (row->fields & JSON_DROPS_LOCATION)
		put_location(&f, key->location, symbols);
	if (row->fields & JSON_DROPS_DEVICE) {
		fill_bytes(&f, "device", row->device, NF_DEVICE_NAME);
		fill_known(&f, "ifindex", key->ifindex);
	}
	if (row->fields & JSON_DROPS_NETNS)
		fill_known(&f, "netns", key->netns);
	if (row->fields & JSON_DROPS_PROTOCOL)
		fill_protocol(&f, key->protocol, key->flags & NF_KEY_L4, key->l4);
	fill_text(&f, "flow", row->flow);
	fill_int(&f, "packets", row->packets);
	fill_int(&f, "bytes", row->bytes);
	fill_time(&f, "last", row->last_ns);
	return f.object;
}
