/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/store/resolve.h"

#include "common/knowledge.h"
#include "daemon/core/names.h"
#include "daemon/kernel/attribution.h"
#include "daemon/kernel/symbols.h"

_Static_assert(LOCATION_TEXT_MAX >= SYMBOLS_TEXT_MAX, "a location fits");
_Static_assert(sizeof(((struct owner *)0)->unit) >= ATTRIBUTION_UNIT_MAX, "a unit fits");
_Static_assert(sizeof(((struct owner *)0)->container) >= ATTRIBUTION_CONTAINER_MAX,
	       "a container fits");

/* ---- parts --------------------------------------------------------------- */

void resolve_cause(struct cause *cause, const struct resolver *resolver, bool has_reason,
		   uint32_t reason, uint64_t location)
{
	const char *name = names_reason(resolver->names, reason);
	const struct knowledge *entry = name ? knowledge_reason(name) : NULL;

	cause->has_reason = has_reason;
	cause->reason = reason;
	cause->name = name;
	cause->subsystem = names_subsystem(resolver->names, reason);
	cause->class = entry ? knowledge_class_name(entry->class) : NULL;
	cause->intended = entry && entry->class != KNOWLEDGE_FAULT;
	symbols_format(resolver->symbols, location, cause->location, sizeof(cause->location));
}

/* The upper protocol as the packet's own headers have it. */
static void read_contents(struct contents *contents, const struct nf_bytes *bytes)
{
	packet_parse(bytes, &contents->packet);
	if (!packet_flow(&contents->packet, contents->flow))
		contents->flow[0] = '\0';
	packet_protocol(bytes->protocol, contents->packet.parts & PACKET_L4,
			contents->packet.ip.protocol, contents->protocol);
}

static void read_owner(struct owner *owner, const char *cgroup)
{
	owner->cgroup = cgroup;
	if (!cgroup || !attribution_unit(cgroup, owner->unit))
		owner->unit[0] = '\0';
	if (!cgroup || !attribution_container(cgroup, owner->container))
		owner->container[0] = '\0';
}

/* ---- drops --------------------------------------------------------------- */

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
 * The first entry that is the kernel's own.  The tracepoint and the program
 * come before the caller of kfree_skb, which the record names.
 */
static size_t stack_start(const struct nf_drop_record *record, size_t entries)
{
	for (size_t i = 0; i < entries; i++)
		if (record->stack[i] == record->location)
			return i;
	return 0;
}

static void read_stack(struct drop *drop, const struct symbols *symbols)
{
	const struct nf_drop_record *record = drop->record;
	size_t entries = stack_entries(record);

	drop->stack_len = 0;
	for (size_t i = stack_start(record, entries); i < entries; i++)
		symbols_format(symbols, record->stack[i], drop->stack[drop->stack_len++],
			       LOCATION_TEXT_MAX);
}

void resolve_drop(struct drop *drop, const struct nf_drop_record *record,
		  const struct captured *captured, const struct resolver *resolver)
{
	drop->record = record;
	resolve_cause(&drop->cause, resolver, record->flags & NF_DROP_REASON, record->reason,
		      record->location);
	read_contents(&drop->contents, &record->bytes);
	/* The program knows the upper protocol even where the bytes were not recorded. */
	packet_protocol(record->bytes.protocol, record->flags & NF_DROP_L4, record->l4,
			drop->contents.protocol);
	drop->netns_name = captured->netns[0];
	read_stack(drop, resolver->symbols);
}

/* ---- journeys and transmits ---------------------------------------------- */

int resolve_journey(struct journey *journey, const struct nf_path_record *record,
		    const struct captured *captured, const struct resolver *resolver)
{
	int r = path_read(&journey->path, record, resolver->probes);

	if (r < 0)
		return r;
	journey->record = record;
	journey->has_contents = record->bytes.len || record->bytes.net_len;
	if (journey->has_contents)
		read_contents(&journey->contents, &record->bytes);
	journey->devices = record->devices < NF_PATH_DEVICES ? record->devices : NF_PATH_DEVICES;
	for (size_t i = 0; i < journey->devices; i++)
		journey->netns_name[i] = captured->netns[i];
	read_owner(&journey->owner, captured->cgroup);
	return 0;
}

void resolve_transmit(struct transmit *transmit, const struct nf_slots_record *record,
		      const struct captured *captured)
{
	transmit->record = record;
	read_contents(&transmit->contents, &record->bytes);
	transmit->netns_name = captured->netns[0];
}
