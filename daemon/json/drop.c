/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Types DropRecord and Drops. */
#include "daemon/core/drop.h"

#include <stdint.h>

#include "bpf/records.h"
#include "common/cleanup.h"
#include "common/json.h"
#include "common/knowledge.h"
#include "daemon/core/evidence.h"
#include "daemon/json/internal.h"
#include "daemon/json/json.h"

static json_t *candidates(const struct verdict *verdict)
{
	json_t *list = json_array();

	for (size_t i = 0; i < verdict->candidates; i++) {
		const struct knowledge_case *one = verdict->candidate[i];
		struct fill f = fill_new();

		fill_text(&f, "reason", one->reason);
		fill_text(&f, "class", knowledge_class_name(one->class));
		fill_append(&list, f.object);
	}
	return list;
}

static void fill_reason(struct fill *f, const struct cause *cause)
{
	const struct verdict *verdict = &cause->verdict;

	fill_text(f, "reason", verdict->reason);
	fill_bool(f, "inferred", verdict->inferred);
	if (verdict->inferred)
		fill_text(f, "kernel_reason", cause->kernel_reason);
	if (cause->has_reason)
		fill_int(f, "reason_number", cause->reason);
	fill_text(f, "subsystem", cause->subsystem);
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

json_t *json_drops(const struct json_drops *row)
{
	struct fill f = fill_new();

	if (row->fields & JSON_DROPS_REASON)
		fill_reason(&f, row->cause);
	fill_text(&f, "class", knowledge_class_name(row->cause->verdict.class));
	if (row->cause->verdict.message)
		fill_bool(&f, "message", true);
	if (row->fields & JSON_DROPS_EVIDENCE)
		fill_evidence(&f, row->cause->evidence);
	if (row->fields & JSON_DROPS_LOCATION)
		fill_location(&f, row->cause);
	if (row->fields & JSON_DROPS_DEVICE) {
		fill_bytes(&f, "device", row->device.name, NF_DEVICE_NAME);
		fill_known(&f, "ifindex", row->device.ifindex);
	}
	if (row->fields & JSON_DROPS_NETNS)
		fill_known(&f, "netns", row->device.netns);
	if (row->fields & JSON_DROPS_PROTOCOL)
		fill_text(&f, "protocol", row->protocol);
	if (row->fields & JSON_DROPS_CGROUP) {
		fill_known(&f, "cgroup_id", row->cgroup);
		fill_owner(&f, row->owner);
	}
	fill_text(&f, "flow", row->flow);
	if (row->gone)
		fill_bool(&f, "gone", true);
	if (row->unkeyed)
		fill_bool(&f, "unkeyed", true);
	if (row->coarse)
		fill_bool(&f, "coarse", true);
	fill_int(&f, "packets", row->packets);
	if (!row->unmeasured) {
		fill_int(&f, "segments", row->segments);
		fill_int(&f, "bytes", row->bytes);
	}
	fill_time(&f, "last", row->last_ns);
	return f.object;
}
