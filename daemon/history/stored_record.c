/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/history/stored_record.h"

#include <errno.h>
#include <string.h>

#include "common/array.h"
#include "common/time.h"
#include "daemon/history/fields.h"
#include "daemon/history/place_key.h"

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

static const struct field task_fields[] = {
	FIELD_NUMBER_OF(1, struct nf_task, pid),
	FIELD_NUMBER_OF(2, struct nf_task, tid),
	FIELD_CHARS_OF(3, struct nf_task, comm, sizeof(((struct nf_task *)NULL)->comm)),
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
	size_t opened = fields_open(out, id);

	fields_put(out, fields, count, from);
	fields_close(out, opened);
}

/* With the keys that identify it after a reboot, too. */
static void put_device(struct fields_output *out, uint8_t id, const struct device *from)
{
	char name[NF_DEVICE_NAME + 1] = "";
	struct device device = *from;

	if (from->name)
		memcpy(name, from->name, strnlen(from->name, NF_DEVICE_NAME));
	device.name = from->name ? name : NULL;
	place_keys(&device);
	put_part(out, id, FIELDS(device_fields), &device);
}

static void put_packet(struct fields_output *out, uint8_t id, const struct nf_bytes *from)
{
	size_t opened = fields_open(out, id);

	fields_put(out, FIELDS(bytes_fields), from);
	if (from->l2_len)
		fields_put_bytes(out, BYTES_L2, from->l2,
				 from->l2_len < NF_L2_MAX ? from->l2_len : NF_L2_MAX);
	if (from->net_len)
		fields_put_bytes(out, BYTES_NET, from->net,
				 from->net_len < NF_NET_MAX ? from->net_len : NF_NET_MAX);
	fields_close(out, opened);
}

static int read_headers(const struct field_value *value, void *userdata)
{
	struct nf_bytes *packet = userdata;
	bool l2 = value->id == BYTES_L2;

	if (value->kind != FIELD_BYTES || (!l2 && value->id != BYTES_NET) ||
	    value->size > (l2 ? NF_L2_MAX : NF_NET_MAX))
		return -EBADMSG;
	memcpy(l2 ? packet->l2 : packet->net, value->bytes, value->size);
	*(l2 ? &packet->l2_len : &packet->net_len) = (uint8_t)value->size;
	return 0;
}

static int read_packet(struct nf_bytes *packet, const struct field_value *of)
{
	return fields_read(FIELDS(bytes_fields), packet, of->bytes, of->size, read_headers, packet);
}

/* A list of members only. */
static int read_part(const struct field *fields, size_t count, void *into,
		     const struct field_value *of)
{
	return fields_read(fields, count, into, of->bytes, of->size, NULL, NULL);
}

static int read_owner(struct stored_parts *parts, const struct field_value *of)
{
	struct owner *owner = &parts->owner;

	if (read_part(FIELDS(owner_fields), owner, of) < 0 || !owner->cgroup)
		return -EBADMSG;
	owner_of_cgroup(owner, owner->cgroup, owner->by_netns, &parts->owner_names);
	return 0;
}

/* ---- drops -------------------------------------------------------------------------- */

enum {
	DROP_AGE = 14, /* how long before the end */
	DROP_DEVICE = 30,
	DROP_CANDIDATE = 32,
	DROP_STACK,
	DROP_PACKET,
	DROP_TASK = 36,
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
	FIELD_CHARS_OF(31, struct drop, cause.verdict.function, INFER_FUNCTION_MAX - 1),
	FIELD_CHARS_OF(35, struct drop, contents.protocol, PACKET_PROTOCOL_MAX - 1),
};

static void write_drop(struct fields_output *out, const struct drop *drop, uint64_t end_ns)
{
	const struct verdict *verdict = &drop->cause.verdict;

	fields_put(out, FIELDS(drop_fields), drop);
	fields_put_number(out, DROP_AGE, end_ns - drop->time_ns);
	put_device(out, DROP_DEVICE, &drop->device);
	for (size_t i = 0; i < verdict->candidates; i++)
		put_part(out, DROP_CANDIDATE, FIELDS(candidate_fields), verdict->candidate[i]);
	for (size_t i = 0; i < drop->stack_count; i++)
		fields_put_text(out, DROP_STACK, drop->stack[i]);
	put_packet(out, DROP_PACKET, drop->contents.bytes);
	put_part(out, DROP_TASK, FIELDS(task_fields), drop->task);
	if (drop->owner)
		put_part(out, DROP_OWNER, FIELDS(owner_fields), drop->owner);
}

static int read_candidate(struct drop *drop, struct stored_parts *parts,
			  const struct field_value *of)
{
	struct verdict *verdict = &drop->cause.verdict;
	struct knowledge_case *one = &parts->candidate[verdict->candidates];

	if (verdict->candidates == KNOWLEDGE_CASES_MAX ||
	    read_part(FIELDS(candidate_fields), one, of) < 0 || one->class >= KNOWLEDGE_CLASSES)
		return -EBADMSG;
	verdict->candidate[verdict->candidates++] = one;
	return 0;
}

struct drop_reading {
	struct drop *drop;
	struct stored_parts *parts;
	uint64_t end_ns;
};

static int read_drop_part(const struct field_value *value, void *userdata)
{
	struct drop_reading *reading = userdata;
	struct stored_parts *parts = reading->parts;
	struct drop *drop = reading->drop;

	if (value->kind != (value->id == DROP_AGE     ? FIELD_NUMBER
			    : value->id == DROP_STACK ? FIELD_TEXT
						      : FIELD_BYTES))
		return -EBADMSG;
	switch (value->id) {
	case DROP_AGE:
		drop->time_ns = reading->end_ns - value->number;
		return 0;
	case DROP_DEVICE:
		return read_part(FIELDS(device_fields), &drop->device, value);
	case DROP_CANDIDATE:
		return read_candidate(drop, parts, value);
	case DROP_STACK:
		if (drop->stack_count == NF_DROP_STACK_MAX)
			return -EBADMSG;
		drop->stack[drop->stack_count++] = value->text;
		return 0;
	case DROP_PACKET:
		return read_packet(&parts->bytes, value);
	case DROP_TASK:
		return read_part(FIELDS(task_fields), &parts->task, value);
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
	struct drop_reading reading = {.drop = drop, .parts = parts, .end_ns = end_ns};
	int r;

	drop->time_ns = end_ns;
	r = fields_read(FIELDS(drop_fields), drop, bytes, size, read_drop_part, &reading);
	if (drop->cause.verdict.class >= KNOWLEDGE_CLASSES)
		drop->cause.verdict.class = KNOWLEDGE_UNKNOWN;
	drop->task = &parts->task;
	finish_contents(&drop->contents, &parts->bytes);
	return r;
}

/* ---- journeys ------------------------------------------------------------------------ */

enum {
	JOURNEY_AGE = 8, /* how long before the end */
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
	size_t opened;

	fields_put(out, FIELDS(journey_fields), journey);
	fields_put_number(out, JOURNEY_AGE, end_ns - journey->time_ns);
	fields_put_text(out, JOURNEY_OUTCOME, outcome_name(journey->outcome));
	write_stages(out, &journey->stages, end_ns);
	for (size_t i = 0; i < journey->devices; i++)
		put_device(out, JOURNEY_DEVICE, &journey->device[i]);
	if (journey->has_contents)
		put_packet(out, JOURNEY_PACKET, journey->contents.bytes);
	if (journey->task)
		put_part(out, JOURNEY_TASK, FIELDS(task_fields), journey->task);
	if (journey->owner)
		put_part(out, JOURNEY_OWNER, FIELDS(owner_fields), journey->owner);
	if (!journey->has_missing)
		return;
	opened = fields_open(out, JOURNEY_MISSING);
	write_drop(out, &journey->missing, end_ns);
	fields_close(out, opened);
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

	if (read_part(FIELDS(stage_fields), &part, of) < 0 || !part.name)
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
	return read_part(FIELDS(device_fields), device, of);
}

/* Of a journey or a transmit. */
struct reading {
	struct stored_record *stored;
	uint64_t end_ns;
};

static int read_journey_part(const struct field_value *value, void *userdata)
{
	struct reading *reading = userdata;
	struct stored_record *stored = reading->stored;
	struct journey *journey = &stored->record.journey;

	if (value->kind != (value->id == JOURNEY_AGE	   ? FIELD_NUMBER
			    : value->id == JOURNEY_OUTCOME ? FIELD_TEXT
							   : FIELD_BYTES))
		return -EBADMSG;
	switch (value->id) {
	case JOURNEY_AGE:
		journey->time_ns = reading->end_ns - value->number;
		return 0;
	case JOURNEY_OUTCOME:
		return read_outcome(&journey->outcome, value->text);
	case JOURNEY_STAGE:
	case JOURNEY_LACKS:
		return read_stage(&journey->stages, reading->end_ns, value);
	case JOURNEY_DEVICE:
		return read_journey_device(journey, value);
	case JOURNEY_PACKET:
		journey->has_contents = true;
		return read_packet(&stored->parts.bytes, value);
	case JOURNEY_TASK:
		journey->task = &stored->parts.task;
		return read_part(FIELDS(task_fields), &stored->parts.task, value);
	case JOURNEY_OWNER:
		journey->owner = &stored->parts.owner;
		return read_owner(&stored->parts, value);
	case JOURNEY_MISSING:
		journey->has_missing = true;
		return read_drop(&journey->missing, &stored->missing, reading->end_ns, value->bytes,
				 value->size);
	default:
		return -EBADMSG;
	}
}

static int read_journey(struct stored_record *stored, uint64_t end_ns, const uint8_t *bytes,
			size_t size)
{
	struct reading reading = {.stored = stored, .end_ns = end_ns};
	struct journey *journey = &stored->record.journey;
	struct stages *stages = &journey->stages;
	int r;

	journey->time_ns = end_ns;
	r = fields_read(FIELDS(journey_fields), journey, bytes, size, read_journey_part, &reading);
	if (r < 0 || stages->count < 2 || stages->dominant >= stages->count - 1)
		return -EBADMSG;
	stages->outcome = journey->outcome;
	contents_read(&journey->contents, &stored->parts.bytes);
	return 0;
}

/* ---- transmits ----------------------------------------------------------------------- */

enum {
	TRANSMIT_AGE = 17, /* how long before the end */
	TRANSMIT_DEVICE = 30,
	TRANSMIT_FRAG,
	TRANSMIT_PACKET,
	TRANSMIT_TASK,
};

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
};

static void write_transmit(struct fields_output *out, const struct transmit *transmit,
			   uint64_t end_ns)
{
	fields_put(out, FIELDS(transmit_fields), transmit);
	fields_put_number(out, TRANSMIT_AGE, end_ns - transmit->time_ns);
	put_device(out, TRANSMIT_DEVICE, &transmit->device);
	for (size_t i = 0; i < transmit->frags; i++)
		put_part(out, TRANSMIT_FRAG, FIELDS(frag_fields), &transmit->frag[i]);
	put_packet(out, TRANSMIT_PACKET, transmit->contents.bytes);
	put_part(out, TRANSMIT_TASK, FIELDS(task_fields), transmit->task);
}

static int read_transmit_part(const struct field_value *value, void *userdata)
{
	struct reading *reading = userdata;
	struct stored_record *stored = reading->stored;
	struct transmit *transmit = &stored->record.transmit;

	if (value->kind != (value->id == TRANSMIT_AGE ? FIELD_NUMBER : FIELD_BYTES))
		return -EBADMSG;
	switch (value->id) {
	case TRANSMIT_AGE:
		transmit->time_ns = reading->end_ns - value->number;
		return 0;
	case TRANSMIT_DEVICE:
		return read_part(FIELDS(device_fields), &transmit->device, value);
	case TRANSMIT_FRAG:
		if (transmit->frags == NF_FRAGS_MAX)
			return -EBADMSG;
		return read_part(FIELDS(frag_fields), &stored->frag[transmit->frags++], value);
	case TRANSMIT_PACKET:
		return read_packet(&stored->parts.bytes, value);
	case TRANSMIT_TASK:
		return read_part(FIELDS(task_fields), &stored->parts.task, value);
	default:
		return -EBADMSG;
	}
}

static int read_transmit(struct stored_record *stored, uint64_t end_ns, const uint8_t *bytes,
			 size_t size)
{
	struct reading reading = {.stored = stored, .end_ns = end_ns};
	struct transmit *transmit = &stored->record.transmit;
	int r;

	transmit->time_ns = end_ns;
	r = fields_read(FIELDS(transmit_fields), transmit, bytes, size, read_transmit_part,
			&reading);
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
