/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/elsewhere/tally.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"

struct places {
	struct tally_place *at;
	size_t count, room;
};

struct counters {
	struct tally_counter *at;
	size_t count, room;
};

struct tally {
	uint64_t now;
	bool complete;	  /* the last scan added all namespaces */
	bool without_all; /* a namespace found no room in this one */
	struct places places, fresh_places;
	struct counters counters,
		fresh_counters; /* of fresh ones, `last` is the value, and the rest 0 */
	struct counters gone;
	/* The namespace that was added last, and where it begins. */
	uint64_t cookie;
	uint32_t netns;
	size_t netns_places, netns_counters;
	/* Where a scan leaves out counters for lack of room; their sources are in `unread`. */
	struct places cut;
	char *names[TALLY_NAMES_MAX + 1];
	uint16_t names_count;
	uint64_t left_out, left_out_now;
};

#define ALL_SOURCES (TALLY_SOURCE(ELSEWHERE_SOURCES) - 1)

/* ---- order ------------------------------------------------------------------- */

#define THEN(order, next)              \
	do {                           \
		int order_ = (order);  \
		if (order_)            \
			return order_; \
	} while (0);                   \
	return (next)

static int compare_namespace(uint64_t cookie, uint32_t netns, uint64_t cookie_b, uint32_t netns_b)
{
	THEN(ORDER(cookie, cookie_b), ORDER(netns, netns_b));
}

static int compare_places(const void *x, const void *y)
{
	const struct tally_place *a = x, *b = y;

	THEN(compare_namespace(a->cookie, a->netns, b->cookie, b->netns),
	     ORDER(a->ifindex, b->ifindex));
}

static int compare_kinds(const struct tally_key *a, const struct tally_key *b)
{
	THEN(ORDER(a->source, b->source), ORDER(a->name, b->name));
}

static int compare_owners(const struct tally_key *a, const struct tally_key *b)
{
	int order = compare_namespace(a->cookie, a->netns, b->cookie, b->netns);

	if (order == 0)
		order = ORDER(a->ifindex, b->ifindex);
	THEN(order, ORDER(a->label, b->label));
}

static int compare_keys(const struct tally_key *a, const struct tally_key *b)
{
	int order = compare_owners(a, b);

	if (order == 0)
		order = compare_kinds(a, b);
	THEN(order, ORDER(a->instance, b->instance));
}

static int compare_counters(const void *x, const void *y)
{
	const struct tally_counter *a = x, *b = y;

	return compare_keys(&a->key, &b->key);
}

static struct tally_place *find_place(const struct places *places, const struct tally_place *like)
{
	size_t i = LOWER_BOUND(place, places->at, places->count, compare_places(place, like) < 0);

	return i < places->count && compare_places(&places->at[i], like) == 0 ? &places->at[i]
									      : NULL;
}

static const struct tally_place *place_of(const struct places *places, const struct tally_key *key)
{
	const struct tally_place like = {
		.cookie = key->cookie, .netns = key->netns, .ifindex = key->ifindex};

	return find_place(places, &like);
}

/* ---- memory ------------------------------------------------------------------ */

int tally_new(struct tally **tally)
{
	struct tally *fresh = calloc(1, sizeof(*fresh));

	if (!fresh)
		return -ENOMEM;
	fresh->names_count = 1; /* 0 is none */
	*tally = fresh;
	return 0;
}

void tally_free(struct tally **tally)
{
	struct tally *t = *tally;

	if (!t)
		return;
	for (size_t i = 0; i < t->names_count; i++)
		free(t->names[i]);
	free(t->places.at);
	free(t->fresh_places.at);
	free(t->cut.at);
	free(t->counters.at);
	free(t->fresh_counters.at);
	free(t->gone.at);
	free(t);
	*tally = NULL;
}

/* The number of a name; 0: there is no room for more; -ENOMEM. */
static int name_number(struct tally *tally, const char *name)
{
	for (int i = 1; i < tally->names_count; i++)
		if (!strcmp(tally->names[i], name))
			return i;
	if (tally->names_count > TALLY_NAMES_MAX)
		return 0;
	tally->names[tally->names_count] = strdup(name);
	return tally->names[tally->names_count] ? tally->names_count++ : -ENOMEM;
}

static int push_place(struct places *places, const struct tally_place *place)
{
	if (ARRAY_GROW(places->at, places->count, places->room) < 0)
		return -ENOMEM;
	places->at[places->count++] = *place;
	return 0;
}

static int push_counter(struct counters *counters, const struct tally_counter *counter)
{
	if (ARRAY_GROW(counters->at, counters->count, counters->room) < 0)
		return -ENOMEM;
	counters->at[counters->count++] = *counter;
	return 0;
}

/* ---- one scan ------------------------------------------------------------------ */

void tally_begin(struct tally *tally, uint64_t now)
{
	tally->now = now;
	tally->fresh_places.count = tally->fresh_counters.count = tally->cut.count = 0;
	tally->without_all = false;
	tally->left_out_now = 0;
}

/* The place of the namespace that was added last; NULL: it found no room. */
static struct tally_place *last_namespace(struct tally *tally)
{
	struct tally_place *at = tally->fresh_places.at;

	return tally->netns_places < tally->fresh_places.count ? &at[tally->netns_places] : NULL;
}

/* A counter that finds no room: if there is room later, nothing says what it counted until then. */
static int cut(struct tally *tally, const struct tally_key *key)
{
	struct tally_place *last = tally->cut.count ? &tally->cut.at[tally->cut.count - 1] : NULL;
	const struct tally_place place = {.cookie = key->cookie,
					  .netns = key->netns,
					  .ifindex = key->ifindex,
					  .unread = TALLY_SOURCE(key->source)};

	tally->left_out_now++;
	if (!last || compare_places(last, &place) != 0)
		return push_place(&tally->cut, &place);
	last->unread |= place.unread;
	return 0;
}

int tally_add_place(struct tally *tally, const struct tally_place *place)
{
	if (!place->ifindex) {
		tally->cookie = place->cookie;
		tally->netns = place->netns;
		tally->netns_places = tally->fresh_places.count;
		tally->netns_counters = tally->fresh_counters.count;
	}
	if (tally->fresh_places.count < TALLY_PLACES_MAX)
		return push_place(&tally->fresh_places, place);
	tally->left_out_now++;
	if (!place->ifindex)
		tally->without_all = true;
	else if (last_namespace(tally))
		last_namespace(tally)->cut = true;
	return 0;
}

int tally_add_counter(struct tally *tally, enum elsewhere_source source, uint32_t ifindex,
		      const char *label, const char *name, uint32_t instance, uint64_t value)
{
	struct tally_counter sample = {.key = {.cookie = tally->cookie,
					       .netns = tally->netns,
					       .ifindex = ifindex,
					       .source = source,
					       .instance = instance},
				       .last = value};
	int number, label_number;

	/* A counter that never moved needs no room. */
	if (!value)
		return 0;
	number = name_number(tally, name);
	label_number = label ? name_number(tally, label) : 0;
	if (number < 0 || label_number < 0)
		return -ENOMEM;
	/* A name that finds no room never does. */
	if (!number || (label && !label_number)) {
		tally->left_out_now++;
		return 0;
	}
	if (tally->fresh_counters.count >= 2 * TALLY_COUNTERS_MAX)
		return cut(tally, &sample.key);
	sample.key.label = (uint16_t)label_number;
	sample.key.name = (uint16_t)number;
	return push_counter(&tally->fresh_counters, &sample);
}

void tally_discard(struct tally *tally, enum elsewhere_source source)
{
	struct counters *fresh = &tally->fresh_counters;
	size_t kept = tally->netns_counters;

	for (size_t i = kept; i < fresh->count; i++)
		if (fresh->at[i].key.source != source)
			fresh->at[kept++] = fresh->at[i];
	fresh->count = kept;
}

void tally_unread(struct tally *tally, enum elsewhere_source source)
{
	struct tally_place *place = last_namespace(tally);

	tally_discard(tally, source);
	if (place)
		place->unread |= TALLY_SOURCE(source);
}

/* A namespace that is new to netflowd was made since the last scan, if that one saw all namespaces. */
static bool is_new_namespace(const struct tally *tally, const struct tally_place *place)
{
	const struct tally_place netns = {.cookie = place->cookie, .netns = place->netns};

	return tally->complete && !find_place(&tally->places, &netns);
}

int tally_keep(struct tally *tally)
{
	struct tally_place like;
	int r = 0;

	if (tally->netns_places >= tally->fresh_places.count)
		return 0;
	like = tally->fresh_places.at[tally->netns_places];
	tally->fresh_places.count = tally->netns_places;
	tally->fresh_counters.count = tally->netns_counters;
	/* A counter that a scan does not add keeps its value, so the places are enough. */
	for (size_t i = LOWER_BOUND(place, tally->places.at, tally->places.count,
				    compare_places(place, &like) < 0);
	     r == 0 && i < tally->places.count && tally->places.at[i].cookie == like.cookie &&
	     tally->places.at[i].netns == like.netns &&
	     tally->fresh_places.count < TALLY_PLACES_MAX;
	     i++) {
		struct tally_place place = tally->places.at[i];

		place.unread = ALL_SOURCES;
		r = push_place(&tally->fresh_places, &place);
	}
	if (r < 0 || tally->fresh_places.count > tally->netns_places)
		return r;
	/* It was met for the first time: only if it is new, so are the devices that a later scan finds in it. */
	like.unread = ALL_SOURCES;
	like.closed = !is_new_namespace(tally, &like);
	return push_place(&tally->fresh_places, &like);
}

/* ---- its end ------------------------------------------------------------------- */

/* Whether a device that was known by another namespace or number and is no longer there is this one. */
static bool was_moved(const struct tally *tally, const struct tally_place *place)
{
	static const uint8_t none[sizeof(place->mac)];

	if (!memcmp(place->mac, none, sizeof(none)))
		return false;
	for (size_t i = 0; i < tally->places.count; i++) {
		const struct tally_place *old = &tally->places.at[i];

		if (!memcmp(old->mac, place->mac, sizeof(old->mac)) &&
		    !strcmp(old->kind, place->kind) && !find_place(&tally->fresh_places, old))
			return true;
	}
	return false;
}

/* Hardware exists before its device appears in a namespace.  A virtual device was made since the last scan. */
static bool begins_at_0(const struct tally *tally, const struct tally_place *place)
{
	const struct tally_place like = {.cookie = place->cookie, .netns = place->netns};
	const struct tally_place *netns = find_place(&tally->places, &like);

	if (find_place(&tally->places, place))
		return true;
	if (!place->ifindex || !netns || !strcmp(place->name, "lo"))
		return is_new_namespace(tally, place) &&
		       (!place->ifindex || place->kind[0] || !strcmp(place->name, "lo")) &&
		       !was_moved(tally, place);
	return !netns->closed && !netns->cut && place->kind[0] && !was_moved(tally, place);
}

/* Whether the place of a counter or its namespace has the bit of its source, in `unread` or in `unknown`. */
static bool has_source(const struct places *places, const struct tally_key *key, bool unread)
{
	struct tally_key netns = *key;
	uint32_t bits = 0;

	netns.ifindex = 0;
	for (int i = 0; i < 2; i++) {
		const struct tally_place *place = place_of(places, i ? &netns : key);

		if (place)
			bits |= unread ? place->unread : place->unknown;
	}
	return bits & TALLY_SOURCE(key->source);
}

/*
 * What a source counted before it is first read in full is not new.  A place that is new had counted nothing.  A
 * source that was read once and cannot be read now keeps its last values, so its new counters were 0 then.
 */
static void find_unknown(struct tally *tally)
{
	for (size_t i = 0; i < tally->fresh_places.count; i++) {
		struct tally_place *place = &tally->fresh_places.at[i];
		const struct tally_place *before = find_place(&tally->places, place);
		uint32_t unread = place->unread;

		/* Its devices' own places are absent. */
		if (place->closed)
			unread |= ALL_SOURCES & ~TALLY_SOURCE(ELSEWHERE_TCP);
		place->begins_at_0 = begins_at_0(tally, place);
		place->unknown = before		      ? unread & before->unknown
				 : place->begins_at_0 ? 0
						      : unread;
	}
}

/* Last, because all counters of a source are new again after some of them were left out. */
static void mark_cut(struct tally *tally)
{
	for (size_t i = 0; i < tally->cut.count; i++) {
		struct tally_place *place = find_place(&tally->fresh_places, &tally->cut.at[i]);

		if (place)
			place->unknown |= tally->cut.at[i].unread;
	}
}

static void advance(struct tally_counter *counter, uint64_t value, uint64_t now)
{
	/* A counter that has become smaller has restarted. */
	uint64_t more = value >= counter->last ? value - counter->last : value;

	if (more)
		counter->moved_ns = now;
	counter->sum += more;
	counter->last = value;
}

static int add_gone(struct counters *gone, const struct tally_counter *counter)
{
	if (!counter->sum)
		return 0;
	for (size_t i = 0; i < gone->count; i++)
		if (compare_kinds(&gone->at[i].key, &counter->key) == 0 &&
		    gone->at[i].judgement == counter->judgement) {
			gone->at[i].sum += counter->sum;
			if (counter->moved_ns > gone->at[i].moved_ns)
				gone->at[i].moved_ns = counter->moved_ns;
			return 0;
		}
	return push_counter(gone, &(struct tally_counter){.key = {.source = counter->key.source,
								  .name = counter->key.name},
							  .sum = counter->sum,
							  .moved_ns = counter->moved_ns,
							  .judgement = counter->judgement});
}

/* Add up counters that came under one key, as the counters of a device's queues do. */
static void combine(struct counters *counters)
{
	size_t kept = 0;

	if (!counters->count)
		return;
	qsort(counters->at, counters->count, sizeof(counters->at[0]), compare_counters);
	for (size_t i = 1; i < counters->count; i++) {
		struct tally_counter *into = &counters->at[kept], *one = &counters->at[i];

		if (compare_keys(&into->key, &one->key) != 0) {
			counters->at[++kept] = *one;
			continue;
		}
		into->last += one->last;
		into->sum += one->sum;
		if (one->moved_ns > into->moved_ns)
			into->moved_ns = one->moved_ns;
	}
	counters->count = kept + 1;
}

/* A counter that the scan did not find: of a deleted place, of a closed socket, or one that could not be read. */
static int take_absent(const struct tally *tally, struct counters *to, struct counters *gone,
		       const struct tally_counter *old)
{
	struct tally_counter kept = *old;

	if (!place_of(&tally->fresh_places, &old->key))
		return add_gone(gone, old);
	if (kept.key.instance && !has_source(&tally->fresh_places, &old->key, true)) {
		kept.key.instance = 0;
		kept.last = 0;
	}
	return push_counter(to, &kept);
}

/* `room` is that for counters which are new. */
static int take_new(struct tally *tally, struct counters *to, const struct tally_counter *sample,
		    size_t room)
{
	const struct tally_place *place = place_of(&tally->fresh_places, &sample->key);
	struct tally_counter counter = *sample;

	if (!room)
		return cut(tally, &sample->key);
	counter.judgement = elsewhere_judge(counter.key.source, place ? place->kind : "",
					    tally->names[counter.key.name]);
	if (place && place->begins_at_0 && !has_source(&tally->places, &sample->key, false)) {
		counter.last = 0;
		advance(&counter, sample->last, tally->now);
	}
	return push_counter(to, &counter);
}

/* Both are sorted. */
static int merge(struct tally *tally, struct counters *to, struct counters *gone)
{
	const struct counters *old = &tally->counters, *new = &tally->fresh_counters;
	size_t i = 0, j = 0;
	int r = 0;

	while (r == 0 && (i < old->count || j < new->count)) {
		int order = i == old->count   ? 1
			    : j == new->count ? -1
					      : compare_counters(&old->at[i], &new->at[j]);

		if (order < 0) {
			r = take_absent(tally, to, gone, &old->at[i++]);
		} else if (order > 0) {
			/* What is known keeps its room. */
			size_t used = to->count + (old->count - i);

			r = take_new(tally, to, &new->at[j++],
				     used < TALLY_COUNTERS_MAX ? TALLY_COUNTERS_MAX - used : 0);
		} else {
			struct tally_counter counter = old->at[i++];

			advance(&counter, new->at[j++].last, tally->now);
			r = push_counter(to, &counter);
		}
	}
	return r;
}

/* -ENOMEM. */
static int copy_counters(struct counters *to, const struct counters *from)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < from->count; i++)
		r = push_counter(to, &from->at[i]);
	return r;
}

int tally_end(struct tally *tally, bool complete)
{
	struct counters next = {0}, gone = {0};
	struct places old = tally->places;
	int r;

	if (tally->fresh_places.count)
		qsort(tally->fresh_places.at, tally->fresh_places.count,
		      sizeof(tally->fresh_places.at[0]), compare_places);
	find_unknown(tally);
	combine(&tally->fresh_counters);
	r = copy_counters(&gone, &tally->gone);
	if (r == 0)
		r = merge(tally, &next, &gone);
	if (r < 0) {
		free(next.at);
		free(gone.at);
		return r;
	}
	combine(&next);
	mark_cut(tally);
	free(tally->counters.at);
	free(tally->gone.at);
	tally->counters = next;
	tally->gone = gone;
	tally->places = tally->fresh_places;
	tally->fresh_places = old;
	tally->left_out = tally->left_out_now;
	tally->complete = complete && !tally->without_all;
	return 0;
}

/* ---- what is known ------------------------------------------------------------- */

size_t tally_count(const struct tally *tally)
{
	return tally->counters.count;
}

const struct tally_counter *tally_at(const struct tally *tally, size_t i)
{
	return &tally->counters.at[i];
}

size_t tally_gone_count(const struct tally *tally)
{
	return tally->gone.count;
}

const struct tally_counter *tally_gone_at(const struct tally *tally, size_t i)
{
	return &tally->gone.at[i];
}

size_t tally_devices(const struct tally *tally)
{
	size_t devices = 0;

	for (size_t i = 0; i < tally->places.count; i++)
		devices += tally->places.at[i].ifindex != 0;
	return devices;
}

const struct tally_place *tally_place(const struct tally *tally, const struct tally_key *key)
{
	return place_of(&tally->places, key);
}

const char *tally_name(const struct tally *tally, uint16_t name)
{
	return tally->names[name];
}

uint64_t tally_left_out(const struct tally *tally)
{
	return tally->left_out;
}
