/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The members that records of packets share. */
#include <arpa/inet.h>
#include <stdio.h>

#include "common/array.h"
#include "daemon/core/contents.h"
#include "daemon/core/device.h"
#include "daemon/core/owner.h"
#include "daemon/json/internal.h"
#include "daemon/json/json.h"

static void put_mac(struct fill *f, const char *key, const uint8_t mac[static 6])
{
	char text[18];

	snprintf(text, sizeof(text), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2],
		 mac[3], mac[4], mac[5]);
	fill_text(f, key, text);
}

static json_t *ethernet(const struct packet_ethernet *e)
{
	struct fill f = fill_new();

	put_mac(&f, "source", e->source);
	put_mac(&f, "destination", e->destination);
	fill_int(&f, "type", e->type);
	return f.object;
}

static json_t *vlan(const struct packet_vlan *v)
{
	struct fill f = fill_new();

	fill_int(&f, "protocol", v->protocol);
	fill_int(&f, "id", v->id);
	fill_int(&f, "priority", v->priority);
	return f.object;
}

static void put_address(struct fill *f, const char *key, uint8_t version, const uint8_t *address)
{
	char text[INET6_ADDRSTRLEN];

	inet_ntop(version == 4 ? AF_INET : AF_INET6, address, text, sizeof(text));
	fill_text(f, key, text);
}

static json_t *ip(const struct packet *packet)
{
	const struct packet_ip *i = &packet->ip;
	struct fill f = fill_new();

	fill_int(&f, "version", i->version);
	put_address(&f, "source", i->version, i->source);
	put_address(&f, "destination", i->version, i->destination);
	fill_int(&f, "ttl", i->ttl);
	fill_int(&f, "protocol", i->protocol);
	if (packet->parts & PACKET_LENGTH)
		fill_int(&f, "length_bytes", i->length);
	fill_bool(&f, "fragment", i->fragment);
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

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (flags & table[i].bit)
			fill_append(&names, json_string(table[i].name));
	return names;
}

static json_t *transport(const struct packet *packet)
{
	const struct packet_transport *t = &packet->transport;
	struct fill f = fill_new();

	fill_int(&f, "source_port", t->source_port);
	fill_int(&f, "destination_port", t->destination_port);
	if (packet->parts & PACKET_FLAGS)
		fill_put(&f, "flags", tcp_flags(t->flags));
	if (packet->parts & PACKET_SEQUENCE)
		fill_int(&f, "sequence", t->sequence);
	if (packet->parts & PACKET_ACKNOWLEDGEMENT)
		fill_int(&f, "acknowledgement", t->acknowledgement);
	return f.object;
}

static json_t *icmp(const struct packet *packet)
{
	struct fill f = fill_new();

	fill_int(&f, "type", packet->icmp_type);
	fill_int(&f, "code", packet->icmp_code);
	return f.object;
}

void fill_contents(struct fill *f, const struct contents *contents)
{
	const struct packet *packet = &contents->packet;

	fill_foreign(f, "protocol", contents->protocol);
	if (contents->flow[0])
		fill_text(f, "flow", contents->flow);
	if (packet->parts & PACKET_ETHERNET)
		fill_put(f, "ethernet", ethernet(&packet->ethernet));
	if (packet->vlans)
		fill_put(f, "vlan", vlan(&packet->vlan[0]));
	if (packet->parts & PACKET_IP)
		fill_put(f, "ip", ip(packet));
	if (packet->parts & PACKET_PORTS)
		fill_put(f, "transport", transport(packet));
	if (packet->parts & PACKET_ICMP)
		fill_put(f, "icmp", icmp(packet));
}

void fill_device(struct fill *f, const struct device *device)
{
	fill_bytes(f, "device", device->name, NF_DEVICE_NAME);
	fill_known(f, "ifindex", device->ifindex);
	fill_known(f, "netns", device->netns);
	fill_foreign(f, "netns_name", device->netns_name);
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

void fill_header(struct fill *f, const struct nf_bytes *bytes)
{
	char text[2 * NF_NET_MAX + 1];
	size_t len = bytes->net_len < NF_NET_MAX ? bytes->net_len : NF_NET_MAX;

	if (!len)
		return;
	hex(bytes->net, len, text);
	fill_text(f, "header", text);
}

void fill_task(struct fill *f, const struct nf_task *task, const bool *involved)
{
	struct fill out = fill_new();

	/* Trace events name the thread only. */
	if (task->pid || !task->tid)
		fill_int(&out, "pid", task->pid);
	fill_int(&out, "tid", task->tid);
	fill_put(&out, "comm", json_text(task->comm, sizeof(task->comm)));
	if (involved)
		fill_bool(&out, "involved", *involved);
	fill_put(f, "task", out.object);
}

void fill_owner(struct fill *f, const struct owner *owner)
{
	struct fill names;

	if (!owner)
		return;
	names = fill_new();
	fill_foreign(&names, "cgroup", owner->cgroup);
	fill_foreign(&names, "unit", owner->unit);
	fill_foreign(&names, "container", owner->container);
	fill_foreign(&names, "pod", owner->pod);
	if (owner->by_netns)
		fill_bool(&names, "by_netns", true);
	fill_put(f, "owner", names.object);
}
