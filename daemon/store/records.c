/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/store/records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/core/drop.h"
#include "daemon/core/journey.h"
#include "daemon/core/names.h"
#include "daemon/core/reason.h"
#include "daemon/core/transmit.h"
#include "daemon/store/captures.h"
#include "daemon/store/missing.h"
#include "daemon/store/recent.h"
#include "daemon/store/resolve.h"

struct records {
	const struct names *names;
	struct captures *captures;
	struct resolver *resolver;
	struct recent *recent[RECORDS_KINDS];
};

/* The capture of a drop record or a slots record. */
struct device_capture {
	struct captured *netns;
	struct captured *owner; /* of a drop; otherwise NULL */
};

/* A drop record, which its own store can give up, without its stack. */
struct kept_drop {
	struct nf_drop_record record;
	struct device_capture names;
};

/* The capture of a latency record. */
struct journey_capture {
	struct captured *netns[NF_JOURNEY_DEVICES];
	struct captured *owner;
	struct kept_drop *missing; /* the segment that was missing; NULL: not known */
};

/* ---- life ---------------------------------------------------------------- */

static void release_device(void *userdata, void *capture)
{
	const struct records *records = userdata;
	const struct device_capture *device = capture;

	captures_release(records->captures, device->netns);
	captures_release(records->captures, device->owner);
}

static void release_journey(void *userdata, void *capture)
{
	const struct records *records = userdata;
	const struct journey_capture *captured = capture;

	for (size_t i = 0; i < NF_JOURNEY_DEVICES; i++)
		captures_release(records->captures, captured->netns[i]);
	captures_release(records->captures, captured->owner);
	if (captured->missing)
		release_device(userdata, &captured->missing->names);
	free(captured->missing);
}

static const struct recent_layout layouts[RECORDS_KINDS] = {
	[RECORDS_DROPS] = {sizeof(struct nf_drop_record), NF_DROP_RECORD_PLAIN,
			   sizeof(struct device_capture), release_device},
	[RECORDS_LATENCY] = {sizeof(struct nf_journey_record), sizeof(struct nf_journey_record),
			     sizeof(struct journey_capture), release_journey},
	[RECORDS_SLOTS] = {sizeof(struct nf_slots_record), sizeof(struct nf_slots_record),
			   sizeof(struct device_capture), release_device},
};

int records_new(struct records **records, const size_t capacity[static RECORDS_KINDS],
		const struct records_sources *sources)
{
	OWN_RECORDS struct records *fresh = calloc(1, sizeof(*fresh));
	int r;

	if (!fresh)
		return -ENOMEM;
	fresh->names = sources->names;
	r = captures_new(&fresh->captures, sources->attribution);
	if (r < 0)
		return r;
	r = resolver_new(&fresh->resolver, sources->names, sources->symbols);
	for (int i = 0; i < RECORDS_KINDS && r == 0; i++)
		r = recent_new(&fresh->recent[i], capacity[i], &layouts[i], fresh);
	if (r < 0)
		return r;
	*records = TAKE_PTR(fresh);
	return 0;
}

void records_free(struct records **records)
{
	struct records *old = *records;

	if (!old)
		return;
	for (int i = 0; i < RECORDS_KINDS; i++)
		recent_free(&old->recent[i]);
	resolver_free(&old->resolver);
	captures_free(&old->captures);
	free(old);
	*records = NULL;
}

void records_settle(struct records *records)
{
	captures_settle(records->captures, CAPTURES_SETTLE_NS);
}

void records_settle_soon(struct records *records)
{
	_Static_assert(RECORDS_PAUSE_NS == CAPTURES_PAUSE_NS, "one pause");
	captures_settle(records->captures, CAPTURES_SOON_NS);
}

bool records_wait(const struct records *records)
{
	return captures_has_new(records->captures);
}

void records_forget_symbols(struct records *records)
{
	resolver_forget_symbols(records->resolver);
}

void records_set_probes(struct records *records, const struct stage_probes *probes)
{
	resolver_set_probes(records->resolver, probes);
}

/* ---- adding -------------------------------------------------------------- */

/* The owner of the socket or the task or, without them, of the namespace. */
static struct captured *capture_owner(struct records *records, uint64_t cgroup, uint32_t netns_id,
				      uint32_t netns)
{
	if (cgroup)
		return captures_owner(records->captures, cgroup);
	return captures_netns_owner(records->captures, netns_id, netns);
}

/* Capture before another record is replaced, because the new one often has the same names. */
static void add_with_device(struct records *records, enum record_kind kind,
			    const struct nf_record *record, const struct share_cause *cause,
			    uint32_t netns_id, uint32_t netns, uint64_t cgroup)
{
	struct device_capture device = {.netns =
						captures_netns(records->captures, netns_id, netns)};

	if (kind == RECORDS_DROPS)
		device.owner = capture_owner(records, cgroup, netns_id, netns);
	recent_add(records->recent[kind], record, cause, &device);
}

void records_add_drop(struct records *records, const struct nf_drop_record *record)
{
	/* Drops at one location can have several causes, which the evidence distinguishes. */
	const struct share_cause cause = {
		.group = {record->location,
			  record->evidence * UINT64_C(0x9e3779b97f4a7c15) ^ record->reason},
		.member = record->netns_id};

	add_with_device(records, RECORDS_DROPS, &record->header, &cause, record->netns_id,
			record->netns, record->cgroup);
}

/* Overflows, near misses and packets that are too long have a group for each outcome. */
void records_add_transmit(struct records *records, const struct nf_slots_record *record)
{
	const struct share_cause cause = {
		.group = {record->outcome, (uint64_t) !!(record->flags & NF_SLOTS_TOO_BIG) << 1 |
						   (record->slots > record->limit)},
		.member = NF_DEVICE_KEY(record->netns_id, record->ifindex)};

	add_with_device(records, RECORDS_SLOTS, &record->header, &cause, record->netns_id,
			record->netns, 0);
}

/* The stage that the skb waited for longest. */
static enum nf_stage slowest_stage(const struct nf_journey_record *record)
{
	enum nf_stage slowest = NF_STAGE_COUNT;
	uint64_t last_ns = 0, longest_ns = 0;

	for (enum nf_stage i = 0; i < NF_STAGE_COUNT; i++) {
		uint64_t ns = record->stage_ns[i];

		if (!ns)
			continue;
		if (last_ns && ns > last_ns && ns - last_ns > longest_ns) {
			longest_ns = ns - last_ns;
			slowest = i;
		}
		last_ns = ns;
	}
	return slowest;
}

/* The drop of the segment for which the journey waited; NULL: this host did not drop it, or has no memory. */
static struct kept_drop *keep_missing(struct records *records,
				      const struct nf_journey_record *journey)
{
	const struct nf_drop_record *drop = missing_find(records->recent[RECORDS_DROPS], journey);
	struct kept_drop *kept = drop ? calloc(1, sizeof(*kept)) : NULL;

	if (!kept)
		return NULL;
	memcpy(&kept->record, drop, NF_DROP_RECORD_PLAIN);
	kept->record.header.size = NF_DROP_RECORD_PLAIN;
	kept->names = (struct device_capture){
		.netns = captures_netns(records->captures, drop->netns_id, drop->netns),
		.owner = capture_owner(records, drop->cgroup, drop->netns_id, drop->netns)};
	return kept;
}

void records_add_journey(struct records *records, const struct nf_journey_record *record)
{
	size_t devices =
		record->devices < NF_JOURNEY_DEVICES ? record->devices : NF_JOURNEY_DEVICES;
	const struct nf_journey_device *last = devices ? &record->device[devices - 1] : NULL;
	struct share_cause cause = {
		.group = {slowest_stage(record), record->flags & NF_JOURNEY_SLOW},
		.member = last ? NF_DEVICE_KEY(last->netns_id, last->ifindex) : 0};
	struct journey_capture captured = {.owner = capture_owner(records, record->cgroup,
								  last ? last->netns_id : 0,
								  last ? last->netns : 0),
					   .missing = keep_missing(records, record)};

	for (size_t i = 0; i < devices; i++)
		captured.netns[i] = captures_netns(records->captures, record->device[i].netns_id,
						   record->device[i].netns);
	recent_add(records->recent[RECORDS_LATENCY], &record->header, &cause, &captured);
}

/* ---- reading ------------------------------------------------------------- */

size_t records_count(const struct records *records, enum record_kind kind)
{
	return recent_count(records->recent[kind]);
}

size_t records_capacity(const struct records *records, enum record_kind kind)
{
	return recent_capacity(records->recent[kind]);
}

size_t records_causes(const struct records *records, enum record_kind kind)
{
	return recent_causes(records->recent[kind]);
}

size_t records_names(const struct records *records)
{
	return captures_count(records->captures);
}

uint64_t records_added(const struct records *records, enum record_kind kind)
{
	return recent_added(records->recent[kind]);
}

uint64_t records_sequence(const struct records *records, enum record_kind kind, size_t i)
{
	return recent_sequence(records->recent[kind], i);
}

uint64_t records_time(const struct records *records, enum record_kind kind, size_t i)
{
	const struct nf_record *record = recent_newest(records->recent[kind], i);

	return record ? record->time_ns : 0;
}

static const char *netns_of(const struct records *records, enum record_kind kind, size_t i)
{
	const struct device_capture *device = recent_capture(records->recent[kind], i);

	return captures_netns_name(device->netns);
}

int records_drop(struct records *records, size_t i, struct drop *drop)
{
	const struct nf_record *record = recent_newest(records->recent[RECORDS_DROPS], i);
	const struct device_capture *captured = recent_capture(records->recent[RECORDS_DROPS], i);

	if (!record)
		return -ENOENT;
	resolve_drop(records->resolver, (const struct nf_drop_record *)record,
		     netns_of(records, RECORDS_DROPS, i), captures_owner_names(captured->owner),
		     drop);
	return 0;
}

int records_journey(struct records *records, size_t i, struct journey *journey)
{
	const struct journey_capture *captured =
		recent_capture(records->recent[RECORDS_LATENCY], i);
	const struct nf_record *record = recent_newest(records->recent[RECORDS_LATENCY], i);
	const char *netns_names[NF_JOURNEY_DEVICES];
	const struct kept_drop *missing;
	int r;

	if (!record)
		return -ENOENT;
	for (size_t j = 0; j < NF_JOURNEY_DEVICES; j++)
		netns_names[j] = captures_netns_name(captured->netns[j]);
	r = resolve_journey(records->resolver, (const struct nf_journey_record *)record,
			    netns_names, captures_owner_names(captured->owner), journey);
	missing = captured->missing;
	if (r == 0 && missing)
		resolve_missing(records->resolver, &missing->record,
				captures_netns_name(missing->names.netns),
				captures_owner_names(missing->names.owner), journey);
	return r;
}

int records_transmit(struct records *records, size_t i, struct transmit *transmit)
{
	const struct nf_record *record = recent_newest(records->recent[RECORDS_SLOTS], i);

	if (!record)
		return -ENOENT;
	resolve_transmit(records->resolver, (const struct nf_slots_record *)record,
			 netns_of(records, RECORDS_SLOTS, i), transmit);
	return 0;
}

int records_get(struct records *records, enum record_kind kind, size_t i, struct record *record)
{
	record->kind = kind;
	switch (kind) {
	case RECORDS_DROPS:
		return records_drop(records, i, &record->drop);
	case RECORDS_LATENCY:
		return records_journey(records, i, &record->journey);
	default:
		return records_transmit(records, i, &record->transmit);
	}
}

void records_cause(struct records *records, bool has_reason, const struct nf_drop_key *key,
		   struct cause *cause)
{
	resolve_cause(records->resolver, has_reason, key, cause);
}

int records_find_reason(const struct records *records, const char *text,
			struct reason_wanted *reason, const char **nearest)
{
	return reason_read(reason, records->names, text, nearest);
}
