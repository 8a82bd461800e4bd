/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/store/captures.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/time.h"
#include "daemon/core/journey.h"
#include "daemon/core/owner.h"
#include "daemon/kernel/attribution.h"

#define NETNS_SETTLED_NS TIME_NS_PER_SECOND
#define CGROUP_SETTLED_NS (10 * TIME_NS_PER_SECOND)

/* A name that was not found in that time is looked up at this interval, as new records of the namespace come. */
#define NETNS_MISS_NS TIME_NS_PER_SECOND

#define BUCKETS 1024

enum kind { NETNS, CGROUP, NETNS_OWNER, KINDS };

struct captured {
	struct captured *next; /* in its bucket, newest first */
	uint64_t number;       /* id of the namespace or of the cgroup */
	uint32_t inode;	       /* inode number of the namespace */
	enum kind kind;
	unsigned int holders;
	bool settled; /* a name that was not found is not looked up again by captures_settle() */
	bool waits;   /* between the next two, in the queue of captures_settle() */
	struct captured *after, *before;
	uint64_t begun_ns;     /* when it was first captured */
	uint64_t looked_up_ns; /* when it was last looked up; 0: never */
	char *text;	       /* the namespace's name, or the owner's strings; NULL: not known */
	struct owner owner;
};

struct captures {
	struct attribution *attribution;
	size_t count;
	/* Lookups of new records since then took this time. */
	uint64_t paused_ns, spent_ns;
	bool has_new; /* a name began to wait since captures_settle() ran last */
	/* Names that were not found and are looked up again; the first one next. */
	struct captured *first_waiting, *last_waiting;
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

/* ---- the queue of captures_settle() ---------------------------------------- */

static void join_queue(struct captures *captures, struct captured *captured)
{
	captured->waits = true;
	captured->after = captures->last_waiting;
	captured->before = NULL;
	if (captures->last_waiting)
		captures->last_waiting->before = captured;
	else
		captures->first_waiting = captured;
	captures->last_waiting = captured;
}

static void leave_queue(struct captures *captures, struct captured *captured)
{
	if (!captured->waits)
		return;
	captured->waits = false;
	if (captured->after)
		captured->after->before = captured->before;
	else
		captures->first_waiting = captured->before;
	if (captured->before)
		captured->before->after = captured->after;
	else
		captures->last_waiting = captured->after;
}

/* ---- the table ----------------------------------------------------------- */

static struct captured **bucket_of(struct captures *captures, enum kind kind, uint64_t number)
{
	/* Fibonacci hashing, because both kinds of numbers are mostly consecutive. */
	return &captures->buckets[kind][(number * 0x9e3779b97f4a7c15ULL >> 32) % BUCKETS];
}

/* The newest one.  Of namespaces without a cookie, older ones with the same number are gone. */
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

/* Before 5.12 nf_netns_id() is the inode number, which another namespace can have later. */
static bool is_number(const struct captured *captured)
{
	return captured->number == captured->inode;
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
	leave_queue(captures, captured);
	captures->count--;
	free(captured->text);
	free(captured);
}

/* ---- lookups ------------------------------------------------------------- */

static size_t size_of(const char *text)
{
	return text ? strlen(text) + 1 : 0;
}

/* Copy a text behind the others; NULL: there is none. */
static const char *put_text(char **at, const char *text)
{
	char *copy = *at;

	if (text)
		*at = stpcpy(copy, text) + 1;
	return text ? copy : NULL;
}

/* If memory runs out, the owner stays unknown, as after a lookup that found nothing. */
static void set_owner(struct captured *captured, const char *path, bool by_netns)
{
	struct owner_names names;
	struct owner owner;
	char *at;

	owner_of_cgroup(&owner, path, by_netns, &names);
	at = malloc(size_of(owner.cgroup) + size_of(owner.unit) + size_of(owner.container) +
		    size_of(owner.pod));
	if (!at)
		return;
	captured->text = at;
	captured->owner = (struct owner){.cgroup = put_text(&at, owner.cgroup),
					 .unit = put_text(&at, owner.unit),
					 .container = put_text(&at, owner.container),
					 .pod = put_text(&at, owner.pod),
					 .by_netns = by_netns};
}

/*
 * A namespace with this number has the name now, and nothing proves that it is the captured one.  That is so only if a
 * record was just taken, and if no other namespace with the number was seen.
 */
static bool may_claim(const struct captures *captures, const struct captured *captured)
{
	if (is_number(captured))
		return true;
	for (size_t i = 0; i < BUCKETS; i++)
		for (const struct captured *one = captures->buckets[NETNS][i]; one; one = one->next)
			if (one->inode == captured->inode && one != captured)
				return false;
	return true;
}

static void look_up_netns(struct captures *captures, struct captured *captured, bool record)
{
	char name[ATTRIBUTION_NETNS_MAX];
	int r;

	if (!captures->attribution)
		return;
	r = attribution_netns_identify(captures->attribution, (uint32_t)captured->number,
				       captured->inode, name);
	if (r > 0 || (r == 0 && record && may_claim(captures, captured)))
		captured->text = strdup(name);
	if (r == -ESTALE)
		captured->settled = true;
	if (r == -EAGAIN) {
		captured->settled = false;
		captures->has_new = true;
		captured->begun_ns = captured->looked_up_ns;
	}
}

static void look_up_owner(struct captures *captures, struct captured *captured)
{
	char path[ATTRIBUTION_CGROUP_MAX];

	if (captures->attribution &&
	    attribution_cgroup(captures->attribution, captured->number, path))
		set_owner(captured, path, false);
}

/* The answer needs a walk over all processes, so it comes late. */
static void look_up_netns_owner(struct captures *captures, struct captured *captured)
{
	char path[ATTRIBUTION_CGROUP_MAX];
	int r;

	if (!captures->attribution)
		return;
	r = attribution_netns_owner(captures->attribution, (uint32_t)captured->number,
				    captured->inode, path);
	if (r == 0)
		set_owner(captured, path, true);
	if (r == -EAGAIN) {
		captured->settled = false;
		captured->begun_ns = captured->looked_up_ns;
	}
}

static bool is_due(const struct captured *captured, uint64_t now, uint64_t interval_ns)
{
	return !captured->looked_up_ns || now - captured->looked_up_ns >= interval_ns;
}

/* `record`: a record of it was just taken. */
static void look_up(struct captures *captures, struct captured *captured, uint64_t now, bool record)
{
	captured->looked_up_ns = now;
	if (captured->kind == NETNS)
		look_up_netns(captures, captured, record);
	else if (captured->kind == CGROUP)
		look_up_owner(captures, captured);
	else
		look_up_netns_owner(captures, captured);
}

/* ---- settling ------------------------------------------------------------ */

static void settle_one(struct captures *captures, struct captured *one, uint64_t now)
{
	static const uint64_t settled_ns[KINDS] = {NETNS_SETTLED_NS, CGROUP_SETTLED_NS,
						   CGROUP_SETTLED_NS};

	if (!one->text && is_due(one, now, CAPTURES_FRESH_NS))
		look_up(captures, one, now, false);
	one->settled |= now - one->begun_ns >= settled_ns[one->kind];
	leave_queue(captures, one);
	if (!one->text && !one->settled)
		join_queue(captures, one);
}

void captures_settle(struct captures *captures, uint64_t budget_ns)
{
	uint64_t begun = time_monotonic(), now = begun;
	const struct captured *last = captures->last_waiting;
	bool more = last != NULL;

	captures->has_new = false;
	while (more && now - begun < budget_ns) {
		struct captured *one = captures->first_waiting;

		more = one != last;
		settle_one(captures, one, now);
		now = time_monotonic();
	}
	captures->has_new |= more;
}

bool captures_has_new(const struct captures *captures)
{
	return captures->has_new;
}

/*
 * Look up the name of a new record, unless lookups took too long since the pause began.  Many new namespaces at once
 * must not keep the daemon from the ring buffer; their names are looked up later.
 */
static void look_up_now(struct captures *captures, struct captured *captured, uint64_t now)
{
	if (now - captures->paused_ns >= CAPTURES_PAUSE_NS) {
		captures->paused_ns = now;
		captures->spent_ns = 0;
	}
	if (captures->spent_ns >= CAPTURES_SETTLE_NS)
		return;
	look_up(captures, captured, now, true);
	captures->spent_ns += time_monotonic() - now;
}

/* A name that was not found is looked up again. */
static void look_later(struct captures *captures, struct captured *captured)
{
	if (captured->text || captured->settled || captured->waits)
		return;
	join_queue(captures, captured);
	captures->has_new = true;
}

/* ---- captures ------------------------------------------------------------ */

/* Capture a namespace that only its number identifies, which another one may have by now. */
static struct captured *capture_number(struct captures *captures, uint32_t inode)
{
	struct captured *captured = find(captures, NETNS, inode), *fresh;
	uint64_t now = time_monotonic();

	if (captured && !is_due(captured, now, CAPTURES_FRESH_NS))
		return hold(captured);
	fresh = add(captures, NETNS, inode, now);
	if (!fresh)
		return NULL;
	fresh->inode = inode;
	look_up(captures, fresh, now, true);
	if (!captured ||
	    strcmp(captured->text ? captured->text : "", fresh->text ? fresh->text : ""))
		return hold(fresh);
	/* The same name, or none again: the same namespace. */
	captured->looked_up_ns = now;
	captures_release(captures, hold(fresh));
	return hold(captured);
}

static struct captured *capture_id(struct captures *captures, enum kind kind, uint32_t id,
				   uint32_t inode)
{
	struct captured *captured = find(captures, kind, id);
	uint64_t now;

	if (captured && captured->text)
		return hold(captured);
	now = time_monotonic();
	if (!captured) {
		captured = add(captures, kind, id, now);
		if (!captured)
			return NULL;
		captured->inode = inode;
	}
	if (is_due(captured, now, captured->settled ? NETNS_MISS_NS : CAPTURES_FRESH_NS))
		look_up_now(captures, captured, now);
	look_later(captures, captured);
	return hold(captured);
}

struct captured *captures_netns(struct captures *captures, uint32_t id, uint32_t inode)
{
	if (!id || !inode)
		return NULL;
	if (id == inode)
		return capture_number(captures, inode);
	return capture_id(captures, NETNS, id, inode);
}

struct captured *captures_netns_owner(struct captures *captures, uint32_t id, uint32_t inode)
{
	if (!id || !inode || id == inode || !captures->attribution ||
	    attribution_netns_is_host(captures->attribution, inode))
		return NULL;
	return capture_id(captures, NETNS_OWNER, id, inode);
}

/* The kernel does not reuse ids of cgroups, so a path that was found once stays right. */
struct captured *captures_owner(struct captures *captures, uint64_t cgroup)
{
	struct captured *captured;
	uint64_t now;

	if (!cgroup)
		return NULL;
	captured = find(captures, CGROUP, cgroup);
	if (captured && (captured->text || captured->settled))
		return hold(captured);
	now = time_monotonic();
	if (!captured)
		captured = add(captures, CGROUP, cgroup, now);
	if (!captured)
		return NULL;
	if (is_due(captured, now, CAPTURES_FRESH_NS))
		look_up_now(captures, captured, now);
	look_later(captures, captured);
	return hold(captured);
}

const char *captures_netns_name(const struct captured *captured)
{
	return captured ? captured->text : NULL;
}

const struct owner *captures_owner_names(const struct captured *captured)
{
	return captured && captured->text ? &captured->owner : NULL;
}
