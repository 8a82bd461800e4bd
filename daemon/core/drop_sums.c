/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/core/drop_sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/hash.h"
#include "common/map.h"

struct row {
	struct drop_sum sum;	/* its count: kept for good */
	struct drop_count read; /* of this reading */
	uint32_t times;		/* that counts were kept */
	/* Valid while folding: */
	bool gone;   /* of a namespace that is certainly gone */
	bool steady; /* one of those that come again */
};

struct drop_sums {
	size_t keys; /* the limit */
	/* The first `kept` rows are kept, the others were only read. */
	struct row *row;
	size_t kept, count, room;
	struct map map; /* of the rows */
	/* Sorted by reason, location and evidence. */
	struct drop_sum *gone;
	size_t gone_count, gone_room;
};

/* ---- life ---------------------------------------------------------------- */

int drop_sums_new(struct drop_sums **sums, size_t keys)
{
	struct drop_sums *fresh = calloc(1, sizeof(*fresh));

	if (!fresh)
		return -ENOMEM;
	fresh->keys = keys;
	*sums = fresh;
	return 0;
}

void drop_sums_free(struct drop_sums **sums)
{
	if (!*sums)
		return;
	free((*sums)->row);
	map_clear(&(*sums)->map);
	free((*sums)->gone);
	free(*sums);
	*sums = NULL;
}

/* ---- rows ---------------------------------------------------------------- */

static uint64_t hash_of(const struct nf_drop_key *key)
{
	_Static_assert(sizeof(*key) % sizeof(uint64_t) == 0, "the key is whole words");
	return hash_words(0, key, sizeof(*key));
}

static bool is(const void *rows, size_t number, const void *key)
{
	const struct row *row = rows;

	return !memcmp(&row[number].sum.key, key, sizeof(row->sum.key));
}

static struct row *find(const struct drop_sums *sums, const struct nf_drop_key *key)
{
	size_t number;

	return map_find(&sums->map, hash_of(key), is, sums->row, key, &number) ? &sums->row[number]
									       : NULL;
}

/* Append a row for the sum's key; there must be room for it. */
static struct row *append(struct drop_sums *sums, const struct drop_sum *sum)
{
	struct row *row = &sums->row[sums->count];

	*row = (struct row){.sum = *sum};
	row->sum.count = (struct drop_count){0};
	row->sum.gone = false;
	map_add(&sums->map, hash_of(&sum->key), sums->count++);
	return row;
}

static void add_count(struct drop_count *to, const struct drop_count *from)
{
	to->packets += from->packets;
	to->segments += from->segments;
	to->bytes += from->bytes;
	if (from->last_ns > to->last_ns)
		to->last_ns = from->last_ns;
}

/* Of two names of a device, that of the newer drop. */
static void take_name(struct row *row, const struct drop_sum *sum)
{
	if (sum->device[0] && sum->count.last_ns >= row->sum.count.last_ns &&
	    sum->count.last_ns >= row->read.last_ns)
		memcpy(row->sum.device, sum->device, sizeof(row->sum.device));
}

void drop_sums_begin(struct drop_sums *sums)
{
	while (sums->count > sums->kept) {
		sums->count--;
		map_remove(&sums->map, hash_of(&sums->row[sums->count].sum.key), sums->count);
	}
	for (size_t i = 0; i < sums->count; i++)
		sums->row[i].read = (struct drop_count){0};
}

int drop_sums_add(struct drop_sums *sums, const struct drop_sum *sum)
{
	struct row *row = find(sums, &sum->key);

	if (!row) {
		if (ARRAY_GROW(sums->row, sums->count, sums->room) < 0 ||
		    map_reserve(&sums->map, sums->count + 1) < 0)
			return -ENOMEM;
		row = append(sums, sum);
	}
	take_name(row, sum);
	add_count(&row->read, &sum->count);
	return 0;
}

int drop_sums_reserve(struct drop_sums *sums, size_t more)
{
	size_t room = sums->kept + more;
	void *rows;

	if (map_reserve(&sums->map, room) < 0)
		return -ENOMEM;
	if (room <= sums->room)
		return 0;
	rows = reallocarray(sums->row, room, sizeof(*sums->row));
	if (!rows)
		return -ENOMEM;
	sums->row = rows;
	sums->room = room;
	return 0;
}

void drop_sums_keep(struct drop_sums *sums, const struct drop_sum *sum)
{
	struct row *row = find(sums, &sum->key);

	if (!row) {
		row = append(sums, sum);
		sums->kept = sums->count;
	}
	row->times++;
	take_name(row, sum);
	add_count(&row->sum.count, &sum->count);
}

/* ---- folding ------------------------------------------------------------- */

static int compare_cause(const struct drop_sum *a, const struct nf_drop_key *key)
{
	int order = ORDER(a->key.reason, key->reason);

	if (!order)
		order = ORDER(a->key.location, key->location);
	return order ? order : ORDER(a->key.evidence, key->evidence);
}

/* The folded sum of a cause; NULL if there is none and `insert` is false, or without memory. */
static struct drop_sum *gone_sum(struct drop_sums *sums, const struct nf_drop_key *key, bool insert)
{
	size_t at = LOWER_BOUND(sum, sums->gone, sums->gone_count, compare_cause(sum, key) < 0);

	if (at < sums->gone_count && compare_cause(&sums->gone[at], key) == 0)
		return &sums->gone[at];
	if (!insert || ARRAY_GROW(sums->gone, sums->gone_count, sums->gone_room) < 0)
		return NULL;
	memmove(&sums->gone[at + 1], &sums->gone[at],
		(sums->gone_count++ - at) * sizeof(*sums->gone));
	sums->gone[at] = (struct drop_sum){.key = {.reason = key->reason,
						   .location = key->location,
						   .evidence = key->evidence},
					   .gone = true};
	return &sums->gone[at];
}

/* True if the reason and location of the key has room for another kind of evidence. */
static bool has_room(const struct drop_sums *sums, const struct nf_drop_key *key)
{
	struct nf_drop_key first = *key;
	size_t at, last;

	first.evidence = 0;
	at = LOWER_BOUND(sum, sums->gone, sums->gone_count, compare_cause(sum, &first) < 0);
	last = at + DROP_SUMS_EVIDENCES_MAX - 1;
	return last >= sums->gone_count || sums->gone[last].key.reason != key->reason ||
	       sums->gone[last].key.location != key->location;
}

/* The sum for a key: its own, or one without evidence, or one of its reason.  NULL: no memory. */
static struct drop_sum *folded_sum(struct drop_sums *sums, const struct nf_drop_key *key)
{
	bool room = sums->gone_count < DROP_SUMS_GONE_MAX;
	struct drop_sum *sum = gone_sum(sums, key, room && has_room(sums, key));
	/* Messages are no drops, and stay apart from them. */
	struct nf_drop_key rest = {.reason = key->reason,
				   .location = key->location,
				   .evidence = key->evidence & NF_EVIDENCE_MESSAGE};

	if (!sum)
		sum = gone_sum(sums, &rest, room);
	if (sum || room)
		return sum;
	rest.location = 0;
	return gone_sum(sums, &rest, true);
}

static int fold_row(struct drop_sums *sums, const struct row *row)
{
	struct drop_sum *sum = folded_sum(sums, &row->sum.key);

	if (!sum)
		return -ENOMEM;
	sum->mixed |= compare_cause(sum, &row->sum.key) != 0;
	add_count(&sum->count, &row->sum.count);
	return 0;
}

/* The rows of one inode number next to each other, the newest drop first. */
static int by_namespace(const void *x, const void *y)
{
	const struct row *a = x, *b = y;
	int order = ORDER(a->sum.netns, b->sum.netns);

	return order ? order : ORDER(b->sum.count.last_ns, a->sum.count.last_ns);
}

/* The rows to fold first come last. */
static int by_worth(const void *x, const void *y)
{
	const struct row *a = x, *b = y;
	int order = ORDER(a->gone, b->gone);

	if (!order)
		order = ORDER(b->steady, a->steady);
	return order ? order : ORDER(b->sum.count.last_ns, a->sum.count.last_ns);
}

/*
 * The kernel gives the inode number of a namespace to another one only when the namespace is gone.  So of the
 * namespaces with one number, only the one with the newest drop can exist.  Where the identity of a namespace is the
 * inode number itself (before 5.12), this finds none.
 */
static void find_gone(struct drop_sums *sums)
{
	uint32_t newest = 0;

	qsort(sums->row, sums->count, sizeof(*sums->row), by_namespace);
	for (size_t i = 0; i < sums->count; i++) {
		const struct drop_sum *sum = &sums->row[i].sum;

		if (!i || sum->netns != sums->row[i - 1].sum.netns)
			newest = sum->key.netns;
		sums->row[i].steady = false;
		sums->row[i].gone = sum->netns && sum->key.netns && sum->key.netns != newest;
	}
}

/*
 * Namespaces that come and go bring keys that are new, and then idle, but not for long yet.  So that they do not push
 * out the keys whose drops come again and again, the newest of those stay, as many as a quarter of the limit.
 */
static void find_steady(struct drop_sums *sums)
{
	size_t left = sums->keys / 4;

	for (size_t i = 0; i < sums->count && left; i++) {
		struct row *row = &sums->row[i];

		row->steady = row->times > 1 && !row->gone;
		left -= row->steady;
	}
}

/* After rows moved or went: the map keeps its memory. */
static void number_again(struct drop_sums *sums)
{
	map_forget(&sums->map);
	for (size_t i = 0; i < sums->count; i++)
		map_add(&sums->map, hash_of(&sums->row[i].sum.key), i);
}

size_t drop_sums_fold(struct drop_sums *sums)
{
	size_t before = sums->kept;

	if (sums->kept <= sums->keys)
		return 0;
	find_gone(sums);
	qsort(sums->row, sums->count, sizeof(*sums->row), by_worth);
	find_steady(sums);
	qsort(sums->row, sums->count, sizeof(*sums->row), by_worth);
	while (sums->count > sums->keys / 2 && fold_row(sums, &sums->row[sums->count - 1]) == 0)
		sums->count--;
	sums->kept = sums->count;
	number_again(sums);
	return before - sums->kept;
}

/* ---- reading ------------------------------------------------------------- */

int drop_sums_visit(const struct drop_sums *sums, int (*visit)(const struct drop_sum *, void *),
		    void *userdata)
{
	int r = 0;

	for (size_t i = 0; i < sums->count && r == 0; i++) {
		struct drop_sum sum = sums->row[i].sum;

		add_count(&sum.count, &sums->row[i].read);
		if (sum.count.packets)
			r = visit(&sum, userdata);
	}
	for (size_t i = 0; i < sums->gone_count && r == 0; i++)
		r = visit(&sums->gone[i], userdata);
	return r;
}

size_t drop_sums_kept(const struct drop_sums *sums)
{
	return sums->kept;
}
