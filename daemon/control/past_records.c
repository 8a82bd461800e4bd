/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GetDropRecords, GetLatencyRecords and GetSlotsRecords for the past, and the events of GetAlerts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/json.h"
#include "daemon/control/filter.h"
#include "daemon/control/past.h"
#include "daemon/core/reason.h"
#include "daemon/core/selection.h"
#include "daemon/core/stages.h"
#include "daemon/core/verdict.h"
#include "daemon/history/batch.h"

#define RECORDS_BY_DEFAULT 100

/* Records in one reply: each takes about 10 KiB of memory until the client has taken it. */
#define RECORDS_MAX 2048

struct records_question {
	struct filter filter; /* without device and netns, whose names can be gone by now */
	uint64_t hidden;
};

/* ---- a packet, as its record has it -------------------------------------------------- */

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static size_t from_hex(const char *text, uint8_t *bytes, size_t size)
{
	size_t count = 0;

	while (text && count < size && digit(text[0]) >= 0 && digit(text[1]) >= 0) {
		bytes[count++] = (uint8_t)(digit(text[0]) << 4 | digit(text[1]));
		text += 2;
	}
	return count;
}

static bool read_mac(const char *text, uint8_t *mac)
{
	for (int i = 0; text && i < 6; i++, text += 3)
		if (from_hex(text, mac + i, 1) != 1 || (i < 5 && text[2] != ':'))
			return false;
	return text;
}

static uint16_t ethertype_of(const json_t *record)
{
	const char *protocol = json_string_value(json_object_get(record, "protocol"));

	if (!protocol)
		return 0;
	if (!strncmp(protocol, "ipv4", 4))
		return 0x0800;
	if (!strncmp(protocol, "ipv6", 4))
		return 0x86dd;
	return !strcmp(protocol, "arp") ? 0x0806 : (uint16_t)strtoul(protocol, NULL, 16);
}

static void read_bytes(const json_t *record, struct nf_bytes *bytes)
{
	const json_t *ethernet = json_object_get(record, "ethernet");
	const json_t *vlan = json_object_get(record, "vlan");
	uint16_t type = ethertype_of(record);

	*bytes = (struct nf_bytes){
		.len = (uint32_t)json_integer_value(json_object_get(record, "length_bytes")),
		.protocol = type};
	bytes->net_len = (uint8_t)from_hex(json_string_value(json_object_get(record, "header")),
					   bytes->net, sizeof(bytes->net));
	if (ethernet &&
	    read_mac(json_string_value(json_object_get(ethernet, "destination")), bytes->l2) &&
	    read_mac(json_string_value(json_object_get(ethernet, "source")), bytes->l2 + 6)) {
		bytes->l2[12] = (uint8_t)(type >> 8);
		bytes->l2[13] = (uint8_t)type;
		bytes->l2_len = 14;
	}
	if (!vlan)
		return;
	bytes->flags = NF_BYTES_VLAN;
	bytes->vlan_proto =
		(uint16_t)strtoul(json_string_value(json_object_get(vlan, "protocol"))
					  ? json_string_value(json_object_get(vlan, "protocol"))
					  : "0",
				  NULL, 16);
	bytes->vlan_tci = (uint16_t)(json_integer_value(json_object_get(vlan, "id")) |
				     json_integer_value(json_object_get(vlan, "priority")) << 13);
}

/* ---- a journey -------------------------------------------------------------------------- */

static bool read_outcome(const char *text, enum nf_outcome *outcome)
{
	for (int i = NF_OUTCOME_DELIVERED; text && i <= NF_OUTCOME_FORWARDED; i++) {
		if (strcmp(outcome_name((enum nf_outcome)i), text) != 0)
			continue;
		*outcome = (enum nf_outcome)i;
		return true;
	}
	return false;
}

static bool read_stage(const json_t *entry, struct stage_time *stage)
{
	const char *name = json_string_value(json_object_get(entry, "stage"));

	for (int i = 0; name && i < NF_STAGE_COUNT; i++) {
		if (strcmp(stage_name((enum nf_stage)i), name) != 0)
			continue;
		stage->stage = (enum nf_stage)i;
		/* Only differences matter, and 0 would mean not known. */
		stage->time_ns = 1 + (uint64_t)json_integer_value(json_object_get(entry, "at_ns"));
		return true;
	}
	return false;
}

static bool read_stages(const json_t *record, struct stages *stages)
{
	const json_t *list = json_object_get(record, "stages"), *entry;
	size_t i;

	*stages = (struct stages){
		.total_ns = (uint64_t)json_integer_value(json_object_get(record, "total_ns"))};
	json_array_foreach(list, i, entry)
	{
		if (stages->count == NF_STAGE_COUNT ||
		    !read_stage(entry, &stages->stage[stages->count++]))
			return false;
	}
	return stages->count >= 2 &&
	       read_outcome(json_string_value(json_object_get(record, "outcome")),
			    &stages->outcome);
}

static bool takes_journey(const struct filter *filter, const json_t *record)
{
	struct stages stages;
	uint64_t ns;

	if (filter->by_slow && filter->slow != json_is_true(json_object_get(record, "slow")))
		return false;
	if (!filter->by_segment && !filter->by_over)
		return true;
	if (!read_stages(record, &stages) || !segment_time(&stages, &filter->segment, &ns))
		return false;
	return !filter->by_over || ns > filter->over_ns;
}

/* ---- what to take ------------------------------------------------------------------------- */

static bool takes_place(const struct past *past, const json_t *record)
{
	const json_t *devices = json_object_get(record, "devices"), *device;
	size_t i;

	if (!devices || (!past_text(past, "device") && !past_text(past, "netns")))
		return past_takes_place(past, record);
	json_array_foreach(devices, i, device) if (past_takes_place(past, device)) return true;
	return false;
}

static bool takes(const json_t *record, void *userdata)
{
	const struct past *past = userdata;
	struct records_question *question = past->state;
	const struct filter *filter = &question->filter;
	const json_t *number = json_object_get(record, "reason_number");
	const char *reason = json_string_value(json_object_get(record, "reason"));
	const char *class = json_string_value(json_object_get(record, "class"));
	struct nf_bytes bytes;

	if (json_is_true(json_object_get(record, "message")))
		return false;
	if (filter->by_reason &&
	    !reason_is(&filter->reason, reason, number, (uint32_t)json_integer_value(number)))
		return false;
	if (!takes_place(past, record) || !takes_journey(filter, record))
		return false;
	if (filter->selection) {
		read_bytes(record, &bytes);
		if (!selection_takes_bytes(filter->selection, &bytes))
			return false;
	}
	if (!filter->by_class ||
	    (class && filter->classes & VERDICT_CLASS_BIT(verdict_class(class))))
		return true;
	question->hidden++;
	return false;
}

static int prepare(struct past *past)
{
	OWN_JSON json_t *parameters = json_copy(past->parameters);
	struct records_question *question = calloc(1, sizeof(*question));

	past->state = question;
	if (!question || !parameters)
		return -ENOMEM;
	json_object_del(parameters, "device");
	json_object_del(parameters, "netns");
	return filter_read(&question->filter, past->control, past->call, parameters);
}

static void clear(void *state)
{
	struct records_question *question = state;

	filter_clear(&question->filter);
	free(question);
}

static int read_kind(struct reader *reader, struct past *past, int kind)
{
	const struct records_question *question = past->state;
	size_t matched;
	size_t limit = past->limit < RECORDS_MAX ? past->limit : RECORDS_MAX;
	int r = reader_records(reader, kind, limit, question ? takes : NULL, past, past->rows,
			       &matched);

	if (r < 0)
		return r;
	json_object_del(past->head, "time");
	json_object_del(past->head, "since");
	json_object_del(past->head, "elapsed_ns");
	r = json_object_set_new(past->head, "matched", json_integer(json_count(matched)));
	if (question && question->filter.by_class)
		r |= json_object_set_new(past->head, "hidden",
					 json_integer(json_count(question->hidden)));
	return r ? -ENOMEM : 0;
}

static int work_drops(struct reader *reader, struct past *past)
{
	return read_kind(reader, past, HISTORY_RECORD_DROP);
}

static int work_latency(struct reader *reader, struct past *past)
{
	return read_kind(reader, past, HISTORY_RECORD_LATENCY);
}

static int work_slots(struct reader *reader, struct past *past)
{
	return read_kind(reader, past, HISTORY_RECORD_SLOTS);
}

/* The states are those of now, and not part of the past. */
static int work_alerts(struct reader *reader, struct past *past)
{
	int r = read_kind(reader, past, HISTORY_RECORD_ALERT);

	if (r < 0)
		return r;
	r = json_object_set_new(past->head, "time", past_time(past->period.to_us));
	r |= json_object_set_new(past->head, "alerts", json_array());
	return r ? -ENOMEM : 0;
}

const struct past_kind past_drop_records = {.member = "records",
					    .rows_by_default = RECORDS_BY_DEFAULT,
					    .prepare = prepare,
					    .work = work_drops,
					    .clear = clear};
const struct past_kind past_latency_records = {.member = "records",
					       .rows_by_default = RECORDS_BY_DEFAULT,
					       .prepare = prepare,
					       .work = work_latency,
					       .clear = clear};
const struct past_kind past_slots_records = {.member = "records",
					     .rows_by_default = RECORDS_BY_DEFAULT,
					     .prepare = prepare,
					     .work = work_slots,
					     .clear = clear};
const struct past_kind past_alerts = {
	.member = "events", .rows_by_default = RECORDS_BY_DEFAULT, .work = work_alerts};
