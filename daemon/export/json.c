/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/export/json.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/core/histogram.h"
#include "daemon/core/names.h"
#include "daemon/core/packet.h"
#include "daemon/core/symbols.h"
#include "daemon/util/time.h"

/*
 * An object that is being filled.  The first member that does not fit makes it
 * NULL; members after that are dropped, so only the end needs a look.
 */
struct filling {
	json_t *object;
};

static struct filling fill(void)
{
	return (struct filling){json_object()};
}

/* Takes `value` over.  NULL means that memory ran out. */
static void put(struct filling *f, const char *key, json_t *value)
{
	if (!f->object) {
		json_decref(value);
	} else if (json_object_set_new(f->object, key, value) != 0) {
		json_decref(f->object);
		f->object = NULL;
	}
}

static void put_int(struct filling *f, const char *key, uint64_t value)
{
	put(f, key, json_integer(value <= INT64_MAX ? (json_int_t)value : INT64_MAX));
}

/* For numbers of which 0 says that there is none. */
static void put_known(struct filling *f, const char *key, uint64_t value)
{
	if (value)
		put_int(f, key, value);
}

/* `text` is ours, hence valid; NULL is left out. */
static void put_text(struct filling *f, const char *key, const char *text)
{
	if (text)
		put(f, key, json_string(text));
}

/* Bytes of others; nothing is left out. */
static void put_bytes(struct filling *f, const char *key, const char *bytes, size_t max)
{
	if (bytes && max && bytes[0])
		put(f, key, json_text(bytes, max));
}

static void put_time(struct filling *f, const char *key, uint64_t monotonic_ns)
{
	char text[TIME_TEXT_MAX];

	time_format(monotonic_ns, text);
	put_text(f, key, text);
}

static void put_reason(struct filling *f, uint32_t reason, const struct names *names)
{
	put_text(f, "reason", names_reason(names, reason));
	put_int(f, "reason_number", reason);
	put_text(f, "subsystem", names_subsystem(names, reason));
}

static void put_location(struct filling *f, uint64_t address, const struct symbols *symbols)
{
	char text[SYMBOLS_TEXT_MAX];

	symbols_format(symbols, address, text, sizeof(text));
	put(f, "location", json_text(text, sizeof(text)));
}

static void put_protocol(struct filling *f, uint16_t ethertype, bool l4_known, uint8_t l4)
{
	char text[PACKET_PROTOCOL_MAX];

	packet_protocol(ethertype, l4_known, l4, text);
	put_text(f, "protocol", text);
}

/* ---- text ---------------------------------------------------------------- */

/*
 * Bytes of the UTF-8 character at `p`, 0 when it is none; table 3-7 of the
 * Unicode standard, which leaves out overlong forms, surrogates and what is
 * above U+10FFFF by bounds for the second byte.
 */
static size_t utf8_bytes(const unsigned char *p, size_t len)
{
	unsigned char low = 0x80, high = 0xbf;
	size_t bytes;

	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	bytes = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	if (p[0] == 0xe0)
		low = 0xa0;
	else if (p[0] == 0xed)
		high = 0x9f;
	else if (p[0] == 0xf0)
		low = 0x90;
	else if (p[0] == 0xf4)
		high = 0x8f;
	if (len < bytes || p[1] < low || p[1] > high)
		return 0;
	for (size_t i = 2; i < bytes; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return bytes;
}

json_t *json_text(const char *bytes, size_t max)
{
	static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */
	const unsigned char *p = (const unsigned char *)bytes;
	size_t len = strnlen(bytes, max), out = 0;
	char *clean = malloc(len * 3 + 1);
	json_t *text;

	if (!clean)
		return NULL;
	for (size_t i = 0; i < len;) {
		size_t n = utf8_bytes(p + i, len - i);

		memcpy(clean + out, n ? bytes + i : replacement, n ? n : 3);
		out += n ? n : 3;
		i += n ? n : 1;
	}
	text = json_stringn_nocheck(clean, out);
	free(clean);
	return text;
}

static void hex(const uint8_t *bytes, size_t len, char *text)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++) {
		*text++ = digits[bytes[i] >> 4];
		*text++ = digits[bytes[i] & 0xf];
	}
	*text = '\0';
}

/* ---- a packet ------------------------------------------------------------ */

static void put_mac(struct filling *f, const char *key, const uint8_t mac[static 6])
{
	char text[18];

	snprintf(text, sizeof(text), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2],
		 mac[3], mac[4], mac[5]);
	put_text(f, key, text);
}

static json_t *ethernet(const struct packet_ethernet *e)
{
	struct filling f = fill();

	put_mac(&f, "source", e->source);
	put_mac(&f, "destination", e->destination);
	put_int(&f, "type", e->type);
	return f.object;
}

static json_t *vlan(const struct packet_vlan *v)
{
	struct filling f = fill();

	put_int(&f, "protocol", v->protocol);
	put_int(&f, "id", v->id);
	put_int(&f, "priority", v->priority);
	return f.object;
}

static void put_address(struct filling *f, const char *key, uint8_t version, const uint8_t *address)
{
	char text[INET6_ADDRSTRLEN];

	inet_ntop(version == 4 ? AF_INET : AF_INET6, address, text, sizeof(text));
	put_text(f, key, text);
}

static json_t *ip(const struct packet *packet)
{
	const struct packet_ip *i = &packet->ip;
	struct filling f = fill();

	put_int(&f, "version", i->version);
	put_address(&f, "source", i->version, i->source);
	put_address(&f, "destination", i->version, i->destination);
	put_int(&f, "ttl", i->ttl);
	put_int(&f, "protocol", i->protocol);
	if (packet->parts & PACKET_LENGTH)
		put_int(&f, "length_bytes", i->length);
	put(&f, "fragment", json_boolean(i->fragment));
	return f.object;
}

static json_t *tcp_flags(uint8_t flags)
{
	static const struct {
		uint8_t bit;
		const char *name;
	} table[] = {
		{0x02, "SYN"}, {0x10, "ACK"}, {0x01, "FIN"}, {0x04, "RST"},
		{0x08, "PSH"}, {0x20, "URG"}, {0x40, "ECE"}, {0x80, "CWR"},
	};
	json_t *names = json_array();

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (!(flags & table[i].bit))
			continue;
		if (json_array_append_new(names, json_string(table[i].name)) != 0) {
			json_decref(names);
			return NULL;
		}
	}
	return names;
}

static json_t *transport(const struct packet *packet)
{
	const struct packet_transport *t = &packet->transport;
	struct filling f = fill();

	put_int(&f, "source_port", t->source_port);
	put_int(&f, "destination_port", t->destination_port);
	if (packet->parts & PACKET_FLAGS)
		put(&f, "flags", tcp_flags(t->flags));
	if (packet->parts & PACKET_SEQUENCE)
		put_int(&f, "sequence", t->sequence);
	if (packet->parts & PACKET_ACKNOWLEDGEMENT)
		put_int(&f, "acknowledgement", t->acknowledgement);
	return f.object;
}

static json_t *icmp(const struct packet *packet)
{
	struct filling f = fill();

	put_int(&f, "type", packet->icmp_type);
	put_int(&f, "code", packet->icmp_code);
	return f.object;
}

static void put_packet(struct filling *f, const struct packet *packet)
{
	char flow[PACKET_FLOW_MAX];

	if (packet_flow(packet, flow))
		put_text(f, "flow", flow);
	if (packet->parts & PACKET_ETHERNET)
		put(f, "ethernet", ethernet(&packet->ethernet));
	if (packet->vlans)
		put(f, "vlan", vlan(&packet->vlan[0]));
	if (packet->parts & PACKET_IP)
		put(f, "ip", ip(packet));
	if (packet->parts & PACKET_PORTS)
		put(f, "transport", transport(packet));
	if (packet->parts & PACKET_ICMP)
		put(f, "icmp", icmp(packet));
}

/* ---- drop records -------------------------------------------------------- */

static json_t *task(const struct nf_drop_record *record)
{
	struct filling f = fill();

	put_int(&f, "pid", record->pid);
	put_int(&f, "tid", record->tid);
	put(&f, "comm", json_text(record->comm, sizeof(record->comm)));
	put(&f, "involved", json_boolean(record->flags & NF_DROP_TASK));
	return f.object;
}

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
		if (json_array_append_new(lines, json_text(text, sizeof(text))) != 0) {
			json_decref(lines);
			return NULL;
		}
	}
	return lines;
}

static void put_header(struct filling *f, const struct nf_drop_record *record)
{
	char text[2 * NF_DROP_HEADER_MAX + 1];
	size_t len = record->net_len;

	if (len > NF_DROP_HEADER_MAX)
		len = NF_DROP_HEADER_MAX;
	if (!len)
		return;
	hex(record->net, len, text);
	put_text(f, "header", text);
}

json_t *json_drop_record(const struct nf_drop_record *record, const struct names *names,
			 const struct symbols *symbols)
{
	struct filling f = fill();
	struct packet packet;
	size_t entries = stack_entries(record);

	packet_parse(record, &packet);
	put_time(&f, "time", record->header.time_ns);
	if (record->flags & NF_DROP_REASON)
		put_reason(&f, record->reason, names);
	put_location(&f, record->location, symbols);
	put_bytes(&f, "device", record->device, sizeof(record->device));
	put_known(&f, "ifindex", record->ifindex);
	put_known(&f, "netns", record->netns);
	put_int(&f, "cpu", record->header.cpu);
	put_int(&f, "length_bytes", record->len);
	put_protocol(&f, record->protocol, record->flags & NF_DROP_L4, record->l4);
	put_packet(&f, &packet);
	put(&f, "task", task(record));
	if (entries)
		put(&f, "stack", stack(record, entries, symbols));
	put_header(&f, record);
	return f.object;
}

/* ---- drop counters ------------------------------------------------------- */

json_t *json_drops(const struct json_drops *row, const struct names *names,
		   const struct symbols *symbols)
{
	const struct nf_drop_key *key = &row->key;
	struct filling f = fill();

	if (row->fields & JSON_DROPS_REASON)
		put_reason(&f, key->reason, names);
	if (row->fields & JSON_DROPS_LOCATION)
		put_location(&f, key->location, symbols);
	if (row->fields & JSON_DROPS_DEVICE) {
		put_bytes(&f, "device", row->device, NF_DEVICE_NAME);
		put_known(&f, "ifindex", key->ifindex);
	}
	if (row->fields & JSON_DROPS_NETNS)
		put_known(&f, "netns", key->netns);
	if (row->fields & JSON_DROPS_PROTOCOL)
		put_protocol(&f, key->protocol, key->flags & NF_KEY_L4, key->l4);
	put_text(&f, "flow", row->flow);
	put_int(&f, "packets", row->packets);
	put_int(&f, "bytes", row->bytes);
	put_time(&f, "last", row->last_ns);
	return f.object;
}

/* ---- latency ------------------------------------------------------------- */

static const struct {
	const char *direction;
	const char *name;
} segments[NF_SEGMENT_COUNT] = {
	[NF_SEGMENT_IRQ_TO_SOFTIRQ] = {"rx", "irq→softirq"},
	[NF_SEGMENT_SOFTIRQ_TO_RECEIVE] = {"rx", "softirq→receive"},
	[NF_SEGMENT_RECEIVE_TO_COPY] = {"rx", "receive→copy"},
	[NF_SEGMENT_RX_TOTAL] = {"rx", "total"},
	[NF_SEGMENT_QUEUE_TO_START] = {"tx", "queue→start_xmit"},
	[NF_SEGMENT_START_TO_XMIT] = {"tx", "start_xmit→xmit"},
	[NF_SEGMENT_XMIT_TO_FREE] = {"tx", "xmit→free"},
};

const char *json_segment_direction(enum nf_segment segment)
{
	return segments[segment].direction;
}

const char *json_segment_name(enum nf_segment segment)
{
	return segments[segment].name;
}

static json_t *bucket(unsigned int index, uint64_t count)
{
	struct histogram_bounds bounds = histogram_bounds(index);
	struct filling f = fill();

	put_int(&f, "from_ns", bounds.from);
	put_int(&f, "below_ns", bounds.below);
	put_int(&f, "count", count);
	return f.object;
}

static json_t *buckets(const struct nf_hist *hist)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < NF_HIST_BUCKETS; i++) {
		if (!hist->bucket[i])
			continue;
		if (json_array_append_new(list, bucket(i, hist->bucket[i])) != 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static void put_quantiles(struct filling *f, const struct nf_hist *hist)
{
	static const struct {
		const char *key;
		double q;
	} quantiles[] = {{"p50_ns", 0.5}, {"p90_ns", 0.9}, {"p99_ns", 0.99}, {"p999_ns", 0.999}};
	uint64_t ns;

	for (size_t i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++)
		if (histogram_quantile(hist, quantiles[i].q, &ns) == 0)
			put_int(f, quantiles[i].key, ns);
}

json_t *json_latency(enum nf_segment segment, const struct json_device *device,
		     const struct nf_hist *hist)
{
	struct filling f = fill();
	double mean;

	put_text(&f, "direction", json_segment_direction(segment));
	put_text(&f, "segment", json_segment_name(segment));
	if (device) {
		put_bytes(&f, "device", device->name, NF_DEVICE_NAME);
		put_known(&f, "ifindex", device->ifindex);
		put_known(&f, "netns", device->netns);
	}
	put_int(&f, "count", histogram_count(hist));
	if (histogram_mean(hist, &mean) == 0) {
		put(&f, "mean_ns", json_real(mean));
		put_int(&f, "max_ns", hist->max_ns);
	}
	put_quantiles(&f, hist);
	put(&f, "buckets", buckets(hist));
	return f.object;
}
