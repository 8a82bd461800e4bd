/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/store/shares.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/store/ranking.h"

struct record {
	uint64_t age;	/* the number of records that were added before it */
	uint32_t newer; /* the next record of its cause; 0: none */
};

/* One member of one group, and its records. */
struct member {
	uint64_t key;
	uint32_t group;
	uint32_t count;
	uint32_t oldest, newest; /* records */
	uint32_t next;		 /* in its bucket, or among the free ones; 0: none */
};

struct group {
	uint64_t key[2];
	uint32_t count;	  /* records */
	uint32_t members; /* that have records */
	uint32_t next;	  /* like member.next */
};

struct shares {
	uint32_t buckets;      /* of each kind; a power of two */
	uint32_t causes;       /* members in use */
	uint32_t count;	       /* records */
	uint32_t fresh_member; /* this one, and those after it, were never used */
	uint32_t fresh_group;
	uint32_t free_member, free_group; /* the first one; 0: none */
	uint64_t added;
	struct record *records;
	struct member *members;
	struct group *groups;
	uint32_t *member_buckets, *group_buckets;
	struct ranking *of_group; /* the members of each group by their records */
	struct ranking *by_count; /* the groups by their records */
	struct ranking *by_spare; /* the groups by their records except the newest of each member */
};

int shares_new(struct shares **shares, uint32_t records)
{
	OWN_SHARES struct shares *fresh = calloc(1, sizeof(*fresh));
	size_t items = (size_t)records + 1;

	if (!fresh)
		return -ENOMEM;
	fresh->buckets = 1;
	while (fresh->buckets < records)
		fresh->buckets *= 2;
	fresh->fresh_member = fresh->fresh_group = 1;
	/* calloc(), because a page then takes memory only once it is used. */
	fresh->records = calloc(items, sizeof(*fresh->records));
	fresh->members = calloc(items, sizeof(*fresh->members));
	fresh->groups = calloc(items, sizeof(*fresh->groups));
	fresh->member_buckets = calloc(fresh->buckets, sizeof(*fresh->member_buckets));
	fresh->group_buckets = calloc(fresh->buckets, sizeof(*fresh->group_buckets));
	if (!fresh->records || !fresh->members || !fresh->groups || !fresh->member_buckets ||
	    !fresh->group_buckets || ranking_new(&fresh->of_group, records) < 0 ||
	    ranking_new(&fresh->by_count, records) < 0 ||
	    ranking_new(&fresh->by_spare, records) < 0)
		return -ENOMEM;
	*shares = TAKE_PTR(fresh);
	return 0;
}

void shares_free(struct shares **shares)
{
	struct shares *old = *shares;

	if (!old)
		return;
	ranking_free(&old->by_spare);
	ranking_free(&old->by_count);
	ranking_free(&old->of_group);
	free(old->group_buckets);
	free(old->member_buckets);
	free(old->groups);
	free(old->members);
	free(old->records);
	free(old);
	*shares = NULL;
}

size_t shares_causes(const struct shares *shares)
{
	return shares->causes;
}

/* ---- groups and members ---------------------------------------------------- */

static uint32_t *bucket_of(const struct shares *shares, uint32_t *buckets, uint64_t a, uint64_t b)
{
	/* Fibonacci hashing, because namespaces and locations are near each other. */
	uint64_t hash = (a * 0x9e3779b97f4a7c15ULL ^ b) * 0x9e3779b97f4a7c15ULL;

	return &buckets[hash >> 32 & (shares->buckets - 1)];
}

/* An unused number: one that became free, or one that was never used. */
#define TAKE_FREE(free_one, fresh, array)                 \
	({                                                \
		uint32_t taken = (free_one);              \
		if (taken)                                \
			(free_one) = (array)[taken].next; \
		else                                      \
			taken = (fresh)++;                \
		taken;                                    \
	})

static uint32_t find_group(struct shares *shares, const uint64_t key[2])
{
	uint32_t *bucket = bucket_of(shares, shares->group_buckets, key[0], key[1]), at = *bucket;

	while (at && (shares->groups[at].key[0] != key[0] || shares->groups[at].key[1] != key[1]))
		at = shares->groups[at].next;
	if (at)
		return at;
	at = TAKE_FREE(shares->free_group, shares->fresh_group, shares->groups);
	shares->groups[at] = (struct group){.key = {key[0], key[1]}, .next = *bucket};
	*bucket = at;
	return at;
}

static uint32_t find_member(struct shares *shares, uint32_t group, uint64_t key)
{
	uint32_t *bucket = bucket_of(shares, shares->member_buckets, group, key), at = *bucket;

	while (at && (shares->members[at].group != group || shares->members[at].key != key))
		at = shares->members[at].next;
	if (at)
		return at;
	at = TAKE_FREE(shares->free_member, shares->fresh_member, shares->members);
	shares->members[at] = (struct member){.key = key, .group = group, .next = *bucket};
	*bucket = at;
	shares->groups[group].members++;
	shares->causes++;
	return at;
}

static void forget_group(struct shares *shares, uint32_t at)
{
	struct group *group = shares->groups + at;
	uint32_t *link = bucket_of(shares, shares->group_buckets, group->key[0], group->key[1]);

	while (*link != at)
		link = &shares->groups[*link].next;
	*link = group->next;
	group->next = shares->free_group;
	shares->free_group = at;
	ranking_remove(shares->by_count, at);
	ranking_remove(shares->by_spare, at);
}

static void forget_member(struct shares *shares, uint32_t at)
{
	struct member *member = shares->members + at;
	uint32_t *link = bucket_of(shares, shares->member_buckets, member->group, member->key);

	while (*link != at)
		link = &shares->members[*link].next;
	*link = member->next;
	member->next = shares->free_member;
	shares->free_member = at;
	shares->groups[member->group].members--;
	shares->causes--;
	ranking_remove(shares->of_group, at);
}

/* ---- ranks ------------------------------------------------------------------ */

/* The higher rank has the record that is older. */
static struct rank rank_of(const struct shares *shares, uint64_t high, uint32_t record)
{
	return (struct rank){.high = high, .low = ~shares->records[record].age};
}

/* The member of the group that gives the next record. */
static uint32_t giver_of(const struct shares *shares, uint32_t group)
{
	return ranking_below(shares->of_group, ((uint64_t)group + 1) << 32);
}

static void rank_group(struct shares *shares, uint32_t at)
{
	const struct group *group = shares->groups + at;
	uint32_t record = shares->members[giver_of(shares, at)].oldest;

	ranking_set(shares->by_count, at, rank_of(shares, group->count, record));
	ranking_set(shares->by_spare, at, rank_of(shares, group->count - group->members, record));
}

static void rank_member(struct shares *shares, uint32_t at)
{
	const struct member *member = shares->members + at;

	ranking_set(shares->of_group, at,
		    rank_of(shares, (uint64_t)member->group << 32 | member->count, member->oldest));
}

/* ---- records ---------------------------------------------------------------- */

void shares_add(struct shares *shares, uint32_t record, const struct share_cause *cause)
{
	uint32_t group = find_group(shares, cause->group);
	uint32_t at = find_member(shares, group, cause->member);
	struct member *member = shares->members + at;

	shares->records[record] = (struct record){.age = shares->added++};
	if (member->count)
		shares->records[member->newest].newer = record;
	else
		member->oldest = record;
	member->newest = record;
	member->count++;
	shares->groups[group].count++;
	shares->count++;
	rank_member(shares, at);
	rank_group(shares, group);
}

uint32_t shares_give(struct shares *shares)
{
	/* At most half the records: some group has a member with two. */
	const struct ranking *order =
		shares->causes <= shares->count / 2 ? shares->by_spare : shares->by_count;
	uint32_t group = ranking_below(order, UINT64_MAX);
	uint32_t at = giver_of(shares, group);
	struct member *member = shares->members + at;
	uint32_t record = member->oldest;

	member->oldest = shares->records[record].newer;
	member->count--;
	shares->groups[group].count--;
	shares->count--;
	if (member->count)
		rank_member(shares, at);
	else
		forget_member(shares, at);
	if (shares->groups[group].count)
		rank_group(shares, group);
	else
		forget_group(shares, group);
	return record;
}
