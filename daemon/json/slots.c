/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Types Slots, SlotsRecord and Rocket. */
#include "common/time.h"
#include "daemon/core/rocket.h"
#include "daemon/core/transmit.h"
#include "daemon/json/internal.h"
#include "daemon/json/json.h"
#include "daemon/rows/device_rows.h"

static const char *const outcomes[NF_SLOTS_OUTCOMES] = {
	[NF_SLOTS_SENT] = "sent",	[NF_SLOTS_LINEARIZED] = "linearized",
	[NF_SLOTS_DROPPED] = "dropped", [NF_SLOTS_REQUEUED] = "requeued",
	[NF_SLOTS_UNSEEN] = "unseen",
};

static const char *kind_of(const struct transmit *transmit)
{
	if (transmit->too_big)
		return "too_big";
	return transmit->slots > transmit->limit ? "overflow" : "near_miss";
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

static json_t *frags(const struct transmit *transmit)
{
	json_t *list = json_array();

	for (size_t i = 0; i < transmit->frags; i++)
		fill_append(&list, piece(transmit->frag[i].offset, transmit->frag[i].size));
	return list;
}

static json_t *offloads(const struct transmit *transmit)
{
	struct fill f = fill_new();

	fill_bool(&f, "sg", transmit->sg);
	fill_bool(&f, "gso", transmit->gso);
	fill_bool(&f, "tso", transmit->tso);
	return f.object;
}

static void fill_layout(struct fill *f, const struct transmit *transmit)
{
	fill_int(f, "slots", transmit->slots);
	fill_int(f, "limit", transmit->limit);
	fill_int(f, "length_bytes", transmit->length);
	fill_put(f, "head", piece(transmit->head_offset, transmit->head_length));
	fill_put(f, "frags", frags(transmit));
	if (transmit->gso_size) {
		fill_int(f, "gso_size", transmit->gso_size);
		fill_int(f, "gso_segs", transmit->gso_segs);
	}
	if (transmit->has_offload)
		fill_put(f, "offload", offloads(transmit));
}

json_t *json_slots_record(const struct transmit *transmit)
{
	struct fill f = fill_new();

	fill_time(&f, "time", transmit->time_ns);
	fill_text(&f, "kind", kind_of(transmit));
	fill_text(&f, "outcome",
		  transmit->outcome < NF_SLOTS_OUTCOMES ? outcomes[transmit->outcome] : NULL);
	fill_bool(&f, "xen", transmit->xen);
	fill_device(&f, &transmit->device);
	fill_int(&f, "cpu", transmit->cpu);
	fill_layout(&f, transmit);
	fill_contents(&f, &transmit->contents);
	fill_task(&f, transmit->task, &transmit->involved);
	fill_header(&f, transmit->contents.bytes);
	return f.object;
}

/* Types SlotsBucket; *transmits is their sum. */
static json_t *histogram(const uint64_t *slots, uint64_t *transmits)
{
	json_t *list = json_array();

	*transmits = 0;
	for (unsigned int i = 0; i < NF_SLOTS_BUCKETS; i++) {
		struct fill f;

		*transmits += slots[i];
		if (!slots[i])
			continue;
		f = fill_new();
		fill_int(&f, "slots", i);
		fill_bool(&f, "or_more", i == NF_SLOTS_BUCKETS - 1);
		fill_int(&f, "count", slots[i]);
		fill_append(&list, f.object);
	}
	return list;
}

json_t *json_slots(const struct slots_row *row)
{
	struct fill f = fill_new(), ends = fill_new();
	uint64_t transmits, overflows = 0;
	json_t *list = histogram(row->slots, &transmits);
	char text[TIME_TEXT_MAX];

	for (int i = 0; i < NF_SLOTS_OUTCOMES; i++) {
		overflows += row->overflow[i];
		fill_int(&ends, outcomes[i], row->overflow[i]);
	}
	fill_device(&f, &row->device);
	if (row->others)
		fill_text(&f, "group", JSON_GROUP_OTHER);
	fill_bool(&f, "xen", row->xen);
	fill_int(&f, "transmits", transmits);
	fill_put(&f, "histogram", list);
	fill_int(&f, "near_misses", row->near);
	fill_int(&f, "overflows", overflows);
	fill_put(&f, "outcomes", ends.object);
	fill_int(&f, "too_big", row->too_big);
	if (row->last_overflow_ns) {
		time_format_realtime(row->last_overflow_ns, text);
		fill_text(&f, "last_overflow", text);
	}
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
