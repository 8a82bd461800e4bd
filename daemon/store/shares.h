/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which record must go when a store is full, so that a noisy cause cannot push out the records of others.
 *
 * A cause is a group and a member of it.  For drops the group is the reason and the location, and the member is the
 * namespace.  The number of groups is limited by the kernel's code.  Tenants can make any number of members.
 *
 * 1. While causes number at most half the records, each cause keeps its newest record.  The other records are shared
 *    fairly by the groups: the group that has most of them gives one.
 * 2. With more causes, a group that has most records gives one, even if it is the only one of its member.  Then the
 *    members of one group replace each other, and not the records of other groups.
 * 3. In the group, the member that has most records gives its oldest one.
 * 4. Of equals, the one whose record is older gives it.
 *
 * All calls take O(log n), and none allocates memory.
 */
#ifndef DAEMON_STORE_SHARES_H
#define DAEMON_STORE_SHARES_H

#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"

struct shares;

struct share_cause {
	uint64_t group[2];
	uint64_t member;
};

/* For at most `records` records, which are numbered from 1 to `records`.  -ENOMEM. */
int shares_new(struct shares **shares, uint32_t records);
void shares_free(struct shares **shares);
#define OWN_SHARES CLEANUP(shares_free)

/* Add a record, newer than all others; its number must be free. */
void shares_add(struct shares *shares, uint32_t record, const struct share_cause *cause);

/* Take out the record that must go, and return its number, which is free then.  There must be two records or more. */
uint32_t shares_give(struct shares *shares);

/* The number of causes that have records. */
size_t shares_causes(const struct shares *shares);

#endif
