/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Types DropRecord and Drops. */
#include "daemon/core/drop.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/records.h"
#include "common/cleanup.h"
#include "common/json.h"
#include "common/knowledge.h"
#include "common/time.h"
#include "daemon/core/evidence.h"
#include "daemon/core/owner.h"
#include "daemon/json/internal.h"
#include "daemon/json/json.h"
#include "daemon/rows/drop_cause.h"
#include "daemon/rows/drop_row.h"

static json_t *candidates(const struct verdict *verdict)
{
	json_t *list = json_array();

	for (size_t i = 0; i < verdict->candidates; i++) {
		const struct knowledge_case *one = verdict->candidate[i];
		struct fill f = fill_new();

		fill_foreign(&f, "reason", one->reason);
		fill_text(&f, "class", knowledge_class_name(one->class));
		fill_append(&list, f.object);
	}
	return list;
}

static void fill_reason(struct fill *f, const struct cause *cause)
{
	const struct verdict *verdict = &cause->verdict;

	fill_foreign(f, "reason", verdict->reason);
	fill_bool(f, "inferred", verdict->inferred);
	if (verdict->inferred)
		fill_foreign(f, "kernel_reason", cause->kernel_reason);
	if (cause->has_reason)
		fill_int(f, "reason_number", cause->reason);
	fill_foreign(f, "subsystem", cause->subsystem);
	if (verdict->candidates)
		fill_put(f, "candidates", candidates(verdict));
}

static void fill_location(struct fill *f, const struct cause *cause)
{
	fill_foreign(f, "location", cause->location);
	if (cause->verdict.function[0])
		fill_foreign(f, "function", cause->verdict.function);
}

static void fill_evidence(struct fill *f, uint64_t evidence)
{
	const char *words[EVIDENCE_WORDS_MAX];
	size_t count = evidence_words(evidence & ~NF_EVIDENCE_KNOWN, words, EVIDENCE_WORDS_MAX);
	json_t *list;

	if (!(evidence & NF_EVIDENCE_KNOWN))
		return;
	list = json_array();
	for (size_t i = 0; i < count; i++)
		fill_append(&list, json_string(words[i]));
	fill_put(f, "evidence", list);
}

/* What only a whole cause has, not the sum of several. */
static void fill_cause(struct fill *f, const struct cause *cause)
{
	fill_reason(f, cause);
	fill_text(f, "class", knowledge_class_name(cause->verdict.class));
	fill_evidence(f, cause->evidence);
	fill_location(f, cause);
}

static json_t *stack(const struct drop *drop)
{
	json_t *lines = json_array();

	for (size_t i = 0; i < drop->stack_count; i++)
		fill_append(&lines, json_text(drop->stack[i], SIZE_MAX));
	return lines;
}

json_t *json_drop_record(const struct drop *drop)
{
	struct fill f = fill_new();

	fill_time(&f, "time", drop->time_ns);
	fill_cause(&f, &drop->cause);
	fill_device(&f, &drop->device);
	fill_int(&f, "cpu", drop->cpu);
	if (!(drop->contents.bytes->flags & NF_BYTES_UNKNOWN))
		fill_int(&f, "length_bytes", drop->contents.bytes->len);
	fill_known(&f, "segments", drop->contents.bytes->segments);
	fill_contents(&f, &drop->contents);
	fill_task(&f, drop->task, drop->involved_unknown ? NULL : &drop->involved);
	fill_owner(&f, drop->owner);
	if (drop->stack_count)
		fill_put(&f, "stack", stack(drop));
	fill_header(&f, drop->contents.bytes);
	return f.object;
}

/* ---- rows ---------------------------------------------------------------- */

static json_t *row_candidates(const char *text)
{
	OWN_FREE char *copy = strdup(text);
	json_t *list = copy ? json_array() : NULL;
	const char *reason, *class;
	char *rest = copy;

	while (drop_candidate(&rest, &reason, &class)) {
		struct fill f = fill_new();

		fill_foreign(&f, "reason", reason);
		fill_foreign(&f, "class", class);
		fill_append(&list, f.object);
	}
	return list;
}

static void fill_row_reason(struct fill *f, const struct drop_key *key)
{
	fill_foreign(f, "reason", key->reason);
	fill_bool(f, "inferred", key->inferred);
	fill_foreign(f, "kernel_reason", key->kernel_reason);
	if (key->numbered)
		fill_int(f, "reason_number", key->reason_number);
	fill_foreign(f, "subsystem", key->subsystem);
	if (key->candidates)
		fill_put(f, "candidates", row_candidates(key->candidates));
}

static void fill_row_owner(struct fill *f, const struct drop_key *key)
{
	const struct owner owner = {.cgroup = key->cgroup,
				    .unit = key->unit,
				    .container = key->container,
				    .pod = key->pod,
				    .by_netns = key->by_netns};

	fill_known(f, "cgroup_id", key->cgroup_id);
	fill_owner(f, key->cgroup ? &owner : NULL);
}

static void fill_row_cause(struct fill *f, const struct drop_row *row, unsigned int fields)
{
	const struct drop_key *key = &row->key;

	if (fields & DROP_REASON)
		fill_row_reason(f, key);
	fill_text(f, "class", knowledge_class_name((enum knowledge_class)key->class));
	if (key->message)
		fill_bool(f, "message", true);
	if (fields & DROP_EVIDENCE)
		fill_evidence(f, row->evidence);
	if (fields & DROP_LOCATION) {
		fill_foreign(f, "location", key->location);
		fill_foreign(f, "function", key->function);
	}
	if (fields & DROP_DEVICE) {
		fill_bytes(f, "device", key->device.name, NF_DEVICE_NAME);
		fill_known(f, "ifindex", key->device.ifindex);
	}
	if (fields & DROP_NETNS) {
		fill_known(f, "netns", key->device.netns);
		fill_foreign(f, "netns_name", key->device.netns_name);
	}
	if (fields & DROP_PROTOCOL)
		fill_foreign(f, "protocol", key->protocol);
	if (fields & DROP_CGROUP)
		fill_row_owner(f, key);
	if (fields & DROP_FLOW)
		fill_foreign(f, "flow", key->flow);
	if (row->lost & DROP_GONE)
		fill_bool(f, "gone", true);
	if (row->lost & DROP_UNKEYED)
		fill_bool(f, "unkeyed", true);
	if (row->lost & DROP_COARSE)
		fill_bool(f, "coarse", true);
}

json_t *json_drop_cause(const struct drop_row *row, unsigned int fields)
{
	struct fill f = fill_new();

	fill_row_cause(&f, row, drop_row_fields(row, fields));
	return f.object;
}

json_t *json_drop_row(const struct drop_row *row, unsigned int fields)
{
	OWN_FREE char *cause = drop_cause_text(row, drop_row_fields(row, fields));
	struct fill f = {cause ? json_drop_cause(row, fields) : NULL};
	char text[TIME_TEXT_MAX];

	fill_foreign(&f, "cause", cause);
	fill_int(&f, "packets", row->packets);
	if (!row->unmeasured) {
		fill_int(&f, "segments", row->segments);
		fill_int(&f, "bytes", row->bytes);
	}
	time_format_realtime(row->last_ns, text);
	fill_text(&f, "last", text);
	return f.object;
}
