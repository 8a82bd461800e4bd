/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/history/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/hash.h"
#include "common/texts.h"
#include "daemon/core/drop.h"
#include "daemon/core/keymap.h"
#include "daemon/core/owner.h"
#include "daemon/core/stages.h"
#include "daemon/history/place_key.h"
#include "daemon/history/series_name.h"
#include "daemon/kernel/attribution.h"
#include "daemon/probe/backend.h"
#include "daemon/probe/probes.h"
#include "daemon/rows/drop_row.h"
#include "daemon/store/counted_row.h"
#include "daemon/store/records.h"

/* Intervals for which an unused series is kept, if there is room, and in which an unknown owner is looked up again. */
#define KEEP 360
#define TRIES 6

struct entry {
	struct series *series;
	uint32_t used;	/* the interval of its last use */
	uint32_t tries; /* that its owner was looked up in vain */
	uint32_t tried; /* the interval of the last one */
	bool unsure;	/* of the namespace's name, which is looked up again, too */
};

struct series_names {
	struct series_sources sources;
	struct keymap map;
	struct entry *entry; /* by number of the key */
	size_t room;
	uint32_t interval;
};

int series_names_new(struct series_names **names, const struct series_sources *sources)
{
	struct series_names *fresh = calloc(1, sizeof(*fresh));

	if (!fresh)
		return -ENOMEM;
	fresh->sources = *sources;
	*names = fresh;
	return 0;
}

static void clear(struct series_names *names)
{
	for (size_t i = 0; i < names->map.count; i++)
		series_release(&names->entry[i].series);
	keymap_clear(&names->map);
}

void series_names_free(struct series_names **names)
{
	if (!*names)
		return;
	clear(*names);
	free((*names)->entry);
	free(*names);
	*names = NULL;
}

/* The entry of a key, new ones without a series; NULL: no memory. */
static struct entry *find(struct series_names *names, const struct keymap_key *key)
{
	size_t before = names->map.count, number;

	if (ARRAY_GROW(names->entry, before, names->room) < 0 ||
	    keymap_add(&names->map, key, &number) < 0)
		return NULL;
	if (names->map.count > before)
		names->entry[number] = (struct entry){0};
	names->entry[number].used = names->interval;
	return &names->entry[number];
}

/* Give the entry a fresh series, unless that is NULL, because of memory. */
static struct series *set(struct entry *entry, struct series *fresh)
{
	if (!fresh)
		return entry->series;
	series_release(&entry->series);
	entry->series = fresh;
	return fresh;
}

size_t series_names_count(const struct series_names *names)
{
	return names->map.count;
}

/* For how many intervals an entry was not used; 0: in the last one it was. */
static uint32_t age_of(const struct series_names *names, const struct entry *entry)
{
	uint32_t age = names->interval - entry->used;

	return age < KEEP ? age : KEEP;
}

/* The age from which on entries go: as many unused ones as SERIES_UNUSED_MAX stay, the newest. */
static uint32_t oldest_kept(const struct series_names *names)
{
	size_t count[KEEP + 1] = {0}, unused = 0;
	uint32_t age = 1;

	for (size_t i = 0; i < names->map.count; i++)
		count[age_of(names, &names->entry[i])]++;
	while (age < KEEP && unused + count[age] <= SERIES_UNUSED_MAX)
		unused += count[age++];
	return age;
}

/* Names of namespaces that come and go would otherwise take as much memory as a stranger likes. */
static void forget_unused(struct series_names *names)
{
	uint32_t until = oldest_kept(names);
	struct keymap kept = {0};
	size_t count = 0;

	for (size_t i = 0; i < names->map.count; i++) {
		struct entry entry = names->entry[i];
		size_t number;

		if (age_of(names, &entry) >= until ||
		    keymap_add(&kept, &names->map.key[i], &number) < 0)
			series_release(&entry.series);
		else
			names->entry[count++] = entry;
	}
	keymap_clear(&names->map);
	names->map = kept;
}

void series_names_tidy(struct series_names *names)
{
	if (names->map.count > SERIES_UNUSED_MAX || names->interval % KEEP == 0)
		forget_unused(names);
	names->interval++;
}

/* ---- devices ------------------------------------------------------------------- */

static uint64_t hash_name(const char *name)
{
	return name ? hash_text(0, name) : 0;
}

/* Where a device is: its keys, and the name that its namespace has now; `id` 0: not known.  True: unsure. */
static bool place(const struct series_names *names, struct device *device, uint32_t id,
		  char text[static ATTRIBUTION_NETNS_MAX])
{
	struct attribution *attribution = names->sources.attribution;
	int r = 0;

	place_keys(device);
	if (!attribution || !device->netns)
		return false;
	if (id)
		r = attribution_netns_identify(attribution, id, device->netns, text);
	else if (!attribution_netns(attribution, device->netns, text))
		r = -ENOENT;
	if (r >= 0)
		device->netns_name = text;
	return r == -EAGAIN;
}

/* ---- drops ------------------------------------------------------------------------ */

static bool is_keyed(const struct backend_drops *drops)
{
	return !drops->unkeyed && !drops->gone && !(drops->key.flags & NF_KEY_COARSE);
}

/* The cgroup of the socket, otherwise that of the namespace's processes; false: not known. */
static bool find_owner(const struct series_names *names, const struct backend_drops *drops,
		       char path[static ATTRIBUTION_CGROUP_MAX])
{
	struct attribution *attribution = names->sources.attribution;

	if (!attribution || !is_keyed(drops))
		return false;
	if (drops->key.cgroup)
		return attribution_cgroup(attribution, drops->key.cgroup, path);
	return attribution_netns_owner(attribution, drops->key.netns, drops->netns, path) == 0;
}

static struct series *set_drops(struct series_names *names, struct entry *entry,
				const struct backend_drops *drops, const struct owner *owner)
{
	const struct backend *backend = names->sources.backend;
	char netns_name[ATTRIBUTION_NETNS_MAX];
	OWN_TEXTS struct texts texts = {0};
	struct drop_row row = {0};
	struct cause cause;

	records_cause(names->sources.records, backend_has_reasons(backend), &drops->key, &cause);
	drop_row_set_cause(&row, &cause, &texts);
	counted_row_set(&row, drops, &texts);
	drop_row_set_owner(&row, owner, &texts);
	if (drop_row_fields(&row, DROP_NETNS))
		row.key.unsure = place(names, &row.key.device, drops->key.netns, netns_name);
	row.host = device_in_host(&row.key.device);
	if (!drop_row_fields(&row, DROP_EVIDENCE))
		row.evidence = 0;
	drop_key_project(&row.key, drop_row_fields(&row, DROP_FIELDS));
	entry->unsure = row.key.unsure;
	return texts.failed ? entry->series : set(entry, series_new_drops(&row));
}

static struct series *name_drops(struct series_names *names, struct entry *entry,
				 const struct backend_drops *drops)
{
	char path[ATTRIBUTION_CGROUP_MAX];
	struct owner_names owner_names;
	struct owner owner;
	bool known = find_owner(names, drops, path);

	struct series *series;

	entry->tried = names->interval;
	entry->tries++;
	if (entry->series && !known && !entry->unsure)
		return entry->series;
	if (known)
		owner_of_cgroup(&owner, path, !drops->key.cgroup, &owner_names);
	series = set_drops(names, entry, drops, known ? &owner : NULL);
	if (!entry->unsure && (known || !is_keyed(drops)))
		entry->tries = TRIES;
	return series;
}

struct series *series_of_drops(struct series_names *names, const struct backend_drops *drops)
{
	struct keymap_key key = {.word = {HISTORY_DROPS | (uint64_t)drops->unkeyed << 8 |
					  (uint64_t)drops->gone << 9}};
	struct entry *entry;

	_Static_assert(sizeof(drops->key) + 16 <= sizeof(key), "the key fits");
	key.word[1] = hash_name(drops->device) ^ drops->identity;
	memcpy(&key.word[2], &drops->key, sizeof(drops->key));
	entry = find(names, &key);
	if (!entry)
		return NULL;
	/* The owner and the name of a namespace can become known some seconds later. */
	if (entry->series && (entry->tries >= TRIES || entry->tried == names->interval))
		return entry->series;
	return name_drops(names, entry, drops);
}

struct series *series_of_gone(struct series_names *names, const struct nf_drop_key *key)
{
	const struct backend_drops drops = {.key = *key, .gone = true};

	return series_of_drops(names, &drops);
}

/* ---- devices, CPUs, probes ------------------------------------------------------------ */

/* The series of `number` of a kind, and of a device; NULL: of all, or of all without a row of their own. */
static struct series *find_series(struct series_names *names, int kind, uint64_t number,
				  const struct device *device, const struct series_name *like)
{
	const struct keymap_key key = {
		.word = {(uint64_t)kind, number,
			 device ? NF_DEVICE_KEY(device->netns, device->ifindex) : 0,
			 device ? hash_name(device->name) : 0, !device,
			 device ? device->identity : 0}};
	struct entry *entry = find(names, &key);
	char netns_name[ATTRIBUTION_NETNS_MAX];
	struct series_name name = *like;

	if (!entry || entry->series)
		return entry ? entry->series : NULL;
	if (device) {
		name.device = *device;
		name.unsure =
			place(names, &name.device, NF_KEY_NETNS_ID(device->identity), netns_name);
	}
	if (name.device.name && !name.device.name[0])
		name.device.name = NULL;
	return set(entry, series_new(kind, &name));
}

struct series *series_of_segment(struct series_names *names, unsigned int segment)
{
	const struct series_name name = {.segment = segment_histograms[segment].name};

	return find_series(names, HISTORY_LATENCY, segment, NULL, &name);
}

struct series *series_of_device(struct series_names *names, unsigned int segment,
				const struct device *device)
{
	const struct series_name name = {.segment = segment_histograms[segment].name,
					 .other = !device};

	return find_series(names, HISTORY_DEVICE, segment, device, &name);
}

struct series *series_of_napi(struct series_names *names, const struct device *device, uint32_t cpu)
{
	const struct series_name name = {.cpu = cpu};

	return find_series(names, HISTORY_NAPI, cpu, device, &name);
}

struct series *series_of_cpu(struct series_names *names, uint32_t cpu)
{
	const struct series_name name = {.cpu = cpu};

	return find_series(names, HISTORY_SOFTIRQ, cpu, NULL, &name);
}

struct series *series_of_slots(struct series_names *names, const struct backend_slots *slots)
{
	const struct device device = {.name = slots->name,
				      .ifindex = slots->ifindex,
				      .netns = slots->netns,
				      .identity = slots->identity};
	const struct series_name name = {.xen = slots->xen};

	return find_series(names, HISTORY_SLOTS, slots->xen, &device, &name);
}

struct series *series_of_probe(struct series_names *names, unsigned int probe)
{
	const struct series_name name = {.probe = probe_specs[probe].name};

	return find_series(names, HISTORY_EVENTS, probe, NULL, &name);
}

struct series *series_of_traffic(struct series_names *names, const struct device *device)
{
	const struct series_name name = {.other = !device};

	return find_series(names, HISTORY_TRAFFIC, 0, device, &name);
}

struct series *series_of_seen(struct series_names *names)
{
	static const struct series_name name;

	return find_series(names, HISTORY_SEEN, 0, NULL, &name);
}
