/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/rows/drop_rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/records.h"
#include "common/array.h"
#include "common/hash.h"
#include "common/nearest.h"
#include "common/texts.h"
#include "daemon/core/verdict.h"
#include "daemon/rows/late_names.h"

/* The flow of the rows behind the limit. */
static const char others[] = "(others)";

static const struct {
	const char *name;
	struct drop_grouping grouping;
} groupings[] = {
	{"reason", {DROP_REASON, 0}},
	{"location", {DROP_LOCATION, 0}},
	{"dev", {DROP_DEVICE | DROP_NETNS, DROP_COARSE | DROP_GONE | DROP_UNKEYED}},
	{"proto", {DROP_PROTOCOL, DROP_COARSE | DROP_GONE | DROP_UNKEYED}},
	/* A namespace with too many keys still knows its coarse ones. */
	{"netns", {DROP_NETNS, DROP_GONE | DROP_UNKEYED}},
	{"cgroup", {DROP_CGROUP, DROP_COARSE | DROP_GONE | DROP_UNKEYED}},
	{"flow", {DROP_FLOW, 0}},
};

static const struct drop_grouping *find_grouping(struct drop_grouping_error *error)
{
	struct nearest nearest;
	char name[32];

	snprintf(name, sizeof(name), "%.*s", (int)error->length, error->name);
	nearest_init(&nearest, name);
	for (size_t i = 0; i < ARRAY_SIZE(groupings); i++) {
		if (!strcmp(groupings[i].name, name))
			return &groupings[i].grouping;
		nearest_consider(&nearest, groupings[i].name);
	}
	error->nearest = nearest.best;
	return NULL;
}

int drop_grouping_read(struct drop_grouping *by, const char *names,
		       struct drop_grouping_error *error)
{
	const char *at = names;

	*by = (struct drop_grouping){0};
	do {
		const struct drop_grouping *one;

		*error = (struct drop_grouping_error){.name = at, .length = strcspn(at, ",")};
		one = find_grouping(error);
		if (!one)
			return -EINVAL;
		by->fields |= one->fields;
		by->lost |= one->lost;
		at += error->length + 1;
	} while (at[-1]);
	if (!(by->fields & DROP_FLOW) || by->fields == DROP_FLOW)
		return 0;
	*error = (struct drop_grouping_error){.name = names, .length = strlen(names)};
	return -EINVAL;
}

void drop_rows_clear(struct drop_rows *rows)
{
	free(rows->row);
	map_clear(&rows->map);
	rows->row = NULL;
	rows->count = rows->room = 0;
}

/* ---- joining ------------------------------------------------------------------------ */

static bool is(const void *items, size_t number, const void *key)
{
	const struct drop_row *rows = items;

	return !memcmp(&rows[number].key, key, sizeof(struct drop_key));
}

/* Strangers choose parts of the key: they do not know where the rows are kept. */
static uint64_t hash_of(const struct drop_rows *rows, const struct drop_key *key)
{
	_Static_assert(sizeof(*key) % sizeof(uint64_t) == 0, "a key is words");
	return hash_words((uintptr_t)rows, key, sizeof(*key));
}

/* The number of the row of a key.  0: there was one; 1: it is new and has no numbers; -ENOMEM. */
static int find_row(struct drop_rows *rows, const struct drop_row *like, size_t *number)
{
	uint64_t hash = hash_of(rows, &like->key);

	if (map_find(&rows->map, hash, is, rows->row, &like->key, number))
		return 0;
	if (ARRAY_GROW(rows->row, rows->count, rows->room) < 0 ||
	    map_add(&rows->map, hash, rows->count) < 0)
		return -ENOMEM;
	*number = rows->count++;
	rows->row[*number] = (struct drop_row){.key = like->key,
					       .evidence = like->evidence,
					       .lost = like->lost,
					       .mark = like->mark,
					       .host = like->host};
	return 1;
}

/* What a row's drops have in common becomes less. */
static void join(struct drop_row *row, const struct drop_row *other)
{
	row->evidence &= other->evidence;
	row->lost &= other->lost;
	row->host &= other->host;
	if (other->mark > row->mark)
		row->mark = other->mark;
}

/* Only the numbers. */
static void add(struct drop_row *row, const struct drop_row *other)
{
	row->packets += other->packets;
	row->segments += other->segments;
	row->bytes += other->bytes;
	row->unmeasured |= other->unmeasured;
	if (other->last_ns > row->last_ns)
		row->last_ns = other->last_ns;
}

/* Join rows that have become equal. */
static int join_equal(struct drop_rows *rows)
{
	struct drop_row *all = rows->row;
	size_t count = rows->count;
	int r = 0;

	rows->row = NULL;
	rows->count = rows->room = 0;
	map_forget(&rows->map);
	for (size_t i = 0; i < count && r >= 0; i++) {
		const struct drop_row *one = &all[i];
		size_t number;

		r = find_row(rows, one, &number);
		if (r == 0)
			join(&rows->row[number], one);
		if (r >= 0)
			add(&rows->row[number], one);
	}
	free(all);
	return r < 0 ? r : 0;
}

/* ---- placing ------------------------------------------------------------------------ */

/* Also one with which a row of the key is joined at the end. */
static bool has_row(const struct drop_rows *rows, const struct drop_key *wanted)
{
	struct drop_key key = *wanted;
	bool found = false;
	size_t number;

	if (rows->texts && !drop_key_find(&key, rows->texts))
		return false;
	for (uint8_t i = 0; i < 4 && !found; i++) {
		key.unseen = i & 1;
		key.unsure = i >> 1;
		found = map_find(&rows->map, hash_of(rows, &key), is, rows->row, &key, &number);
	}
	return found;
}

/* There are enough rows: what is left of one more is like that of others. */
static void fold(struct drop_row *row)
{
	if (row->key.flow) {
		row->key.flow = others;
		return;
	}
	drop_key_project(&row->key, DROP_REASON | DROP_LOCATION);
	row->evidence = 0;
	row->mark = row->key.unseen = row->key.unsure = 0;
	row->lost = row->key.lost = DROP_GONE;
}

/* The row that the cause's drops count for. */
static int place_in_row(struct drop_rows *rows, const struct drop_row *cause, uint32_t *place)
{
	struct drop_row row = *cause;
	size_t number;
	int r;

	row.key.lost = row.lost & rows->by.lost;
	drop_key_project(&row.key, drop_row_fields(cause, rows->by.fields));
	if (rows->most && rows->count >= rows->most && !has_row(rows, &row.key))
		fold(&row);
	if (rows->texts)
		drop_key_keep(&row.key, rows->texts);
	if (rows->texts && rows->texts->failed)
		return -ENOMEM;
	r = find_row(rows, &row, &number);
	if (r < 0)
		return r;
	if (r == 0)
		join(&rows->row[number], &row);
	*place = (uint32_t)number;
	return 0;
}

int drop_rows_place(struct drop_rows *rows, const struct drop_row *cause, bool folded,
		    struct drop_place *place)
{
	*place = (struct drop_place){.class = cause->key.class};
	if (cause->key.message)
		place->in = DROP_IN_MESSAGES;
	else if (folded)
		place->in = DROP_IN_FOLDED;
	else if (!(rows->classes & VERDICT_CLASS_BIT(cause->key.class)))
		place->in = DROP_IN_CLASS;
	else
		place->in = DROP_IN_ROW;
	return place->in == DROP_IN_ROW ? place_in_row(rows, cause, &place->row) : 0;
}

void drop_rows_count(struct drop_rows *rows, const struct drop_place *place,
		     const struct drop_row *count)
{
	switch (place->in) {
	case DROP_IN_ROW:
		add(&rows->row[place->row], count);
		rows->class[place->class] += count->packets;
		break;
	case DROP_IN_CLASS:
		rows->class[place->class] += count->packets;
		break;
	case DROP_IN_FOLDED:
		rows->folded += count->packets;
		break;
	case DROP_IN_MESSAGES:
		rows->messages += count->packets;
		break;
	case DROP_NOWHERE:
		break;
	}
}

/* ---- finishing ----------------------------------------------------------------------- */

static int name_unsure(struct drop_rows *rows, bool *changed)
{
	OWN_LATE_NAMES struct late_names names = {0};
	int r = 0;

	for (size_t i = 0; i < rows->count && r == 0; i++)
		if (!rows->row[i].key.unsure)
			r = late_names_learn(&names, &rows->row[i].key.device);
	for (size_t i = 0; i < rows->count && r == 0; i++) {
		struct drop_key *key = &rows->row[i].key;

		if (!key->unsure)
			continue;
		late_names_give(&names, &key->device);
		key->unsure = 0;
		*changed = true;
	}
	return r;
}

/* A cause that the baseline has not seen is new if it dropped since. */
static void mark_unseen(struct drop_rows *rows, bool *changed)
{
	for (size_t i = 0; i < rows->count; i++) {
		struct drop_row *row = &rows->row[i];

		if (!row->key.unseen)
			continue;
		if (row->last_ns > rows->new_after_ns && row->mark < rows->new_mark)
			row->mark = rows->new_mark;
		row->key.unseen = 0;
		*changed = true;
	}
}

/* A source may have asked for the place of a cause that has no drops in its time. */
static void leave_out_empty(struct drop_rows *rows)
{
	size_t kept = 0;

	for (size_t i = 0; i < rows->count; i++)
		if (rows->row[i].packets)
			rows->row[kept++] = rows->row[i];
	rows->count = kept;
}

static int urgency(const struct drop_row *row, int first)
{
	return row->mark >= first ? row->mark : 0;
}

/* The class that deserves attention first, then what is new or has grown, then the most packets. */
static int compare(const void *x, const void *y, void *first)
{
	const struct drop_row *a = x, *b = y;
	int order = verdict_rank((enum knowledge_class)a->key.class) -
		    verdict_rank((enum knowledge_class)b->key.class);

	if (!order)
		order = urgency(b, *(const uint8_t *)first) - urgency(a, *(const uint8_t *)first);
	return order ? order : ORDER(b->packets, a->packets);
}

int drop_rows_finish(struct drop_rows *rows)
{
	bool changed = false;
	int r = name_unsure(rows, &changed);

	mark_unseen(rows, &changed);
	if (r == 0 && changed)
		r = join_equal(rows);
	leave_out_empty(rows);
	map_clear(&rows->map);
	if (rows->count)
		qsort_r(rows->row, rows->count, sizeof(*rows->row), compare, &rows->first_mark);
	for (size_t i = 0; i < rows->count; i++)
		add(&rows->sum, &rows->row[i]);
	return r;
}

uint64_t drop_rows_hidden(const struct drop_rows *rows)
{
	uint64_t hidden = 0;

	for (int i = 0; i < KNOWLEDGE_CLASSES; i++)
		if (!(rows->classes & VERDICT_CLASS_BIT(i)))
			hidden += rows->class[i];
	return hidden;
}
