/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/control/drop_owners.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/kernel/attribution.h"

#define BUCKETS 1024

/* A namespace, and the path of its owner; "": not known. */
struct drop_owner {
	struct drop_owner *next;
	uint32_t netns_id, netns;
	char path[];
};

struct drop_owners {
	struct attribution *attribution;
	struct drop_owner *buckets[BUCKETS];
};

int drop_owners_new(struct drop_owners **owners, struct attribution *attribution)
{
	struct drop_owners *fresh = calloc(1, sizeof(*fresh));

	if (!fresh)
		return -ENOMEM;
	fresh->attribution = attribution;
	*owners = fresh;
	return 0;
}

void drop_owners_free(struct drop_owners **owners)
{
	struct drop_owners *old = *owners;

	if (!old)
		return;
	for (size_t i = 0; i < BUCKETS; i++)
		while (old->buckets[i]) {
			struct drop_owner *first = old->buckets[i];

			old->buckets[i] = first->next;
			free(first);
		}
	free(old);
	*owners = NULL;
}

static struct drop_owner *look_up(struct attribution *attribution, uint32_t netns_id,
				  uint32_t netns)
{
	char path[ATTRIBUTION_CGROUP_MAX];
	struct drop_owner *fresh;

	if (!attribution || attribution_netns_owner(attribution, netns_id, netns, path) < 0)
		path[0] = '\0';
	fresh = calloc(1, sizeof(*fresh) + strlen(path) + 1);
	if (!fresh)
		return NULL;
	fresh->netns_id = netns_id;
	fresh->netns = netns;
	strcpy(fresh->path, path);
	return fresh;
}

const char *drop_owners_find(struct drop_owners *owners, uint32_t netns_id, uint32_t netns)
{
	/* Fibonacci hashing, because ids are mostly consecutive. */
	struct drop_owner **bucket = &owners->buckets[(netns_id * 0x9e3779b9U >> 16) % BUCKETS];
	struct drop_owner *one = *bucket;

	while (one && (one->netns_id != netns_id || one->netns != netns))
		one = one->next;
	if (!one) {
		one = look_up(owners->attribution, netns_id, netns);
		if (!one)
			return NULL;
		one->next = *bucket;
		*bucket = one;
	}
	return one->path[0] ? one->path : NULL;
}
