/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/metrics/series.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/array.h"
#include "common/hash.h"
#include "common/map.h"

/* Keys that are not in the readings any more are remembered up to this many; see must_remember(). */
#define REMEMBERED_MAX 8192

struct entry {
	struct series_key key;
	char *text;	/* owned; or NULL */
	uint32_t group; /* index in group[] */
	bool shown, seen;
	uint64_t now[SERIES_VALUES];   /* the sum of its rows in this round */
	uint64_t last[SERIES_VALUES];  /* the same of the round before */
	uint64_t added[SERIES_VALUES]; /* counted since then */
	uint64_t value[SERIES_VALUES]; /* what its series shows, or showed when it was given up */
	uint64_t active_ns, shown_ns;
};

struct group {
	uint32_t number;
	uint64_t now[SERIES_VALUES]; /* folds: the sum of the rows in this round */
	uint64_t total[SERIES_VALUES], other[SERIES_VALUES], unlisted[SERIES_VALUES];
};

struct metrics_series {
	bool folds;
	uint64_t seed;
	struct entry *entry;
	size_t count, room;
	struct map map;
	struct group *group;
	size_t groups, groups_room;
	uint32_t *shown; /* indices of the entries that are shown */
	size_t shown_count, shown_room;
	size_t others;
};

/* ---- the table --------------------------------------------------------------- */

static uint64_t hash_of(const struct metrics_series *series, const struct series_key *key)
{
	_Static_assert(SERIES_KEY_MAX % sizeof(uint64_t) == 0, "whole words");
	return hash_words(series->seed, key->bytes, SERIES_KEY_MAX);
}

static bool is(const void *entries, size_t number, const void *key)
{
	const struct entry *entry = entries;

	return !memcmp(&entry[number].key, key, sizeof(entry->key));
}

/* NULL: there is none. */
static struct entry *find_entry(const struct metrics_series *series, const struct series_key *key)
{
	size_t number;

	if (!map_find(&series->map, hash_of(series, key), is, series->entry, key, &number))
		return NULL;
	return &series->entry[number];
}

static int add_entry(struct metrics_series *series, const struct series_key *key, const char *text,
		     uint32_t group)
{
	char *copy = text ? strdup(text) : NULL;
	struct entry *entry;

	if (text && !copy)
		return -ENOMEM;
	if (ARRAY_GROW(series->entry, series->count, series->room) < 0 ||
	    map_add(&series->map, hash_of(series, key), series->count) < 0) {
		free(copy);
		return -ENOMEM;
	}
	entry = &series->entry[series->count++];
	*entry = (struct entry){.key = *key, .text = copy, .group = group};
	return 0;
}

/* ---- life -------------------------------------------------------------------- */

int metrics_series_new(struct metrics_series **series, bool folds)
{
	OWN_SERIES struct metrics_series *fresh = calloc(1, sizeof(*fresh));

	if (!fresh)
		return -ENOMEM;
	fresh->folds = folds;
	/* Without a random seed, a user who chooses the names of devices could make rounds slow, no more. */
	if (getrandom(&fresh->seed, sizeof(fresh->seed), GRND_NONBLOCK) < 0)
		fresh->seed = (uintptr_t)fresh;
	*series = TAKE_PTR(fresh);
	return 0;
}

void metrics_series_free(struct metrics_series **series)
{
	struct metrics_series *old = *series;

	if (!old)
		return;
	for (size_t i = 0; i < old->count; i++)
		free(old->entry[i].text);
	free(old->entry);
	map_clear(&old->map);
	free(old->group);
	free(old->shown);
	free(old);
	*series = NULL;
}

/* ---- a round ----------------------------------------------------------------- */

static void add(uint64_t to[SERIES_VALUES], const uint64_t from[SERIES_VALUES])
{
	for (int i = 0; i < SERIES_VALUES; i++)
		to[i] += from[i];
}

static void subtract(uint64_t to[SERIES_VALUES], const uint64_t from[SERIES_VALUES])
{
	for (int i = 0; i < SERIES_VALUES; i++)
		to[i] -= from[i];
}

void metrics_series_begin(struct metrics_series *series)
{
	for (size_t i = 0; i < series->count; i++) {
		struct entry *entry = &series->entry[i];

		entry->seen = false;
		memset(entry->now, 0, sizeof(entry->now));
	}
	for (size_t i = 0; i < series->groups; i++)
		memset(series->group[i].now, 0, sizeof(series->group[i].now));
}

/* Groups are few: drop reasons. */
static int find_group(struct metrics_series *series, uint32_t number, uint32_t *index)
{
	for (size_t i = 0; i < series->groups; i++)
		if (series->group[i].number == number) {
			*index = (uint32_t)i;
			return 0;
		}
	if (ARRAY_GROW(series->group, series->groups, series->groups_room) < 0)
		return -ENOMEM;
	*index = (uint32_t)series->groups;
	series->group[series->groups++] = (struct group){.number = number};
	return 0;
}

int metrics_series_add(struct metrics_series *series, const struct series_key *key, uint32_t number,
		       const char *text, const uint64_t values[SERIES_VALUES])
{
	struct entry *entry;
	uint32_t group;
	int r = find_group(series, number, &group);

	if (r == 0 && !find_entry(series, key))
		r = add_entry(series, key, text, group);
	if (r < 0)
		return r;
	entry = find_entry(series, key);
	entry->seen = true;
	add(entry->now, values);
	add(series->group[group].now, values);
	return 0;
}

int metrics_series_add_moved(struct metrics_series *series, const struct series_key *key,
			     uint32_t number, const char *text,
			     const uint64_t values[SERIES_VALUES])
{
	int r = metrics_series_add(series, key, number, text, values);

	if (r == 0)
		add(find_entry(series, key)->last, values);
	return r;
}

int metrics_series_add_rest(struct metrics_series *series, uint32_t number,
			    const uint64_t values[SERIES_VALUES])
{
	uint32_t group;
	int r = find_group(series, number, &group);

	if (r == 0)
		add(series->group[group].now, values);
	return r;
}

/* What the key counted since the last round.  If it folded in between, its counts of that time are in the rest. */
static void count(struct metrics_series *series, struct entry *entry, uint64_t now_ns)
{
	uint64_t any = 0;

	for (int i = 0; i < SERIES_VALUES; i++) {
		uint64_t now = entry->now[i], last = entry->last[i];

		entry->added[i] = now >= last ? now - last : series->folds ? 0 : now;
		any |= entry->added[i];
	}
	if (entry->seen || series->folds)
		memcpy(entry->last, entry->now, sizeof(entry->last));
	else
		memset(entry->added, 0, sizeof(entry->added));
	if (entry->seen && any)
		entry->active_ns = now_ns;
	if (!series->folds)
		add(series->group[entry->group].total, entry->added);
	if (entry->shown)
		add(entry->value, entry->added);
}

static void show(struct metrics_series *series, struct entry *entry, uint64_t now_ns)
{
	entry->shown = true;
	entry->shown_ns = now_ns;
	subtract(series->group[entry->group].unlisted, entry->value);
	add(entry->value, entry->added);
}

static void hide(struct metrics_series *series, struct entry *entry)
{
	entry->shown = false;
	add(series->group[entry->group].unlisted, entry->value);
}

/* Most events since the last round first, then most events at all. */
static int compare_busy(const void *a, const void *b)
{
	const struct entry *const *x = a, *const *y = b;

	if ((*x)->added[0] != (*y)->added[0])
		return (*x)->added[0] > (*y)->added[0] ? -1 : 1;
	if ((*x)->now[0] != (*y)->now[0])
		return (*x)->now[0] > (*y)->now[0] ? -1 : 1;
	return memcmp(&(*x)->key, &(*y)->key, sizeof((*x)->key));
}

/* Longest idle first; of those that are active now, the least busy. */
static int compare_idle(const void *a, const void *b)
{
	const struct entry *const *x = a, *const *y = b;

	if ((*x)->active_ns != (*y)->active_ns)
		return (*x)->active_ns < (*y)->active_ns ? -1 : 1;
	return compare_busy(b, a);
}

static bool can_replace(const struct entry *candidate, const struct entry *shown,
			const struct series_limits *limits, uint64_t now_ns)
{
	if (candidate->added[0] == 0)
		return false;
	if (now_ns - shown->active_ns >= limits->idle_ns)
		return true;
	return now_ns - shown->shown_ns >= limits->hold_ns &&
	       candidate->added[0] / 2 > shown->added[0];
}

static size_t collect(struct metrics_series *series, struct entry **list, bool shown)
{
	size_t found = 0;

	for (size_t i = 0; i < series->count; i++) {
		struct entry *entry = &series->entry[i];

		if (entry->shown == shown && (shown || entry->seen))
			list[found++] = entry;
	}
	return found;
}

/* Give the series to the keys.  Without memory, all stay as they are. */
static void choose(struct metrics_series *series, const struct series_limits *limits,
		   uint64_t now_ns)
{
	OWN_FREE struct entry **candidate = calloc(series->count + 1, sizeof(struct entry *));
	OWN_FREE struct entry **shown = calloc(series->count + 1, sizeof(struct entry *));
	size_t candidates, holders, next = 0;

	if (!candidate || !shown)
		return;
	candidates = collect(series, candidate, false);
	holders = collect(series, shown, true);
	if (holders > limits->shown || holders + candidates > limits->shown) {
		qsort(candidate, candidates, sizeof(struct entry *), compare_busy);
		qsort(shown, holders, sizeof(struct entry *), compare_idle);
	}
	for (size_t i = 0; i < holders && holders - i > limits->shown; i++)
		hide(series, shown[i]);
	for (; next < candidates && holders + next < limits->shown; next++)
		show(series, candidate[next], now_ns);
	for (size_t i = 0; i < holders && next < candidates; i++) {
		if (!shown[i]->shown || !can_replace(candidate[next], shown[i], limits, now_ns))
			continue;
		hide(series, shown[i]);
		show(series, candidate[next++], now_ns);
	}
}

/* A series that is shown stays.  Where counts do not fold, a key that comes back goes on where it was. */
static bool must_remember(const struct metrics_series *series, const struct entry *entry)
{
	return entry->seen || entry->shown || (!series->folds && series->count <= REMEMBERED_MAX);
}

static void forget_gone(struct metrics_series *series)
{
	size_t kept = 0, before = series->count;

	for (size_t i = 0; i < before; i++) {
		if (must_remember(series, &series->entry[i]))
			series->entry[kept++] = series->entry[i];
		else
			free(series->entry[i].text);
	}
	if (kept == before)
		return;
	series->count = kept;
	/* The map keeps its memory, so that this needs none. */
	map_forget(&series->map);
	for (size_t i = 0; i < kept; i++)
		map_add(&series->map, hash_of(series, &series->entry[i].key), i);
}

/* A series that is idle and whose key is gone ends, also if no other key needs it. */
static void retire_gone(struct metrics_series *series, const struct series_limits *limits,
			uint64_t now_ns)
{
	for (size_t i = 0; i < series->count; i++) {
		struct entry *entry = &series->entry[i];

		if (entry->shown && !entry->seen && now_ns - entry->active_ns >= limits->idle_ns)
			hide(series, entry);
	}
}

/* What is left of the total; it never decreases, also if the rows were read while they changed. */
static void sum_others(struct metrics_series *series)
{
	OWN_FREE uint64_t(*rest)[SERIES_VALUES] = calloc(series->groups + 1, sizeof(*rest));

	if (!rest)
		return;
	for (size_t i = 0; i < series->groups; i++) {
		struct group *group = &series->group[i];

		for (int j = 0; series->folds && j < SERIES_VALUES; j++)
			if (group->now[j] > group->total[j])
				group->total[j] = group->now[j];
		memcpy(rest[i], group->total, sizeof(rest[i]));
		subtract(rest[i], group->unlisted);
	}
	for (size_t i = 0; i < series->count; i++)
		if (series->entry[i].shown)
			subtract(rest[series->entry[i].group], series->entry[i].value);
	for (size_t i = 0; i < series->groups; i++)
		for (int j = 0; j < SERIES_VALUES; j++)
			if ((int64_t)(rest[i][j] - series->group[i].other[j]) > 0)
				series->group[i].other[j] = rest[i][j];
}

static void list_shown(struct metrics_series *series)
{
	series->shown_count = series->others = 0;
	for (size_t i = 0; i < series->count; i++) {
		series->others += !series->entry[i].shown && series->entry[i].seen;
		if (!series->entry[i].shown ||
		    ARRAY_GROW(series->shown, series->shown_count, series->shown_room) < 0)
			continue;
		series->shown[series->shown_count++] = (uint32_t)i;
	}
}

void metrics_series_end(struct metrics_series *series, const struct series_limits *limits,
			uint64_t now_ns)
{
	for (size_t i = 0; i < series->count; i++)
		count(series, &series->entry[i], now_ns);
	retire_gone(series, limits, now_ns);
	choose(series, limits, now_ns);
	sum_others(series);
	forget_gone(series);
	list_shown(series);
}

/* ---- reading ----------------------------------------------------------------- */

bool metrics_series_row(const struct metrics_series *series, size_t i, struct series_row *row)
{
	const struct entry *entry;

	if (i >= series->shown_count)
		return false;
	entry = &series->entry[series->shown[i]];
	*row = (struct series_row){
		.key = &entry->key,
		.text = entry->text,
		.group = series->group[entry->group].number,
		.values = entry->value,
	};
	return true;
}

size_t metrics_series_shown(const struct metrics_series *series)
{
	return series->shown_count;
}

bool metrics_series_group(const struct metrics_series *series, size_t i, struct series_group *group)
{
	const struct group *found = &series->group[i];

	if (i >= series->groups)
		return false;
	*group = (struct series_group){
		.group = found->number,
		.total = found->total,
		.other = found->other,
		.unlisted = found->unlisted,
	};
	return true;
}

size_t metrics_series_others(const struct metrics_series *series)
{
	return series->others;
}
