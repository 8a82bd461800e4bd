/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/kernel/netns_owners.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/thread.h"
#include "common/time.h"
#include "daemon/kernel/netns_scan.h"

#define STACK_BYTES (256 * 1024)
#define BUCKETS 4096

/* A namespace that was asked for. */
struct entry {
	struct entry *next; /* in its bucket */
	struct entry *newer, *older;
	uint32_t inode, id;
	bool known;	   /* a walk has looked for it */
	bool shared;	   /* another namespace with this number was asked for */
	uint64_t since_ns; /* when it was first asked for */
	uint64_t seen_ns;  /* when the walk began that looked for it last */
	char *path;	   /* NULL: no walk found an owner */
	bool proven;	   /* the cookie proves that `path` is of this namespace */
};

/* A walk, and its thread. */
struct walk {
	struct netns_scan scan;
	pthread_t thread;
	uint64_t begun_ns, took_ns;
	int r;
	atomic_bool ended;
};

struct netns_owners {
	const char *proc;
	int (*cookie)(int fd, uint64_t *cookie);
	bool (*is_owner)(const char *path);
	struct walk *walk;	       /* NULL: none */
	uint64_t begun_ns;	       /* when the last walk began; 0: never */
	uint64_t pause_ns;	       /* from then to the next one */
	struct entry *newest, *oldest; /* by when they were asked for */
	size_t count;
	struct entry *buckets[BUCKETS]; /* by inode number */
};

/* ---- entries ----------------------------------------------------------------- */

static struct entry **bucket_of(struct netns_owners *owners, uint32_t inode)
{
	return &owners->buckets[(inode * 0x9e3779b9U >> 16) % BUCKETS];
}

static void unlink_entry(struct netns_owners *owners, struct entry *entry)
{
	*(entry->newer ? &entry->newer->older : &owners->newest) = entry->older;
	*(entry->older ? &entry->older->newer : &owners->oldest) = entry->newer;
}

static void link_newest(struct netns_owners *owners, struct entry *entry)
{
	entry->newer = NULL;
	entry->older = owners->newest;
	*(owners->newest ? &owners->newest->newer : &owners->oldest) = entry;
	owners->newest = entry;
}

static void remove_oldest(struct netns_owners *owners)
{
	struct entry *entry = owners->oldest, **link = bucket_of(owners, entry->inode);

	while (*link != entry)
		link = &(*link)->next;
	*link = entry->next;
	unlink_entry(owners, entry);
	owners->count--;
	free(entry->path);
	free(entry);
}

/* Entries with the same number know of each other. */
static void mark_shared(struct entry *fresh)
{
	for (struct entry *one = fresh->next; one; one = one->next)
		if (one->inode == fresh->inode)
			one->shared = fresh->shared = true;
}

static struct entry *add_entry(struct netns_owners *owners, uint32_t id, uint32_t inode,
			       uint64_t now)
{
	struct entry **bucket = bucket_of(owners, inode), *fresh;

	if (owners->count == NETNS_OWNERS_MAX)
		remove_oldest(owners);
	fresh = calloc(1, sizeof(*fresh));
	if (!fresh)
		return NULL;
	*fresh = (struct entry){.next = *bucket, .inode = inode, .id = id, .since_ns = now};
	*bucket = fresh;
	owners->count++;
	link_newest(owners, fresh);
	mark_shared(fresh);
	return fresh;
}

static struct entry *find_entry(struct netns_owners *owners, uint32_t id, uint32_t inode,
				uint64_t now)
{
	struct entry *entry = *bucket_of(owners, inode);

	while (entry && (entry->inode != inode || entry->id != id))
		entry = entry->next;
	if (!entry)
		return add_entry(owners, id, inode, now);
	unlink_entry(owners, entry);
	link_newest(owners, entry);
	return entry;
}

/* ---- a walk ------------------------------------------------------------------- */

static void walk_free(struct walk **walk)
{
	struct walk *old = *walk;

	for (size_t i = 0; i < old->scan.count; i++)
		free(old->scan.targets[i].path);
	free(old->scan.targets);
	free(old);
	*walk = NULL;
}

static int compare_targets(const void *a, const void *b)
{
	const struct netns_scan_target *x = a, *y = b;

	return x->inode < y->inode ? -1 : x->inode > y->inode;
}

/* Each number once. */
static void sort_targets(struct netns_scan *scan)
{
	size_t kept = 0;

	qsort(scan->targets, scan->count, sizeof(*scan->targets), compare_targets);
	for (size_t i = 1; i < scan->count; i++)
		if (scan->targets[i].inode != scan->targets[kept].inode)
			scan->targets[++kept] = scan->targets[i];
	scan->count = kept + 1;
}

/* The thread ends in one of the namespaces that it entered. */
static void *run_walk(void *userdata)
{
	struct walk *walk = userdata;
	uint64_t begun_ns = time_monotonic();

	sort_targets(&walk->scan);
	walk->r = netns_scan_run(&walk->scan);
	walk->took_ns = time_monotonic() - begun_ns;
	atomic_store(&walk->ended, true);
	return NULL;
}

/* All numbers that were asked for: one walk answers for all. */
static int collect_targets(const struct netns_owners *owners, struct netns_scan *scan)
{
	scan->targets = calloc(owners->count, sizeof(*scan->targets));
	if (!scan->targets)
		return -ENOMEM;
	for (const struct entry *one = owners->newest; one; one = one->older)
		scan->targets[scan->count++].inode = one->inode;
	return 0;
}

/* If it cannot begin, a later call tries again. */
static void begin_walk(struct netns_owners *owners, uint64_t now)
{
	struct walk *walk = calloc(1, sizeof(*walk));

	owners->begun_ns = now;
	owners->pause_ns = NETNS_OWNERS_PAUSE_NS;
	if (!walk)
		return;
	walk->begun_ns = now;
	walk->scan.proc = owners->proc;
	walk->scan.cookie = owners->cookie;
	if (collect_targets(owners, &walk->scan) < 0 ||
	    thread_start(&walk->thread, STACK_BYTES, run_walk, walk) < 0)
		walk_free(&walk);
	owners->walk = walk;
}

/*
 * What a walk says of a namespace.  A proven answer stays after the last process ended: the namespace can have no other
 * owner than its last one.
 */
static void answer(const struct netns_owners *owners, struct entry *entry,
		   struct netns_scan_target *target, uint64_t begun_ns)
{
	bool gone = target->proven && (uint32_t)target->cookie != entry->id;
	bool found = target->path && !gone;

	if (target->unsure)
		return;
	entry->known = true;
	entry->seen_ns = begun_ns;
	if (!found && entry->proven)
		return;
	found = found && owners->is_owner(target->path);
	free(entry->path);
	entry->path = found ? TAKE_PTR(target->path) : NULL;
	entry->proven = found && target->proven;
}

static void use_walk(struct netns_owners *owners, const struct walk *walk)
{
	struct netns_scan_target *targets = walk->scan.targets;

	for (struct entry *one = owners->newest; one; one = one->older) {
		size_t i =
			LOWER_BOUND(target, targets, walk->scan.count, target->inode < one->inode);

		/* The walk may have passed the processes of a namespace that was asked for later. */
		if (i < walk->scan.count && targets[i].inode == one->inode &&
		    one->since_ns <= walk->begun_ns)
			answer(owners, one, &targets[i], walk->begun_ns);
	}
}

static void end_walk(struct netns_owners *owners)
{
	struct walk *walk = owners->walk;
	uint64_t pause_ns;

	pthread_join(walk->thread, NULL);
	pause_ns = NETNS_OWNERS_PAUSES * walk->took_ns;
	if (pause_ns > owners->pause_ns)
		owners->pause_ns = pause_ns;
	/* Hidden processes stay hidden for a while. */
	if (walk->r == -EACCES)
		owners->pause_ns = NETNS_OWNERS_AGE_NS;
	if (walk->r == 0)
		use_walk(owners, walk);
	walk_free(&owners->walk);
}

/* ---- owners -------------------------------------------------------------------- */

int netns_owners_new(struct netns_owners **owners, const char *proc,
		     int (*cookie)(int fd, uint64_t *cookie), bool (*is_owner)(const char *path))
{
	struct netns_owners *fresh = calloc(1, sizeof(*fresh));

	if (!fresh)
		return -ENOMEM;
	fresh->proc = proc;
	fresh->cookie = cookie;
	fresh->is_owner = is_owner;
	*owners = fresh;
	return 0;
}

void netns_owners_free(struct netns_owners **owners)
{
	struct netns_owners *old = *owners;

	if (!old)
		return;
	if (old->walk) {
		atomic_store(&old->walk->scan.stop, true);
		end_walk(old);
	}
	while (old->count)
		remove_oldest(old);
	free(old);
	*owners = NULL;
}

/* Whether a walk has to look for it. */
static bool is_wanted(const struct entry *entry, uint64_t now)
{
	uint64_t age_ns = NETNS_OWNERS_AGE_NS;

	if (!entry->known)
		return true;
	/* The first process of a new namespace may come soon, and those that made it may leave it. */
	if (!entry->path && now - entry->since_ns < NETNS_OWNERS_NEW_NS)
		age_ns = NETNS_OWNERS_PAUSE_NS;
	return now - entry->seen_ns >= age_ns;
}

int netns_owners_find(struct netns_owners *owners, uint32_t id, uint32_t inode, uint64_t now,
		      char path[static PATH_MAX])
{
	struct entry *entry;

	if (!id || !inode || !owners->proc)
		return -ENOENT;
	if (id == inode)
		return -EOPNOTSUPP;
	if (owners->walk && atomic_load(&owners->walk->ended))
		end_walk(owners);
	entry = find_entry(owners, id, inode, now);
	if (!entry)
		return -EAGAIN;
	if (!owners->walk && is_wanted(entry, now) &&
	    (!owners->begun_ns || now - owners->begun_ns >= owners->pause_ns))
		begin_walk(owners, now);
	if (!entry->known)
		return -EAGAIN;
	if (!entry->path || (entry->shared && !entry->proven))
		return -ENOENT;
	snprintf(path, PATH_MAX, "%s", entry->path);
	return 0;
}
