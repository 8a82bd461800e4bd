/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/show/slot_layout.h"

#include <string.h>

#include "cli/ask/field.h"
#include "common/array.h"

#define SLOT_BYTES 4096
/* Characters that draw one page; each is 256 bytes. */
#define CELL 16
#define INDENT 2
#define NAME_WIDTH 9
#define PAGES_WIDTH 9
#define BYTES_WIDTH 21
#define LAYOUT_START (INDENT + NAME_WIDTH + PAGES_WIDTH + BYTES_WIDTH)
/* A piece is drawn with at most this many pages.  Pages in the middle are omitted, because all their bytes are used. */
#define DRAWN 6

struct piece {
	uint64_t offset; /* within the first page that the piece touches */
	uint64_t size;	 /* in bytes */
	uint64_t slots;
};

static struct piece piece_of(const json_t *object)
{
	return (struct piece){
		.offset = field_count_or(object, "offset", 0) % SLOT_BYTES,
		.size = field_count_or(object, "size_bytes", 0),
		.slots = field_count_or(object, "slots", 0),
	};
}

/* Draw page `index` of a piece: '#' if the piece uses any of the 256 bytes, otherwise '.'. */
static void put_cell(struct page *page, const struct piece *piece, uint64_t index)
{
	uint64_t from = index ? 0 : piece->offset;
	uint64_t to = piece->offset + piece->size - index * SLOT_BYTES;
	char cell[CELL + 1];

	if (to > SLOT_BYTES)
		to = SLOT_BYTES;
	for (uint64_t i = 0; i < CELL; i++) {
		uint64_t begin = i * SLOT_BYTES / CELL, end = begin + SLOT_BYTES / CELL;

		cell[i] = from < end && to > begin ? '#' : '.';
	}
	cell[CELL] = '\0';
	page_put(page, PAGE_PLAIN, "%s|", cell);
}

static void put_layout(struct page *page, const struct piece *piece)
{
	uint64_t drawn = piece->slots > DRAWN ? DRAWN - 1 : piece->slots;

	page_put(page, PAGE_PLAIN, "|");
	for (uint64_t i = 0; i < drawn; i++)
		put_cell(page, piece, i);
	if (drawn == piece->slots)
		return;
	page_put(page, PAGE_PLAIN, "… %s whole pages …|", units_count(piece->slots - drawn - 1).s);
	put_cell(page, piece, piece->slots - 1);
}

static void put_piece(struct page *page, const char *name, const json_t *object)
{
	struct piece piece = piece_of(object);

	page_pad(page, INDENT, 0);
	page_put(page, PAGE_PLAIN, "%s", name);
	page_pad(page, INDENT + NAME_WIDTH, 1);
	page_put(page, piece.slots > 1 ? PAGE_WARN : PAGE_PLAIN, "%s %s",
		 units_count(piece.slots).s, piece.slots == 1 ? "page" : "pages");
	page_pad(page, INDENT + NAME_WIDTH + PAGES_WIDTH, 1);
	page_put(page, PAGE_PLAIN, "%s B at %s", units_count(piece.size).s,
		 units_count(piece.offset).s);
	page_pad(page, LAYOUT_START, 1);
	put_layout(page, &piece);
	page_end(page);
}

/* Put "19 slots of 18".  A near miss is a warning; all other kinds are bad. */
static void put_slots(struct page *page, const json_t *record)
{
	bool bad = strcmp(field_text(record, "kind"), "near_miss") != 0;

	page_put(page, bad ? PAGE_BAD : PAGE_WARN, "%s slots",
		 field_units_count(record, "slots").s);
	page_put(page, PAGE_PLAIN, " of %s", field_units_count(record, "limit").s);
}

static const char *kind_of(const json_t *record)
{
	static const struct {
		const char *name, *words;
	} kinds[] = {{"near_miss", "near miss"}, {"overflow", "overflow"}, {"too_big", "too big"}};
	const char *kind = field_text(record, "kind");

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(kinds[i].name, kind))
			return kinds[i].words;
	return kind;
}

static void put_head(struct page *page, const json_t *record, const char *now)
{
	const json_t *task = json_object_get(record, "task");
	bool involved = field_true(task, "involved");

	page_put(page, PAGE_PLAIN, "%s  ", field_time(record, "time", now).s);
	page_put(page, PAGE_TITLE, "%s  ", kind_of(record));
	put_slots(page, record);
	page_put(page, !strcmp(field_text(record, "outcome"), "dropped") ? PAGE_BAD : PAGE_PLAIN,
		 "  %s", field_text(record, "outcome"));
	page_put(page, PAGE_PLAIN, "  %s B  %s  CPU %s",
		 units_count(field_count_or(record, "length_bytes", 0)).s,
		 field_text(record, "device"), field_units_number(record, "cpu").s);
	page_line(page, involved ? PAGE_PLAIN : PAGE_DIM, "  %s%s[%s]%s", involved ? "" : "(",
		  field_text(task, "comm"), field_units_number(task, "pid").s, involved ? "" : ")");
}

static const char *on_off(const json_t *offload, const char *name)
{
	return field_true(offload, name) ? "on" : "off";
}

static void put_sending(struct page *page, const json_t *record)
{
	const json_t *offload = json_object_get(record, "offload");

	page_pad(page, INDENT, 0);
	page_put(page, PAGE_PLAIN, "%s",
		 field_text_or(record, "flow", field_text(record, "protocol")));
	if (json_object_get(record, "gso_size"))
		page_put(page, PAGE_PLAIN, ", GSO with %s segments of %s B",
			 field_units_count(record, "gso_segs").s,
			 field_units_count(record, "gso_size").s);
	if (offload)
		page_put(page, PAGE_PLAIN, "; tso %s, gso %s, sg %s", on_off(offload, "tso"),
			 on_off(offload, "gso"), on_off(offload, "sg"));
	page_end(page);
}

void slot_layout_put(struct page *page, const json_t *record, const char *now)
{
	const json_t *frag;
	size_t i;

	put_head(page, record, now);
	put_sending(page, record);
	put_piece(page, "head", json_object_get(record, "head"));
	json_array_foreach(json_object_get(record, "frags"), i, frag)
	{
		char name[32];

		snprintf(name, sizeof(name), "frag %zu", i);
		put_piece(page, name, frag);
	}
}
