/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/store/records.h"

#include <errno.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/time.h"
#include "daemon/kernel/attribution.h"
#include "daemon/store/labels.h"
#include "daemon/store/recent.h"
#include "daemon/store/resolve.h"

/* A new name is seen a second late, and among thousands some calls later (kernel/attribution.h). */
#define YOUNG_NS (3 * TIME_NS_PER_SECOND)

struct records {
	struct resolver resolver;
	struct path_probes probes;
	struct attribution *attribution;
	struct labels *labels;
	struct recent *recent[RECORD_KINDS];
};

/* ---- capturing ----------------------------------------------------------- */

static void release(void *attached, void *userdata)
{
	const struct captured *captured = attached;
	struct records *records = userdata;

	for (size_t i = 0; i < NF_PATH_DEVICES; i++)
		labels_release(records->labels, captured->netns[i]);
	labels_release(records->labels, captured->cgroup);
}

static void capture_netns(struct records *records, const char **label, uint32_t inode)
{
	char name[ATTRIBUTION_NETNS_MAX];

	if (!*label && inode)
		*label = labels_hold(records->labels,
				     attribution_netns(records->attribution, inode, name));
}

static void capture_cgroup(struct records *records, const char **label, uint64_t id)
{
	char path[ATTRIBUTION_CGROUP_MAX];

	if (!*label && id)
		*label = labels_hold(records->labels,
				     attribution_cgroup(records->attribution, id, path));
}

/* What `captured` lacks; the same whether the record is new or young. */
static void capture(struct records *records, enum record_kind kind, struct captured *captured,
		    const struct nf_record *header)
{
	const struct nf_drop_record *drop = (const struct nf_drop_record *)header;
	const struct nf_path_record *journey = (const struct nf_path_record *)header;
	const struct nf_slots_record *transmit = (const struct nf_slots_record *)header;

	if (!records->attribution)
		return;
	if (kind == RECORD_DROP)
		capture_netns(records, &captured->netns[0], drop->netns);
	if (kind == RECORD_TRANSMIT)
		capture_netns(records, &captured->netns[0], transmit->netns);
	if (kind != RECORD_JOURNEY)
		return;
	for (size_t i = 0; i < journey->devices && i < NF_PATH_DEVICES; i++)
		capture_netns(records, &captured->netns[i], journey->device[i].netns);
	capture_cgroup(records, &captured->cgroup, journey->cgroup);
}

static void add(struct records *records, enum record_kind kind, const struct nf_record *header)
{
	capture(records, kind, recent_add(records->recent[kind], header),
		recent_newest(records->recent[kind], 0));
}

void records_add_drop(struct records *records, const struct nf_drop_record *record)
{
	add(records, RECORD_DROP, &record->header);
}

void records_add_journey(struct records *records, const struct nf_path_record *record)
{
	add(records, RECORD_JOURNEY, &record->header);
}

void records_add_transmit(struct records *records, const struct nf_slots_record *record)
{
	add(records, RECORD_TRANSMIT, &record->header);
}

void records_retry(struct records *records)
{
	uint64_t now = time_monotonic();

	for (int kind = 0; kind < RECORD_KINDS; kind++) {
		struct recent *recent = records->recent[kind];

		for (size_t i = 0; i < recent_count(recent); i++) {
			const struct nf_record *header = recent_newest(recent, i);

			if (header->time_ns + YOUNG_NS < now)
				break;
			capture(records, kind, recent_attached(recent, i), header);
		}
	}
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

uint64_t records_time(const struct records *records, enum record_kind kind, size_t i)
{
	return recent_newest(records->recent[kind], i)->time_ns;
}

void records_drop(const struct records *records, size_t i, struct drop *drop)
{
	const struct recent *recent = records->recent[RECORD_DROP];

	resolve_drop(drop, (const struct nf_drop_record *)recent_newest(recent, i),
		     recent_attached(recent, i), &records->resolver);
}

int records_journey(const struct records *records, size_t i, struct journey *journey)
{
	const struct recent *recent = records->recent[RECORD_JOURNEY];

	return resolve_journey(journey, (const struct nf_path_record *)recent_newest(recent, i),
			       recent_attached(recent, i), &records->resolver);
}

void records_transmit(const struct records *records, size_t i, struct transmit *transmit)
{
	const struct recent *recent = records->recent[RECORD_TRANSMIT];

	resolve_transmit(transmit, (const struct nf_slots_record *)recent_newest(recent, i),
			 recent_attached(recent, i));
}

void records_cause(const struct records *records, struct cause *cause, bool has_reason,
		   uint32_t reason, uint64_t location)
{
	resolve_cause(cause, &records->resolver, has_reason, reason, location);
}

/* ---- life ---------------------------------------------------------------- */

void records_set_probes(struct records *records, const struct path_probes *probes)
{
	records->probes = *probes;
}

static void cleanup_records(struct records **records)
{
	records_free(records);
}

#define OWN_RECORDS CLEANUP(cleanup_records)

int records_new(struct records **records, const struct records_settings *settings)
{
	static const size_t sizes[RECORD_KINDS] = {
		[RECORD_DROP] = sizeof(struct nf_drop_record),
		[RECORD_JOURNEY] = sizeof(struct nf_path_record),
		[RECORD_TRANSMIT] = sizeof(struct nf_slots_record),
	};
	OWN_RECORDS struct records *fresh = calloc(1, sizeof(*fresh));
	int r;

	if (!fresh)
		return -ENOMEM;
	fresh->attribution = settings->attribution;
	fresh->resolver = (struct resolver){
		.names = settings->names,
		.symbols = settings->symbols,
		.probes = &fresh->probes,
	};
	r = labels_new(&fresh->labels);
	for (int kind = 0; kind < RECORD_KINDS && r == 0; kind++)
		r = recent_new_attached(&fresh->recent[kind], settings->capacity[kind], sizes[kind],
					sizeof(struct captured), release, fresh);
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
	for (int kind = 0; kind < RECORD_KINDS; kind++)
		recent_free(&old->recent[kind]);
	labels_free(&old->labels);
	free(old);
	*records = NULL;
}
