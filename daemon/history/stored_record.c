/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/history/stored_record.h"

#include <errno.h>
#include <string.h>

#include "common/array.h"
#include "common/time.h"
#include "daemon/history/fields.h"
#include "daemon/history/place_key.h"

/* Of the largest list in a field: that of an owner has the path of a cgroup. */
#define PART_MAX 8192

/* Numbers of fields are part of the file's format, each list has its own. */

#define FIELDS(table) table, ARRAY_SIZE(table)

/* ---- parts -------------------------------------------------------------------------- */

static const struct field device_fields[] = {
	FIELD_TEXT_OF(1, struct device, name),	     FIELD_NUMBER_OF(2, struct device, ifindex),
	FIELD_NUMBER_OF(3, struct device, netns),    FIELD_TEXT_OF(4, struct device, netns_name),
	FIELD_NUMBER_OF(5, struct device, netns_id), FIELD_NUMBER_OF(6, struct device, identity),
};

enum { BYTES_L2 = 10, BYTES_NET };

static const struct field bytes_fields[] = {
	FIELD_NUMBER_OF(1, struct nf_bytes, len),
	FIELD_NUMBER_OF(2, struct nf_bytes, protocol),
	FIELD_NUMBER_OF(3, struct nf_bytes, vlan_proto),
	FIELD_NUMBER_OF(4, struct nf_bytes, vlan_tci),
	FIELD_NUMBER_OF(5, struct nf_bytes, flags),
	FIELD_NUMBER_OF(6, struct nf_bytes, segments),
};

enum { TASK_COMM = 3 };

static const struct field task_fields[] = {
	FIELD_NUMBER_OF(1, struct nf_task, pid),
	FIELD_NUMBER_OF(2, struct nf_task, tid),
};

static const struct field owner_fields[] = {
	FIELD_TEXT_OF(1, struct owner, cgroup),
	FIELD_NUMBER_OF(2, struct owner, by_netns),
};

static const struct field candidate_fields[] = {
	FIELD_TEXT_OF(1, struct knowledge_case, reason),
	FIELD_NUMBER_OF(2, struct knowledge_case, class),
};

/* A stage that the skb passed, with its age at the end, or one that is missing, with the reason. */
struct stage_part {
	const char *name, *reason;
	uint64_t age_ns;
};

static const struct field stage_fields[] = {
	FIELD_TEXT_OF(1, struct stage_part, name),
	FIELD_NUMBER_OF(2, struct stage_part, age_ns),
	FIELD_TEXT_OF(3, struct stage_part, reason),
};

static const struct field frag_fields[] = {
	FIELD_NUMBER_OF(1, struct nf_slots_frag, offset),
	FIELD_NUMBER_OF(2, struct nf_slots_frag, size),
};

static void put_part(struct fields_output *out, uint8_t id, const struct field *fields,
		     size_t count, const void *from)
{
	uint8_t bytes[PART_MAX];
	struct fields_output part = {.bytes = bytes, .room = sizeof(bytes)};

	fields_put(&part, fields, count, from);
	out->full |= part.full;
	fields_put_bytes(out, id, bytes, part.size);
}

/* With the keys that identify it after a reboot, too. */
static void put_device(struct fields_output *out, uint8_t id, const struct device *from)
{
	char name[NF_DEVICE_NAME + 1] = "";
	struct device device = *from;

	if (from->name)
		memcpy(name, from->name, strnlen(from->name, NF_DEVICE_NAME));
	device.name = from->name ? name : NULL;
	place_keys(&device, from->identity);
	put_part(out, id, FIELDS(device_fields), &device);
}

static void put_packet(struct fields_output *out, uint8_t id, const struct nf_bytes *from)
{
	uint8_t bytes[PART_MAX];
	struct fields_output part = {.bytes = bytes, .room = sizeof(bytes)};

	fields_put(&part, FIELDS(bytes_fields), from);
	if (from->l2_len)
		fields_put_bytes(&part, BYTES_L2, from->l2,
				 from->l2_len < NF_L2_MAX ? from->l2_len : NF_L2_MAX);
	if (from->net_len)
		fields_put_bytes(&part, BYTES_NET, from->net,
				 from->net_len < NF_NET_MAX ? from->net_len : NF_NET_MAX);
	fields_put_bytes(out, id, bytes, part.size);
}

static int read_packet(struct nf_bytes *packet, const struct field_value *of)
{
	struct fields_input in = {.bytes = of->bytes, .size = of->size};
	struct field_value value;
	int r;

	while ((r = fields_next(&in, &value)) > 0) {
		bool l2 = value.id == BYTES_L2, net = value.id == BYTES_NET;

		if (value.kind != FIELD_BYTES || (!l2 && !net)) {
			if (fields_set(FIELDS(bytes_fields), packet, &value) < 1)
				return -EBADMSG;
			continue;
		}
		if (value.size > (l2 ? NF_L2_MAX : NF_NET_MAX))
			return -EBADMSG;
		memcpy(l2 ? packet->l2 : packet->net, value.bytes, value.size);
		*(l2 ? &packet->l2_len : &packet->net_len) = (uint8_t)value.size;
	}
	return r;
}

static void put_task(struct fields_output *out, uint8_t id, const struct nf_task *task)
{
	uint8_t bytes[PART_MAX];
	struct fields_output part = {.bytes = bytes, .room = sizeof(bytes)};
	char comm[sizeof(task->comm) + 1] = "";

	memcpy(comm, task->comm, sizeof(task->comm));
	fields_put(&part, FIELDS(task_fields), task);
	fields_put_text(&part, TASK_COMM, comm);
	fields_put_bytes(out, id, bytes, part.size);
}

static int read_task(struct nf_task *task, const struct field_value *of)
{
	struct fields_input in = {.bytes = of->bytes, .size = of->size};
	struct field_value value;
	int r;

	while ((r = fields_next(&in, &value)) > 0)
		if (value.id == TASK_COMM && value.kind == FIELD_TEXT)
			memcpy(task->comm, value.text, strnlen(value.text, sizeof(task->comm)));
		else if (fields_set(FIELDS(task_fields), task, &value) < 1)
			return -EBADMSG;
	return r;
}

static int read_owner(struct stored_parts *parts, const struct field_value *of)
{
	struct owner *owner = &parts->owner;
	int r = fields_read(FIELDS(owner_fields), owner, of->bytes, of->size);

	if (r < 0 || !owner->cgroup)
		return -EBADMSG;
	owner_of_cgroup(owner, owner->cgroup, owner->by_netns, &parts->owner_names);
	return 0;
}

/* ---- drops -------------------------------------------------------------------------- */

enum {
	DROP_DEVICE = 30,
	DROP_FUNCTION,
	DROP_CANDIDATE,
	DROP_STACK,
	DROP_PACKET,
	DROP_PROTOCOL,
	DROP_TASK,
	DROP_OWNER,
};

static const struct field drop_fields[] = {
	FIELD_NUMBER_OF(1, struct drop, cpu),
	FIELD_NUMBER_OF(2, struct drop, cause.has_reason),
	FIELD_NUMBER_OF(3, struct drop, cause.reason),
	FIELD_TEXT_OF(4, struct drop, cause.kernel_reason),
	FIELD_TEXT_OF(5, struct drop, cause.subsystem),
	FIELD_NUMBER_OF(6, struct drop, cause.evidence),
	FIELD_TEXT_OF(7, struct drop, cause.location),
	FIELD_TEXT_OF(8, struct drop, cause.verdict.reason),
	FIELD_NUMBER_OF(9, struct drop, cause.verdict.inferred),
	FIELD_NUMBER_OF(10, struct drop, cause.verdict.message),
	FIELD_NUMBER_OF(11, struct drop, cause.verdict.class),
	FIELD_NUMBER_OF(12, struct drop, involved),
	FIELD_NUMBER_OF(13, struct drop, involved_unknown),
	FIELD_NUMBER_OF(14, struct drop, time_ns), /* how long before the end */
};

static void write_drop(struct fields_output *out, const struct drop *drop, uint64_t end_ns)
{
	const struct verdict *verdict = &drop->cause.verdict;
	struct drop copy = *drop;

	copy.time_ns = end_ns - drop->time_ns;
	fields_put(out, FIELDS(drop_fields), &copy);
	put_device(out, DROP_DEVICE, &drop->device);
	if (verdict->function[0])
		fields_put_text(out, DROP_FUNCTION, verdict->function);
	for (size_t i = 0; i < verdict->candidates; i++)
		put_part(out, DROP_CANDIDATE, FIELDS(candidate_fields), verdict->candidate[i]);
	for (size_t i = 0; i < drop->stack_count; i++)
		fields_put_text(out, DROP_STACK, drop->stack[i]);
	put_packet(out, DROP_PACKET, drop->contents.bytes);
	fields_put_text(out, DROP_PROTOCOL, drop->contents.protocol);
	put_task(out, DROP_TASK, drop->task);
	if (drop->owner)
		put_part(out, DROP_OWNER, FIELDS(owner_fields), drop->owner);
}

static int copy_text(char *to, size_t room, const char *text)
{
	size_t size = strlen(text) + 1;

	if (size > room)
		return -EBADMSG;
	memcpy(to, text, size);
	return 0;
}

static int read_candidate(struct drop *drop, struct stored_parts *parts,
			  const struct field_value *of)
{
	struct verdict *verdict = &drop->cause.verdict;
	struct knowledge_case *one = &parts->candidate[verdict->candidates];

	if (verdict->candidates == KNOWLEDGE_CASES_MAX ||
	    fields_read(FIELDS(candidate_fields), one, of->bytes, of->size) < 0 ||
	    one->class >= KNOWLEDGE_CLASSES)
		return -EBADMSG;
	verdict->candidate[verdict->candidates++] = one;
	return 0;
}

/* What is no member. */
static int read_drop_part(struct drop *drop, struct stored_parts *parts,
			  const struct field_value *value)
{
	bool is_text = value->kind == FIELD_TEXT;

	if (is_text != (value->id == DROP_FUNCTION || value->id == DROP_STACK ||
			value->id == DROP_PROTOCOL) ||
	    value->kind == FIELD_NUMBER)
		return -EBADMSG;
	switch (value->id) {
	case DROP_DEVICE:
		return fields_read(FIELDS(device_fields), &drop->device, value->bytes, value->size);
	case DROP_FUNCTION:
		return copy_text(drop->cause.verdict.function, INFER_FUNCTION_MAX, value->text);
	case DROP_CANDIDATE:
		return read_candidate(drop, parts, value);
	case DROP_STACK:
		if (drop->stack_count == NF_DROP_STACK_MAX)
			return -EBADMSG;
		drop->stack[drop->stack_count++] = value->text;
		return 0;
	case DROP_PACKET:
		return read_packet(&parts->bytes, value);
	case DROP_PROTOCOL:
		return copy_text(drop->contents.protocol, PACKET_PROTOCOL_MAX, value->text);
	case DROP_TASK:
		return read_task(&parts->task, value);
	case DROP_OWNER:
		drop->owner = &parts->owner;
		return read_owner(parts, value);
	default:
		return -EBADMSG;
	}
}

/* Read the bytes of the packet, with the protocol that it was shown with. */
static void finish_contents(struct contents *contents, const struct nf_bytes *bytes)
{
	char protocol[PACKET_PROTOCOL_MAX];

	memcpy(protocol, contents->protocol, sizeof(protocol));
	contents_read(contents, bytes);
	if (protocol[0])
		memcpy(contents->protocol, protocol, sizeof(protocol));
}

static int read_drop(struct drop *drop, struct stored_parts *parts, uint64_t end_ns,
		     const uint8_t *bytes, size_t size)
{
	struct fields_input in = {.bytes = bytes, .size = size};
	struct field_value value;
	int r;

	while ((r = fields_next(&in, &value)) > 0) {
		r = fields_set(FIELDS(drop_fields), drop, &value);
		if (r == 0)
			r = read_drop_part(drop, parts, &value);
		if (r < 0)
			return r;
	}
	if (drop->cause.verdict.class >= KNOWLEDGE_CLASSES)
		drop->cause.verdict.class = KNOWLEDGE_UNKNOWN;
	drop->time_ns = end_ns - drop->time_ns;
	drop->task = &parts->task;
	finish_contents(&drop->contents, &parts->bytes);
	return r;
}

/* ---- journeys ------------------------------------------------------------------------ */

enum {
	JOURNEY_OUTCOME = 30,
	JOURNEY_STAGE,
	JOURNEY_LACKS,
	JOURNEY_DEVICE,
	JOURNEY_PACKET,
	JOURNEY_TASK,
	JOURNEY_OWNER,
	JOURNEY_MISSING,
};

static const struct field journey_fields[] = {
	FIELD_NUMBER_OF(1, struct journey, cpu),
	FIELD_NUMBER_OF(2, struct journey, slow),
	FIELD_NUMBER_OF(3, struct journey, weight_shift),
	FIELD_NUMBER_OF(4, struct journey, more_devices),
	FIELD_NUMBER_OF(5, struct journey, merged),
	FIELD_NUMBER_OF(6, struct journey, stages.total_ns),
	FIELD_NUMBER_OF(7, struct journey, stages.dominant),
	FIELD_NUMBER_OF(8, struct journey, time_ns), /* how long before the end */
};

static void write_stages(struct fields_output *out, const struct stages *stages, uint64_t end_ns)
{

	for (size_t i = 0; i < stages->count; i++) {
		const struct stage_part part = {.name = stage_name(stages->stage[i].stage),
						.age_ns = end_ns - stages->stage[i].time_ns};

		put_part(out, JOURNEY_STAGE, FIELDS(stage_fields), &part);
	}
	for (size_t i = 0; i < stages->missing_count; i++) {
		const struct stage_part part = {.name = stage_name(stages->missing[i].stage),
						.reason = stages->missing[i].reason};

		put_part(out, JOURNEY_LACKS, FIELDS(stage_fields), &part);
	}
}

static void write_journey(struct fields_output *out, const struct journey *journey, uint64_t end_ns)
{
	uint8_t bytes[STORED_RECORD_MAX / 2];
	struct fields_output missing = {.bytes = bytes, .room = sizeof(bytes)};
	struct journey copy = *journey;

	copy.time_ns = end_ns - journey->time_ns;
	fields_put(out, FIELDS(journey_fields), &copy);
	fields_put_text(out, JOURNEY_OUTCOME, outcome_name(journey->outcome));
	write_stages(out, &journey->stages, end_ns);
	for (size_t i = 0; i < journey->devices; i++)
		put_device(out, JOURNEY_DEVICE, &journey->device[i]);
	if (journey->has_contents)
		put_packet(out, JOURNEY_PACKET, journey->contents.bytes);
	if (journey->task)
		put_task(out, JOURNEY_TASK, journey->task);
	if (journey->owner)
		put_part(out, JOURNEY_OWNER, FIELDS(owner_fields), journey->owner);
	if (!journey->has_missing)
		return;
	write_drop(&missing, &journey->missing, end_ns);
	out->full |= missing.full;
	fields_put_bytes(out, JOURNEY_MISSING, bytes, missing.size);
}

static int read_outcome(enum nf_outcome *outcome, const char *name)
{
	for (int i = NF_OUTCOME_DELIVERED; i <= NF_OUTCOME_FORWARDED; i++)
		if (!strcmp(outcome_name((enum nf_outcome)i), name)) {
			*outcome = (enum nf_outcome)i;
			return 0;
		}
	return -EBADMSG;
}

static int read_stage(struct stages *stages, uint64_t end_ns, const struct field_value *of)
{
	bool lacks = of->id == JOURNEY_LACKS;
	struct stage_part part = {0};
	int i = 0;

	if (fields_read(FIELDS(stage_fields), &part, of->bytes, of->size) < 0 || !part.name)
		return -EBADMSG;
	while (i < NF_STAGE_COUNT && strcmp(stage_name((enum nf_stage)i), part.name) != 0)
		i++;
	if (i == NF_STAGE_COUNT ||
	    (lacks ? stages->missing_count : stages->count) == NF_STAGE_COUNT)
		return -EBADMSG;
	if (lacks)
		stages->missing[stages->missing_count++] =
			(struct stage_missing){(enum nf_stage)i, part.reason ? part.reason : ""};
	else
		stages->stage[stages->count++] =
			(struct stage_time){(enum nf_stage)i, end_ns - part.age_ns};
	return 0;
}

/* Each has a name, which can be empty. */
static int read_journey_device(struct journey *journey, const struct field_value *of)
{
	struct device *device = &journey->device[journey->devices];

	if (journey->devices == NF_JOURNEY_DEVICES)
		return -EBADMSG;
	journey->devices++;
	device->name = "";
	return fields_read(FIELDS(device_fields), device, of->bytes, of->size);
}

static int read_journey_part(struct stored_record *stored, uint64_t end_ns,
			     const struct field_value *value)
{
	struct journey *journey = &stored->record.journey;

	if (value->kind != (value->id == JOURNEY_OUTCOME ? FIELD_TEXT : FIELD_BYTES))
		return -EBADMSG;
	switch (value->id) {
	case JOURNEY_OUTCOME:
		return read_outcome(&journey->outcome, value->text);
	case JOURNEY_STAGE:
	case JOURNEY_LACKS:
		return read_stage(&journey->stages, end_ns, value);
	case JOURNEY_DEVICE:
		return read_journey_device(journey, value);
	case JOURNEY_PACKET:
		journey->has_contents = true;
		return read_packet(&stored->parts.bytes, value);
	case JOURNEY_TASK:
		journey->task = &stored->parts.task;
		return read_task(&stored->parts.task, value);
	case JOURNEY_OWNER:
		journey->owner = &stored->parts.owner;
		return read_owner(&stored->parts, value);
	case JOURNEY_MISSING:
		journey->has_missing = true;
		return read_drop(&journey->missing, &stored->missing, end_ns, value->bytes,
				 value->size);
	default:
		return -EBADMSG;
	}
}

static int read_journey(struct stored_record *stored, uint64_t end_ns, const uint8_t *bytes,
			size_t size)
{
	struct journey *journey = &stored->record.journey;
	struct stages *stages = &journey->stages;
	struct fields_input in = {.bytes = bytes, .size = size};
	struct field_value value;
	int r;

	while ((r = fields_next(&in, &value)) > 0) {
		r = fields_set(FIELDS(journey_fields), journey, &value);
		if (r == 0)
			r = read_journey_part(stored, end_ns, &value);
		if (r < 0)
			return r;
	}
	if (r < 0 || stages->count < 2 || stages->dominant >= stages->count - 1)
		return -EBADMSG;
	stages->outcome = journey->outcome;
	journey->time_ns = end_ns - journey->time_ns;
	contents_read(&journey->contents, &stored->parts.bytes);
	return 0;
}

/* ---- transmits ----------------------------------------------------------------------- */

enum { TRANSMIT_DEVICE = 30, TRANSMIT_FRAG, TRANSMIT_PACKET, TRANSMIT_TASK };

static const struct field transmit_fields[] = {
	FIELD_NUMBER_OF(1, struct transmit, cpu),
	FIELD_NUMBER_OF(2, struct transmit, outcome),
	FIELD_NUMBER_OF(3, struct transmit, too_big),
	FIELD_NUMBER_OF(4, struct transmit, xen),
	FIELD_NUMBER_OF(5, struct transmit, involved),
	FIELD_NUMBER_OF(6, struct transmit, has_offload),
	FIELD_NUMBER_OF(7, struct transmit, sg),
	FIELD_NUMBER_OF(8, struct transmit, gso),
	FIELD_NUMBER_OF(9, struct transmit, tso),
	FIELD_NUMBER_OF(10, struct transmit, slots),
	FIELD_NUMBER_OF(11, struct transmit, limit),
	FIELD_NUMBER_OF(12, struct transmit, length),
	FIELD_NUMBER_OF(13, struct transmit, head_offset),
	FIELD_NUMBER_OF(14, struct transmit, head_length),
	FIELD_NUMBER_OF(15, struct transmit, gso_size),
	FIELD_NUMBER_OF(16, struct transmit, gso_segs),
	FIELD_NUMBER_OF(17, struct transmit, time_ns), /* how long before the end */
};

static void write_transmit(struct fields_output *out, const struct transmit *transmit,
			   uint64_t end_ns)
{
	struct transmit copy = *transmit;

	copy.time_ns = end_ns - transmit->time_ns;
	fields_put(out, FIELDS(transmit_fields), &copy);
	put_device(out, TRANSMIT_DEVICE, &transmit->device);
	for (size_t i = 0; i < transmit->frags; i++)
		put_part(out, TRANSMIT_FRAG, FIELDS(frag_fields), &transmit->frag[i]);
	put_packet(out, TRANSMIT_PACKET, transmit->contents.bytes);
	put_task(out, TRANSMIT_TASK, transmit->task);
}

static int read_transmit_part(struct stored_record *stored, const struct field_value *value)
{
	struct transmit *transmit = &stored->record.transmit;

	if (value->kind != FIELD_BYTES)
		return -EBADMSG;
	switch (value->id) {
	case TRANSMIT_DEVICE:
		return fields_read(FIELDS(device_fields), &transmit->device, value->bytes,
				   value->size);
	case TRANSMIT_FRAG:
		if (transmit->frags == NF_FRAGS_MAX)
			return -EBADMSG;
		return fields_read(FIELDS(frag_fields), &stored->frag[transmit->frags++],
				   value->bytes, value->size);
	case TRANSMIT_PACKET:
		return read_packet(&stored->parts.bytes, value);
	case TRANSMIT_TASK:
		return read_task(&stored->parts.task, value);
	default:
		return -EBADMSG;
	}
}

static int read_transmit(struct stored_record *stored, uint64_t end_ns, const uint8_t *bytes,
			 size_t size)
{
	struct transmit *transmit = &stored->record.transmit;
	struct fields_input in = {.bytes = bytes, .size = size};
	struct field_value value;
	int r;

	while ((r = fields_next(&in, &value)) > 0) {
		r = fields_set(FIELDS(transmit_fields), transmit, &value);
		if (r == 0)
			r = read_transmit_part(stored, &value);
		if (r < 0)
			return r;
	}
	transmit->time_ns = end_ns - transmit->time_ns;
	transmit->frag = stored->frag;
	transmit->task = &stored->parts.task;
	contents_read(&transmit->contents, &stored->parts.bytes);
	return r;
}

/* ---- any kind ------------------------------------------------------------------------- */

static uint64_t time_of(const struct record *record)
{
	switch (record->kind) {
	case RECORDS_DROPS:
		return record->drop.time_ns;
	case RECORDS_LATENCY:
		return record->journey.time_ns;
	default:
		return record->transmit.time_ns;
	}
}

/* Times are ages at the end of the record's microsecond, so the file can move a record in time. */
size_t stored_record_write(const struct record *record, int64_t *time_us,
			   uint8_t bytes[static STORED_RECORD_MAX])
{
	struct fields_output out = {.bytes = bytes, .room = STORED_RECORD_MAX};
	uint64_t time_ns = time_of(record), real_ns = time_realtime_of(time_ns);
	uint64_t end_ns = time_ns + 1000 - real_ns % 1000;

	*time_us = (int64_t)(real_ns / 1000);
	if (record->kind == RECORDS_DROPS)
		write_drop(&out, &record->drop, end_ns);
	else if (record->kind == RECORDS_LATENCY)
		write_journey(&out, &record->journey, end_ns);
	else
		write_transmit(&out, &record->transmit, end_ns);
	return out.full ? 0 : out.size;
}

static int read_any(struct stored_record *stored, uint64_t end_ns, const uint8_t *bytes,
		    size_t size)
{
	switch (stored->record.kind) {
	case RECORDS_DROPS:
		return read_drop(&stored->record.drop, &stored->parts, end_ns, bytes, size);
	case RECORDS_LATENCY:
		return read_journey(stored, end_ns, bytes, size);
	default:
		return read_transmit(stored, end_ns, bytes, size);
	}
}

int stored_record_read(struct stored_record *stored, enum record_kind kind, int64_t time_us,
		       const uint8_t *bytes, size_t size)
{
	uint64_t end_ns = ((uint64_t)time_us + 1) * 1000 - time_realtime_of(0);
	int r;

	memset(stored, 0, sizeof(*stored));
	stored->record.kind = kind;
	r = read_any(stored, end_ns, bytes, size);
	/* The age of a record is at least 1: without one it is not whole. */
	return r == 0 && time_of(&stored->record) == end_ns ? -EBADMSG : r;
}
