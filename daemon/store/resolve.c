/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/store/resolve.h"

#include <errno.h>

#include "daemon/core/names.h"
#include "daemon/store/locations.h"

struct resolver {
	const struct names *names;
	struct locations *locations;
	struct stage_probes probes;
};

int resolver_new(struct resolver **resolver, const struct names *names,
		 const struct symbols *symbols)
{
	OWN_RESOLVER struct resolver *fresh = calloc(1, sizeof(*fresh));
	int r;

	if (!fresh)
		return -ENOMEM;
	fresh->names = names;
	r = locations_new(&fresh->locations, symbols);
	if (r < 0)
		return r;
	*resolver = TAKE_PTR(fresh);
	return 0;
}

void resolver_free(struct resolver **resolver)
{
	if (!*resolver)
		return;
	locations_free(&(*resolver)->locations);
	free(*resolver);
	*resolver = NULL;
}

void resolver_set_probes(struct resolver *resolver, const struct stage_probes *probes)
{
	resolver->probes = *probes;
}

void resolver_forget_symbols(struct resolver *resolver)
{
	locations_forget(resolver->locations);
}

/*
 * The entries that the array at the end of a record has and that header.size covers.  `plain`: bytes of a record
 * without entries; `size`: bytes of an entry; `max`: entries of the array; `count`: entries that the record claims.
 */
static size_t entries_of(const struct nf_record *header, size_t plain, size_t size, size_t max,
			 size_t count)
{
	size_t room = header->size > plain ? (header->size - plain) / size : 0;

	if (room > max)
		room = max;
	return count < room ? count : room;
}

/* 0: the device is not known. */
static uint64_t identity_of(uint32_t netns_id, uint32_t device_id)
{
	return device_id ? NF_DEVICE_KEY(netns_id, device_id) : 0;
}

/* ---- drops --------------------------------------------------------------- */

/* Of the key, only reason, location and evidence count. */
static void name_cause(struct resolver *resolver, bool has_reason, const struct nf_drop_key *key,
		       struct cause *cause)
{
	*cause = (struct cause){
		.has_reason = has_reason,
		.reason = key->reason,
		.evidence = key->evidence,
		.location = locations_text(resolver->locations, key->location),
	};
	if (has_reason) {
		cause->kernel_reason = names_reason(resolver->names, key->reason);
		cause->subsystem = names_subsystem(resolver->names, key->reason);
	}
	verdict_of(&cause->verdict, cause->location, cause->kernel_reason, key->evidence);
	if (cause->verdict.inferred && cause->verdict.knowledge)
		cause->subsystem = cause->verdict.knowledge->subject;
}

void resolve_cause(struct resolver *resolver, bool has_reason, const struct nf_drop_key *key,
		   struct cause *cause)
{
	locations_begin(resolver->locations, 1);
	name_cause(resolver, has_reason, key, cause);
}

/*
 * The first entry of the stack that belongs to the kernel itself.  The entries before the caller of kfree_skb, which
 * the record names, are the tracepoint and the program.
 */
static size_t stack_start(const struct nf_drop_record *record, size_t entries)
{
	for (size_t i = 0; i < entries; i++)
		if (record->stack[i] == record->location)
			return i;
	return 0;
}

static void name_stack(struct resolver *resolver, const struct nf_drop_record *record,
		       struct drop *drop)
{
	size_t entries = entries_of(&record->header, NF_DROP_RECORD_PLAIN, sizeof(record->stack[0]),
				    NF_DROP_STACK_MAX, record->stack_len);

	drop->stack_count = 0;
	for (size_t i = stack_start(record, entries); i < entries; i++)
		drop->stack[drop->stack_count++] =
			locations_text(resolver->locations, record->stack[i]);
}

void resolve_drop(struct resolver *resolver, const struct nf_drop_record *record,
		  const char *netns_name, const struct owner *owner, struct drop *drop)
{
	const struct nf_drop_key key = {.location = record->location,
					.reason = record->reason,
					.evidence = record->evidence};

	_Static_assert(NF_DROP_STACK_MAX + 1 <= LOCATIONS_AT_ONCE, "room for a stack");
	drop->time_ns = record->header.time_ns;
	drop->cpu = record->header.cpu;
	locations_begin(resolver->locations, NF_DROP_STACK_MAX + 1);
	name_cause(resolver, record->flags & NF_DROP_REASON, &key, &drop->cause);
	name_stack(resolver, record, drop);
	drop->device = (struct device){.name = record->device,
				       .ifindex = record->ifindex,
				       .identity = identity_of(record->netns_id, record->device_id),
				       .netns = record->netns,
				       .netns_id = record->netns_id,
				       .netns_name = netns_name};
	contents_read_l4(&drop->contents, &record->bytes, record->flags & NF_DROP_L4, record->l4);
	drop->task = &record->task;
	drop->involved = record->flags & NF_DROP_TASK;
	drop->involved_unknown = record->flags & NF_DROP_TASK_UNKNOWN;
	drop->owner = owner;
}

/* ---- journeys ------------------------------------------------------------ */

static void name_devices(const struct nf_journey_record *record, const char *const netns_names[],
			 struct journey *journey)
{
	journey->devices =
		record->devices < NF_JOURNEY_DEVICES ? record->devices : NF_JOURNEY_DEVICES;
	for (size_t i = 0; i < journey->devices; i++)
		journey->device[i] =
			(struct device){.name = record->device[i].name,
					.ifindex = record->device[i].ifindex,
					.netns = record->device[i].netns,
					.netns_id = record->device[i].netns_id,
					.identity = identity_of(record->device[i].netns_id,
								record->device[i].device_id),
					.netns_name = netns_names[i]};
}

int resolve_journey(struct resolver *resolver, const struct nf_journey_record *record,
		    const char *const netns_names[static NF_JOURNEY_DEVICES],
		    const struct owner *owner, struct journey *journey)
{
	int r = stages_read(&journey->stages, record, &resolver->probes);

	if (r < 0)
		return r;
	journey->time_ns = record->header.time_ns;
	journey->cpu = record->header.cpu;
	journey->outcome = (enum nf_outcome)record->outcome;
	journey->slow = record->flags & NF_JOURNEY_SLOW;
	journey->weight_shift = record->weight_shift;
	name_devices(record, netns_names, journey);
	journey->more_devices = record->flags & NF_JOURNEY_MORE;
	journey->has_contents = record->bytes.len || record->bytes.net_len;
	contents_read(&journey->contents, &record->bytes);
	journey->merged = record->merged;
	journey->task = record->flags & NF_JOURNEY_TASK ? &record->task : NULL;
	journey->owner = owner;
	journey->has_missing = false;
	return 0;
}

void resolve_missing(struct resolver *resolver, const struct nf_drop_record *record,
		     const char *netns_name, const struct owner *owner, struct journey *journey)
{
	resolve_drop(resolver, record, netns_name, owner, &journey->missing);
	journey->has_missing = true;
}

/* ---- transmits ----------------------------------------------------------- */

void resolve_transmit(struct resolver *resolver, const struct nf_slots_record *record,
		      const char *netns_name, struct transmit *transmit)
{
	(void)resolver;
	*transmit = (struct transmit){
		.time_ns = record->header.time_ns,
		.cpu = record->header.cpu,
		.outcome = (enum nf_slots_outcome)record->outcome,
		.too_big = record->flags & NF_SLOTS_TOO_BIG,
		.xen = record->flags & NF_SLOTS_XEN,
		.involved = record->flags & NF_SLOTS_TASK,
		.has_offload = record->flags & NF_SLOTS_FEATURES,
		.sg = record->flags & NF_SLOTS_SG,
		.gso = record->flags & NF_SLOTS_GSO,
		.tso = record->flags & NF_SLOTS_TSO,
		.slots = record->slots,
		.limit = record->limit,
		.length = record->len,
		.head_offset = record->head_offset,
		.head_length = record->head_len,
		.frags = entries_of(&record->header, NF_SLOTS_RECORD_PLAIN, sizeof(record->frag[0]),
				    NF_FRAGS_MAX, record->frags),
		.frag = record->frag,
		.gso_size = record->gso_size,
		.gso_segs = record->gso_segs,
		.device = {.name = record->device,
			   .ifindex = record->ifindex,
			   .netns = record->netns,
			   .netns_id = record->netns_id,
			   .identity = identity_of(record->netns_id, record->device_id),
			   .netns_name = netns_name},
		.task = &record->task,
	};
	contents_read(&transmit->contents, &record->bytes);
}
