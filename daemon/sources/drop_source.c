/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/sources/drop_source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/array.h"
#include "common/hash.h"
#include "common/map.h"
#include "common/texts.h"
#include "daemon/core/drop.h"
#include "daemon/core/owner.h"
#include "daemon/kernel/attribution.h"
#include "daemon/probe/backend.h"
#include "daemon/rows/drop_row.h"
#include "daemon/sources/sources.h"
#include "daemon/store/causes.h"
#include "daemon/store/counted_row.h"
#include "daemon/store/records.h"

/* What rows have from a cause, a cgroup or a namespace: one part of a row for each. */
struct part {
	uint64_t
		of; /* the address of the cause, the id of the cgroup, or the identity of the namespace */
	struct drop_row row;
};

struct parts {
	struct part *part;
	size_t count, room;
	struct map map;
};

struct drop_source {
	const struct sources *from;
	struct texts *texts;
	struct causes *causes;
	struct parts by_cause, by_cgroup, by_netns;
};

int drop_source_new(struct drop_source **source, const struct sources *sources, struct texts *texts)
{
	OWN_DROP_SOURCE struct drop_source *fresh = calloc(1, sizeof(*fresh));

	if (!fresh ||
	    causes_new(&fresh->causes, sources->records, backend_has_reasons(sources->backend)) < 0)
		return -ENOMEM;
	fresh->from = sources;
	fresh->texts = texts;
	*source = TAKE_PTR(fresh);
	return 0;
}

static void parts_clear(struct parts *parts)
{
	free(parts->part);
	map_clear(&parts->map);
}

void drop_source_free(struct drop_source **source)
{
	struct drop_source *old = *source;

	if (!old)
		return;
	parts_clear(&old->by_cause);
	parts_clear(&old->by_cgroup);
	parts_clear(&old->by_netns);
	causes_free(&old->causes);
	free(old);
	*source = NULL;
}

const struct cause *drop_source_cause(struct drop_source *source, const struct backend_drops *drops)
{
	return causes_of(source->causes, &drops->key);
}

/* ---- parts of rows -------------------------------------------------------------------- */

static bool is(const void *items, size_t number, const void *key)
{
	const struct part *part = items;

	return part[number].of == *(const uint64_t *)key;
}

/* The part, which has to be filled if *fresh; NULL: no memory. */
static struct drop_row *find_part(struct parts *parts, uint64_t of, bool *fresh)
{
	uint64_t hash = hash_word(0, of);
	size_t number;

	*fresh = false;
	if (map_find(&parts->map, hash, is, parts->part, &of, &number))
		return &parts->part[number].row;
	if (ARRAY_GROW(parts->part, parts->count, parts->room) < 0 ||
	    map_add(&parts->map, hash, parts->count) < 0)
		return NULL;
	*fresh = true;
	parts->part[parts->count] = (struct part){.of = of};
	return &parts->part[parts->count++].row;
}

/* A cause that several keys share has no location of its own, and those that share it have the same one. */
static void name_cause(struct drop_source *source, const struct backend_drops *drops,
		       const struct cause *cause, struct drop_row *row)
{
	const struct sources *from = source->from;
	struct cause named;

	records_cause(from->records, backend_has_reasons(from->backend), &drops->key, &named);
	named.verdict = cause->verdict;
	named.subsystem = cause->subsystem;
	drop_row_set_cause(row, &named, source->texts);
}

static void name_owner(struct drop_source *source, const char *path, bool by_netns,
		       struct drop_row *row)
{
	struct owner_names names;
	struct owner owner;

	owner_of_cgroup(&owner, path, by_netns, &names);
	drop_row_set_owner(row, &owner, source->texts);
}

/* That of the socket's cgroup or, for drops without a socket, that of the namespace.  -ENOMEM. */
static int set_owner(struct drop_source *source, const struct backend_drops *drops,
		     struct drop_row *row)
{
	struct attribution *attribution = source->from->attribution;
	uint64_t cgroup = drops->key.cgroup,
		 netns = (uint64_t)drops->key.netns << 32 | drops->netns;
	struct parts *parts = cgroup ? &source->by_cgroup : &source->by_netns;
	char path[ATTRIBUTION_CGROUP_MAX];
	struct drop_row *part;
	bool fresh;

	if (!attribution)
		return 0;
	part = find_part(parts, cgroup ? cgroup : netns, &fresh);
	if (!part)
		return -ENOMEM;
	if (fresh &&
	    (cgroup ? attribution_cgroup(attribution, cgroup, path) != NULL
		    : !attribution_netns_owner(attribution, drops->key.netns, drops->netns, path)))
		name_owner(source, path, !cgroup, part);
	row->key.cgroup = part->key.cgroup;
	row->key.unit = part->key.unit;
	row->key.container = part->key.container;
	row->key.pod = part->key.pod;
	row->key.by_netns = part->key.by_netns;
	return 0;
}

int drop_source_row(struct drop_source *source, const struct backend_drops *drops,
		    const struct cause *cause, bool owned, struct drop_row *row)
{
	const struct attribution *attribution = source->from->attribution;
	bool fresh;
	struct drop_row *part = find_part(&source->by_cause, (uintptr_t)cause, &fresh);

	if (!part)
		return -ENOMEM;
	if (fresh)
		name_cause(source, drops, cause, part);
	*row = *part;
	counted_row_set(row, drops, source->texts);
	row->host =
		drops->netns && attribution && attribution_netns_is_host(attribution, drops->netns);
	return owned && !row->lost ? set_owner(source, drops, row) : 0;
}
