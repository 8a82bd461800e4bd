/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Types SlotsRecord and Rocket. */
#include "daemon/core/resolved.h"
#include "daemon/json/internal.h"
#include "daemon/json/json.h"
#include "daemon/core/rocket.h"

static const char *const outcomes[NF_SLOTS_OUTCOMES] = {
	[NF_SLOTS_SENT] = "sent",	[NF_SLOTS_LINEARIZED] = "linearized",
	[NF_SLOTS_DROPPED] = "dropped", [NF_SLOTS_REQUEUED] = "requeued",
	[NF_SLOTS_UNSEEN] = "unseen",
};

static const char *kind_of(const struct nf_slots_record *record)
{
	if (record->flags & NF_SLOTS_TOO_BIG)
		return "too_big";
	return record->slots > record->limit ? "overflow" : "near_miss";
}

/* Type SlotsPiece. */
static json_t *piece(uint32_t offset, uint32_t size)
{
	uint32_t in_page = offset % NF_SLOT_BYTES;
	struct fill f = fill_new();

	fill_int(&f, "offset", offset);
	fill_int(&f, "size_bytes", size);
	fill_int(&f, "slots", (in_page + size + NF_SLOT_BYTES - 1) / NF_SLOT_BYTES);
	return f.object;
}

static json_t *frags(const struct nf_slots_record *record)
{
	size_t room = (record->header.size - NF_SLOTS_RECORD_PLAIN) / sizeof(record->frag[0]);
	json_t *list = json_array();

	for (size_t i = 0; i < record->frags && i < room && i < NF_FRAGS_MAX; i++)
		fill_append(&list, piece(record->frag[i].offset, record->frag[i].size));
	return list;
}

static json_t *offloads(uint8_t flags)
{
	struct fill f = fill_new();

	fill_bool(&f, "sg", flags & NF_SLOTS_SG);
	fill_bool(&f, "gso", flags & NF_SLOTS_GSO);
	fill_bool(&f, "tso", flags & NF_SLOTS_TSO);
	return f.object;
}

static void fill_layout(struct fill *f, const struct nf_slots_record *record)
{
	fill_int(f, "slots", record->slots);
	fill_int(f, "limit", record->limit);
	fill_int(f, "length_bytes", record->len);
	fill_put(f, "head", piece(record->head_offset, record->head_len));
	fill_put(f, "frags", frags(record));
	if (record->gso_size) {
		fill_int(f, "gso_size", record->gso_size);
		fill_int(f, "gso_segs", record->gso_segs);
	}
	if (record->flags & NF_SLOTS_FEATURES)
		fill_put(f, "offload", offloads(record->flags));
}

json_t *json_slots_record(const struct transmit *transmit)
{
	const struct nf_slots_record *record = transmit->record;
	struct fill f = fill_new();

	fill_time(&f, "time", record->header.time_ns);
	fill_text(&f, "kind", kind_of(record));
	fill_text(&f, "outcome",
		  record->outcome < NF_SLOTS_OUTCOMES ? outcomes[record->outcome] : NULL);
	fill_bool(&f, "xen", record->flags & NF_SLOTS_XEN);
	fill_bytes(&f, "device", record->device, sizeof(record->device));
	fill_known(&f, "ifindex", record->ifindex);
	fill_known(&f, "netns", record->netns);
	fill_foreign(&f, "netns_name", transmit->netns_name);
	fill_int(&f, "cpu", record->header.cpu);
	fill_layout(&f, record);
	fill_contents(&f, &transmit->contents);
	fill_task(&f, &record->task, record->flags & NF_SLOTS_TASK);
	fill_header(&f, &record->bytes);
	return f.object;
}

json_t *json_rocket(const struct rocket *rocket, const char *state)
{
	struct fill f = fill_new();

	fill_time(&f, "time", rocket->time_ns);
	fill_bytes(&f, "device", rocket->device, sizeof(rocket->device));
	fill_int(&f, "slots", rocket->slots);
	fill_int(&f, "length_bytes", rocket->bytes);
	fill_text(&f, "state", state);
	return f.object;
}
