/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/probe/events/decode.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <traceevent/event-parse.h>

#include "common/array.h"
#include "daemon/probe/events/tracepoints.h"

/* common_flags of include/linux/trace_events.h: TRACE_FLAG_HARDIRQ, TRACE_FLAG_SOFTIRQ. */
enum { IN_IRQ = 0x08, IN_SOFTIRQ = 0x10 };

#define FIELDS_MAX 12
#define ROWS_MAX 64

/* What a field fills a member of. */
enum part { EVENT, TRANSMIT };

/* A field of an event, and the member that it fills. */
struct wanted {
	const char *name; /* NULL: the end */
	enum part part;
	uint16_t member; /* offset in struct event or struct event_transmit */
	uint8_t size;	 /* of the member; 0: a string */
};

#define NUMBER(name, member)                                                                     \
	{                                                                                        \
		name, EVENT, offsetof(struct event, member), sizeof(((struct event *)0)->member) \
	}
#define STRING(name, member)                                   \
	{                                                      \
		name, EVENT, offsetof(struct event, member), 0 \
	}
#define OF_TRANSMIT(name, member)                                        \
	{                                                                \
		name, TRANSMIT, offsetof(struct event_transmit, member), \
			sizeof(((struct event_transmit *)0)->member)     \
	}
#define SKB NUMBER("skbaddr", skb)

static const struct wanted wanted[NF_PROBE_COUNT][FIELDS_MAX] = {
	[NF_PROBE_IRQ_HANDLER_ENTRY] = {NUMBER("irq", number)},
	[NF_PROBE_IRQ_HANDLER_EXIT] = {NUMBER("irq", number)},
	[NF_PROBE_SOFTIRQ_RAISE] = {NUMBER("vec", number)},
	[NF_PROBE_SOFTIRQ_ENTRY] = {NUMBER("vec", number)},
	[NF_PROBE_SOFTIRQ_EXIT] = {NUMBER("vec", number)},
	[NF_PROBE_NAPI_POLL] = {STRING("dev_name", device), NUMBER("work", work),
				NUMBER("budget", budget)},
	[NF_PROBE_NETIF_RECEIVE_SKB] = {SKB, NUMBER("len", len), STRING("name", device)},
	[NF_PROBE_UDP_ENQUEUE_SCHEDULE_SKB] = {SKB, NUMBER("skaddr", sk)},
	[NF_PROBE_SK_DATA_READY] = {NUMBER("skaddr", sk), NUMBER("family", family),
				    NUMBER("protocol", protocol)},
	[NF_PROBE_SCHED_WAKING] = {NUMBER("pid", number)},
	[NF_PROBE_SCHED_SWITCH] = {NUMBER("next_pid", number)},
	[NF_PROBE_SKB_COPY_DATAGRAM_IOVEC] = {SKB, NUMBER("len", len)},
	[NF_PROBE_SOCK_RECV_LENGTH] = {NUMBER("sk", sk), NUMBER("protocol", protocol),
				       NUMBER("ret", len), NUMBER("flags", number)},
	[NF_PROBE_SKB_ATTEMPT_DEFER_FREE] = {SKB},
	[NF_PROBE_NET_DEV_QUEUE] = {SKB, NUMBER("len", len), STRING("name", device)},
	[NF_PROBE_NET_DEV_START_XMIT] = {SKB, NUMBER("len", len), STRING("name", device),
					 NUMBER("protocol", protocol)},
	[NF_PROBE_NET_DEV_XMIT] = {SKB, NUMBER("len", len), NUMBER("rc", number),
				   STRING("name", device)},
	[NF_PROBE_CONSUME_SKB] = {SKB},
	[NF_PROBE_KFREE_SKB] = {SKB, NUMBER("location", location), NUMBER("protocol", protocol),
				NUMBER("reason", reason)},
	[NF_PROBE_XENNET_START_XMIT] = {SKB, NUMBER("len", len), STRING("dev", device),
					OF_TRANSMIT("data", data),
					OF_TRANSMIT("data_len", data_len), OF_TRANSMIT("end", end),
					OF_TRANSMIT("nr_frags", frags),
					OF_TRANSMIT("gso_size", gso_size),
					OF_TRANSMIT("gso_segs", gso_segs), OF_TRANSMIT("sg", sg),
					OF_TRANSMIT("gso", gso), OF_TRANSMIT("tso", tso)},
};

/* Fields that some kernels, or some events of one probe, do not have. */
static bool is_optional(const struct wanted *field)
{
	static const char *const optional[] = {"reason",   "budget",   "work",	  "family",
					       "nr_frags", "gso_size", "gso_segs"};

	for (size_t i = 0; i < ARRAY_SIZE(optional); i++)
		if (!strcmp(field->name, optional[i]))
			return true;
	return false;
}

struct field {
	uint32_t offset;
	uint8_t size; /* in the record */
	enum part part;
	uint16_t member;
	uint8_t member_size; /* 0: a string */
};

/* Fragments of a transmit, in fields of their own: each is the page and a word of length and offset. */
struct frags_field {
	uint32_t offset, count;
};
#define FRAGS_FIELDS ((NF_FRAGS_MAX + TRACEPOINTS_FRAGS - 1) / TRACEPOINTS_FRAGS)
#define FRAG_BYTES 16

struct row {
	enum nf_probe probe;
	uint32_t fields;
	struct field field[FIELDS_MAX];
	/* Of a transmit: the skb->end behind which the event looks for fragments, 0: it does not. */
	uint32_t head_end;
	struct frags_field frags[FRAGS_FIELDS];
	uint32_t end; /* bytes that a record has at least */
};

struct decoder {
	struct tep_handle *tep;
	bool swapped; /* the file has the other byte order */
	bool big_endian;
	bool has_reason;
	struct field type, flags, tid; /* of all events */
	struct field marker;	       /* the text of ftrace/print; size 0: there is none */
	uint16_t marker_id;
	uint8_t row_of[UINT16_MAX + 1]; /* by the event's id: 1 + the row; 0: no event of a probe */
	uint32_t rows;
	struct row row[ROWS_MAX];
	struct decoder_probe probe[NF_PROBE_COUNT];
	struct event_transmit transmit; /* of the last event */
};

/* ---- formats ------------------------------------------------------------------ */

static int take_field(struct field *field, const struct tep_format_field *format,
		      const struct wanted *want)
{
	bool number =
		format->size == 1 || format->size == 2 || format->size == 4 || format->size == 8;

	if (format->offset < 0 || !number)
		return -EBADMSG;
	*field = (struct field){
		.offset = (uint32_t)format->offset,
		.size = (uint8_t)format->size,
		.part = want ? want->part : EVENT,
		.member = want ? want->member : 0,
		.member_size = want ? want->size : 0,
	};
	return 0;
}

/* A record is long enough for a field if it has as many bytes as up to its end. */
static void reach(struct row *row, uint32_t end)
{
	if (end > row->end)
		row->end = end;
}

static void take_frags(struct row *row, struct tep_event *event)
{
	const char *suffix = event->name + strlen(TRACEPOINTS_SLOTS);

	row->head_end = suffix[0] ? (uint32_t)strtoul(suffix + 1, NULL, 10) : 0;
	for (uint32_t i = 0; i < FRAGS_FIELDS; i++) {
		const struct tep_format_field *field;
		char name[16];

		snprintf(name, sizeof(name), "frags%u", i * TRACEPOINTS_FRAGS);
		field = tep_find_field(event, name);
		if (!field || field->offset < 0 || field->size < 0)
			continue;
		row->frags[i] = (struct frags_field){.offset = (uint32_t)field->offset,
						     .count = (uint32_t)field->size / FRAG_BYTES};
		reach(row, (uint32_t)field->offset + (uint32_t)field->size);
	}
}

static int take_event(struct decoder *decoder, struct tep_event *event, enum nf_probe probe,
		      char reason[static DECODER_REASON_MAX])
{
	struct row row = {.probe = probe};

	reach(&row, decoder->flags.offset + decoder->flags.size);
	reach(&row, decoder->tid.offset + decoder->tid.size);
	for (const struct wanted *want = wanted[probe]; want < wanted[probe] + FIELDS_MAX; want++) {
		struct tep_format_field *format;

		if (!want->name)
			break;
		format = tep_find_field(event, want->name);
		if (!format && is_optional(want))
			continue;
		if (!format || take_field(&row.field[row.fields], format, want) < 0) {
			snprintf(reason, DECODER_REASON_MAX,
				 "the format of its event has no usable field %s", want->name);
			return -EBADMSG;
		}
		reach(&row, row.field[row.fields].offset + row.field[row.fields].size);
		row.fields++;
		decoder->has_reason |= !strcmp(want->name, "reason");
	}
	if (probe == NF_PROBE_XENNET_START_XMIT)
		take_frags(&row, event);
	decoder->row[decoder->rows++] = row;
	decoder->row_of[event->id & UINT16_MAX] = (uint8_t)decoder->rows;
	return 0;
}

static int take_common(struct decoder *decoder, struct tep_event *event)
{
	const struct tep_format_field *type = tep_find_common_field(event, "common_type");
	const struct tep_format_field *flags = tep_find_common_field(event, "common_flags");
	const struct tep_format_field *tid = tep_find_common_field(event, "common_pid");

	if (!type || !flags || !tid || take_field(&decoder->type, type, NULL) < 0 ||
	    take_field(&decoder->flags, flags, NULL) < 0 ||
	    take_field(&decoder->tid, tid, NULL) < 0)
		return -EBADMSG;
	return 0;
}

static void take_event_of(struct decoder *decoder, struct tep_event *event, enum nf_probe number)
{
	struct decoder_probe *probe = &decoder->probe[number];

	if (decoder->rows == ROWS_MAX)
		return;
	probe->reason[0] = 0;
	if ((!decoder->type.size && take_common(decoder, event) < 0) ||
	    take_event(decoder, event, number, probe->reason) < 0) {
		if (!probe->reason[0])
			strcpy(probe->reason, "the format of its event lacks the common fields");
		return;
	}
	probe->system = event->system;
	probe->name = event->name;
}

static void take_tracepoint(struct decoder *decoder, const struct tracepoint *tracepoint)
{
	const struct decoder_probe *probe = &decoder->probe[tracepoint->probe];
	struct tep_event *event;

	if (probe->name && !probe->reason[0])
		return;
	event = tep_find_event_by_name(decoder->tep, tracepoint->system, tracepoint->name);
	if (event)
		take_event_of(decoder, event, tracepoint->probe);
}

/* A probe with several events, each for other skbs; one that cannot be used is one too few. */
static void take_slots(struct decoder *decoder)
{
	struct tep_event **events = tep_list_events(decoder->tep, TEP_EVENT_SORT_ID);
	const struct decoder_probe *probe = &decoder->probe[NF_PROBE_XENNET_START_XMIT];

	for (; events && *events; events++)
		if (!strcmp((*events)->system, TRACEPOINTS_KPROBES) &&
		    !strncmp((*events)->name, TRACEPOINTS_SLOTS, strlen(TRACEPOINTS_SLOTS)) &&
		    (!probe->name || !probe->reason[0]))
			take_event_of(decoder, *events, NF_PROBE_XENNET_START_XMIT);
}

static void take_marker(struct decoder *decoder)
{
	struct tep_event *event = tep_find_event_by_name(decoder->tep, "ftrace", "print");
	const struct tep_format_field *text = event ? tep_find_field(event, "buf") : NULL;

	if (!text || text->offset <= 0)
		return;
	decoder->marker_id = (uint16_t)event->id;
	decoder->marker = (struct field){.offset = (uint32_t)text->offset, .size = 1};
}

int decoder_new(struct decoder **decoder, struct tep_handle *tep)
{
	const uint16_t one = 1;
	struct decoder *fresh = calloc(1, sizeof(*fresh));

	if (!fresh)
		return -ENOMEM;
	fresh->tep = tep;
	fresh->big_endian = tep_is_file_bigendian(tep);
	fresh->swapped = fresh->big_endian == (*(const uint8_t *)&one == 1);
	for (int i = 0; i < NF_PROBE_COUNT; i++)
		strcpy(fresh->probe[i].reason, "there are no such events");
	for (size_t i = 0; i < tracepoints_count; i++)
		take_tracepoint(fresh, &tracepoints[i]);
	take_slots(fresh);
	take_marker(fresh);
	*decoder = fresh;
	return 0;
}

void decoder_free(struct decoder **decoder)
{
	free(*decoder);
	*decoder = NULL;
}

const struct decoder_probe *decoder_probe(const struct decoder *decoder, enum nf_probe probe)
{
	return &decoder->probe[probe];
}

bool decoder_has_reason(const struct decoder *decoder)
{
	return decoder->has_reason;
}

/* ---- records -------------------------------------------------------------------- */

static uint64_t read_number(const struct decoder *decoder, const unsigned char *data,
			    const struct field *field)
{
	const unsigned char *from = data + field->offset;
	uint16_t two;
	uint32_t four;
	uint64_t eight;

	/* Each copy has a constant size, so that it is one load: recordings have millions of fields. */
	switch (field->size) {
	case 1:
		return *from;
	case 2:
		memcpy(&two, from, sizeof(two));
		return decoder->swapped ? __builtin_bswap16(two) : two;
	case 4:
		memcpy(&four, from, sizeof(four));
		return decoder->swapped ? __builtin_bswap32(four) : four;
	default:
		memcpy(&eight, from, sizeof(eight));
		return decoder->swapped ? __builtin_bswap64(eight) : eight;
	}
}

static void put_number(void *to, const struct field *field, uint64_t value)
{
	unsigned char *member = (unsigned char *)to + field->member;

	switch (field->member_size) {
	case 1:
		*member = (uint8_t)value;
		break;
	case 2:
		*(uint16_t *)member = (uint16_t)value;
		break;
	case 4:
		*(uint32_t *)member = (uint32_t)value;
		break;
	default:
		*(uint64_t *)member = value;
		break;
	}
}

/* A dynamic string: its offset in the lower half of the field, its length with the NUL in the upper one. */
static int put_string(struct event *event, const struct field *field, const unsigned char *data,
		      size_t size, uint64_t where)
{
	size_t offset = where & 0xffff, len = where >> 16;

	if (offset + len > size || !len || data[offset + len - 1])
		return -EBADMSG;
	*(const char **)((unsigned char *)event + field->member) = (const char *)data + offset;
	return 0;
}

static const struct row *row_of(const struct decoder *decoder, const unsigned char *data,
				size_t size)
{
	const struct field *type = &decoder->type;
	uint8_t row;

	if (type->offset + (size_t)type->size > size)
		return NULL;
	row = decoder->row_of[read_number(decoder, data, type) & UINT16_MAX];
	return row ? &decoder->row[row - 1] : NULL;
}

static void read_context(const struct decoder *decoder, const unsigned char *data,
			 struct event *event)
{
	uint64_t flags = read_number(decoder, data, &decoder->flags);

	event->tid = (uint32_t)read_number(decoder, data, &decoder->tid);
	event->softirq = flags & IN_SOFTIRQ;
	event->irq = flags & IN_IRQ;
}

/* Length and offset are two numbers of 32 bits, in this order in memory. */
static struct nf_slots_frag read_frag(const struct decoder *decoder, const unsigned char *data,
				      uint32_t offset)
{
	const struct field word = {.offset = offset + FRAG_BYTES / 2, .size = 8};
	uint64_t both = read_number(decoder, data, &word);
	uint32_t high = (uint32_t)(both >> 32), low = (uint32_t)both;

	return decoder->big_endian ? (struct nf_slots_frag){.size = high, .offset = low}
				   : (struct nf_slots_frag){.size = low, .offset = high};
}

/* Each transmit is in one of the events: who recorded them without their filters has it in all. */
static bool shows(const struct decoder *decoder, const struct row *row)
{
	const struct event_transmit *transmit = &decoder->transmit;

	if (!transmit->data_len)
		return !row->head_end;
	if (row->head_end)
		return row->head_end == transmit->end;
	for (uint32_t i = 0; i < decoder->rows; i++)
		if (decoder->row[i].head_end && decoder->row[i].head_end == transmit->end)
			return false;
	return true;
}

/* Another number of fragments than the event has room for is none of a kernel that makes this event. */
static void read_frags(struct decoder *decoder, const struct row *row, const unsigned char *data)
{
	struct event_transmit *transmit = &decoder->transmit;
	uint32_t count = transmit->data_len ? transmit->frags : 0;

	transmit->unknown = transmit->data_len && !row->frags[0].count;
	transmit->frags = 0;
	while (transmit->frags < count && !transmit->unknown) {
		const struct frags_field *field = &row->frags[transmit->frags / TRACEPOINTS_FRAGS];
		uint32_t i = transmit->frags % TRACEPOINTS_FRAGS;

		transmit->unknown = transmit->frags == NF_FRAGS_MAX || i >= field->count;
		if (!transmit->unknown)
			transmit->frag[transmit->frags++] =
				read_frag(decoder, data, field->offset + i * FRAG_BYTES);
	}
}

int decoder_read(struct decoder *decoder, const void *data, size_t size, struct event *event)
{
	const struct row *row = row_of(decoder, data, size);

	if (!row)
		return 0;
	if (row->end > size)
		return -EBADMSG;
	*event = (struct event){.probe = row->probe};
	if (row->probe == NF_PROBE_XENNET_START_XMIT) {
		decoder->transmit = (struct event_transmit){};
		event->transmit = &decoder->transmit;
	}
	read_context(decoder, data, event);
	for (uint32_t i = 0; i < row->fields; i++) {
		const struct field *field = &row->field[i];
		uint64_t value = read_number(decoder, data, field);

		if (field->member_size)
			put_number(field->part == TRANSMIT ? (void *)&decoder->transmit : event,
				   field, value);
		else if (put_string(event, field, data, size, value) < 0)
			return -EBADMSG;
	}
	if (event->transmit && !shows(decoder, row))
		return 0;
	if (event->transmit)
		read_frags(decoder, row, data);
	return 1;
}

size_t decoder_marker(const struct decoder *decoder, const void *data, size_t size,
		      const char **text)
{
	const struct field *marker = &decoder->marker;

	if (!marker->size || decoder->type.offset + (size_t)decoder->type.size > size ||
	    marker->offset >= size ||
	    read_number(decoder, data, &decoder->type) != decoder->marker_id)
		return 0;
	*text = (const char *)data + marker->offset;
	return strnlen(*text, size - marker->offset);
}
