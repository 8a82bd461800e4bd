/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/store/captures.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/time.h"
#include "daemon/core/journey.h"
#include "daemon/kernel/attribution.h"

#define NETNS_SETTLED_NS TIME_NS_PER_SECOND
#define CGROUP_SETTLED_NS (10 * TIME_NS_PER_SECOND)

#define BUCKETS 256

enum kind { NETNS, CGROUP, KINDS };

struct captured {
	struct captured *next; /* in its bucket, newest first */
	uint64_t number;       /* inode number of the namespace, or id of the cgroup */
	enum kind kind;
	unsigned int holders;
	bool settled;	       /* a name that was not found stays not known */
	uint64_t begun_ns;     /* when it was first captured */
	uint64_t looked_up_ns; /* when it was last looked up; 0: never */
	char *text;	       /* the namespace's name, or the owner's strings; NULL: not known */
	struct owner owner;
};

struct captures {
	struct attribution *attribution;
	size_t count;
	size_t next_bucket; /* where captures_settle() continues */
	struct captured *buckets[KINDS][BUCKETS];
};

int captures_new(struct captures **captures, struct attribution *attribution)
{
	struct captures *fresh = calloc(1, sizeof(*fresh));

	if (!fresh)
		return -ENOMEM;
	fresh->attribution = attribution;
	*captures = fresh;
	return 0;
}

void captures_free(struct captures **captures)
{
	free(*captures);
	*captures = NULL;
}

size_t captures_count(const struct captures *captures)
{
	return captures->count;
}

/* ---- the table ----------------------------------------------------------- */

static struct captured **bucket_of(struct captures *captures, enum kind kind, uint64_t number)
{
	/* Fibonacci hashing, because both kinds of numbers are mostly consecutive. */
	return &captures->buckets[kind][(number * 0x9e3779b97f4a7c15ULL >> 32) % BUCKETS];
}

/* The newest one.  Older ones with the same number belong to namespaces that are gone. */
static struct captured *find(struct captures *captures, enum kind kind, uint64_t number)
{
	struct captured *one = *bucket_of(captures, kind, number);

	while (one && one->number != number)
		one = one->next;
	return one;
}

static struct captured *add(struct captures *captures, enum kind kind, uint64_t number,
			    uint64_t now)
{
	struct captured **bucket = bucket_of(captures, kind, number);
	struct captured *fresh = calloc(1, sizeof(*fresh));

	if (!fresh)
		return NULL;
	*fresh =
		(struct captured){.next = *bucket, .number = number, .kind = kind, .begun_ns = now};
	*bucket = fresh;
	captures->count++;
	return fresh;
}

static struct captured *hold(struct captured *captured)
{
	if (captured)
		captured->holders++;
	return captured;
}

void captures_release(struct captures *captures, struct captured *captured)
{
	struct captured **link;

	if (!captured || --captured->holders)
		return;
	link = bucket_of(captures, captured->kind, captured->number);
	while (*link != captured)
		link = &(*link)->next;
	*link = captured->next;
	captures->count--;
	free(captured->text);
	free(captured);
}

/* ---- lookups ------------------------------------------------------------- */

/* If memory runs out, the owner stays unknown, as after a lookup that found nothing. */
static void set_owner(struct captured *captured, const char *path)
{
	char unit[ATTRIBUTION_UNIT_MAX] = "", container[ATTRIBUTION_CONTAINER_MAX] = "";
	char pod[ATTRIBUTION_POD_MAX] = "";
	struct owner owner = {0};
	char *at;

	attribution_unit(path, unit);
	attribution_container(path, container);
	attribution_pod(path, pod);
	at = malloc(strlen(path) + strlen(unit) + strlen(container) + strlen(pod) + 4);
	if (!at)
		return;
	captured->text = at;
	owner.cgroup = at;
	at = stpcpy(at, path) + 1;
	if (unit[0])
		owner.unit = at;
	at = stpcpy(at, unit) + 1;
	if (container[0])
		owner.container = at;
	at = stpcpy(at, container) + 1;
	if (pod[0])
		owner.pod = at;
	strcpy(at, pod);
	captured->owner = owner;
}

static const char *look_up_netns(struct captures *captures, uint64_t inode, char *name)
{
	if (!captures->attribution)
		return NULL;
	return attribution_netns(captures->attribution, (uint32_t)inode, name);
}

/* Look up a name that is not known yet, unless the last lookup was less than CAPTURES_FRESH_NS ago. */
static void look_up_again(struct captures *captures, struct captured *captured, uint64_t now)
{
	char text[ATTRIBUTION_CGROUP_MAX];
	const char *name;

	_Static_assert(sizeof(text) >= ATTRIBUTION_NETNS_MAX, "room for both");
	if (captured->text || captured->settled ||
	    (captured->looked_up_ns && now - captured->looked_up_ns < CAPTURES_FRESH_NS))
		return;
	captured->looked_up_ns = now;
	if (captured->kind == NETNS) {
		name = look_up_netns(captures, captured->number, text);
		if (name)
			captured->text = strdup(name);
	} else if (captures->attribution &&
		   attribution_cgroup(captures->attribution, captured->number, text)) {
		set_owner(captured, text);
	}
}

static void settle_bucket(struct captures *captures, size_t bucket, uint64_t now)
{
	static const uint64_t settled_ns[KINDS] = {NETNS_SETTLED_NS, CGROUP_SETTLED_NS};
	size_t kind = bucket / BUCKETS;

	for (struct captured *one = captures->buckets[kind][bucket % BUCKETS]; one;
	     one = one->next) {
		look_up_again(captures, one, now);
		one->settled |= now - one->begun_ns >= settled_ns[kind];
	}
}

void captures_settle(struct captures *captures)
{
	const size_t all = KINDS * BUCKETS;
	uint64_t begun = time_monotonic(), now = begun;

	for (size_t i = 0; i < all && now - begun < CAPTURES_SETTLE_NS; i++) {
		settle_bucket(captures, captures->next_bucket, now);
		captures->next_bucket = (captures->next_bucket + 1) % all;
		now = time_monotonic();
	}
}

/* ---- captures ------------------------------------------------------------ */

/*
 * Whether a namespace that was captured before is still the one with this name (NULL: none).  A namespace without a
 * name may get its name late, until it is settled.
 */
static bool is_same_netns(struct captured *captured, const char *name)
{
	if (captured->text)
		return name && !strcmp(captured->text, name);
	if (name && captured->settled)
		return false;
	if (name)
		captured->text = strdup(name);
	return true;
}

struct captured *captures_netns(struct captures *captures, uint32_t inode)
{
	char text[ATTRIBUTION_NETNS_MAX];
	uint64_t now = time_monotonic();
	struct captured *captured;
	const char *name;

	if (!inode)
		return NULL;
	captured = find(captures, NETNS, inode);
	if (captured && now - captured->looked_up_ns < CAPTURES_FRESH_NS)
		return hold(captured);
	name = look_up_netns(captures, inode, text);
	if (!captured || !is_same_netns(captured, name)) {
		captured = add(captures, NETNS, inode, now);
		if (captured && name)
			captured->text = strdup(name);
	}
	if (captured)
		captured->looked_up_ns = now;
	return hold(captured);
}

/* The kernel does not reuse ids of cgroups, so a path that was found once stays right. */
struct captured *captures_owner(struct captures *captures, uint64_t cgroup)
{
	struct captured *captured;

	if (!cgroup)
		return NULL;
	captured = find(captures, CGROUP, cgroup);
	if (captured && captured->text)
		return hold(captured);
	if (!captured)
		captured = add(captures, CGROUP, cgroup, time_monotonic());
	if (captured)
		look_up_again(captures, captured, time_monotonic());
	return hold(captured);
}

static bool is_known(struct captures *captures, struct captured *captured)
{
	if (captured && !captured->text && !captured->settled)
		look_up_again(captures, captured, time_monotonic());
	return captured && captured->text;
}

const char *captures_netns_name(struct captures *captures, struct captured *captured)
{
	return is_known(captures, captured) ? captured->text : NULL;
}

const struct owner *captures_owner_names(struct captures *captures, struct captured *captured)
{
	return is_known(captures, captured) ? &captured->owner : NULL;
}
