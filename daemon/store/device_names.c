/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/store/device_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "daemon/core/keymap.h"

/* Readings without a device until it may be forgotten: of all parts, so that each was read. */
#define KEEP 8

struct entry {
	struct device_name device;
	char passed[NF_DEVICE_NAME + 1]; /* the last one of device_names_passed() */
	uint64_t dropped_ns;		 /* of the newest drop */
	uint64_t used;			 /* the reading */
};

struct device_names {
	struct keymap map; /* by identity */
	struct entry *entry;
	size_t room;
	uint64_t reading, now_ns;
};

int device_names_new(struct device_names **names)
{
	*names = calloc(1, sizeof(**names));
	return *names ? 0 : -ENOMEM;
}

void device_names_free(struct device_names **names)
{
	if (!*names)
		return;
	keymap_clear(&(*names)->map);
	free((*names)->entry);
	free(*names);
	*names = NULL;
}

void device_names_begin(struct device_names *names, uint64_t now_ns)
{
	struct keymap kept = {0};
	size_t number;

	names->reading++;
	names->now_ns = now_ns;
	if (names->map.count < DEVICE_NAMES_MAX)
		return;
	for (size_t i = 0; i < names->map.count; i++)
		if (names->entry[i].used + KEEP >= names->reading &&
		    keymap_add(&kept, &names->map.key[i], &number) == 0)
			names->entry[number] = names->entry[i];
	keymap_clear(&names->map);
	names->map = kept;
}

static struct keymap_key key_of(uint64_t identity)
{
	return (struct keymap_key){.word = {identity}};
}

/* NULL: there is no room for a new one. */
static struct entry *take(struct device_names *names, uint64_t identity)
{
	const struct keymap_key key = key_of(identity);
	size_t before = names->map.count, number;

	if (!keymap_find(&names->map, &key, &number)) {
		if (before >= DEVICE_NAMES_MAX ||
		    ARRAY_GROW(names->entry, before, names->room) < 0 ||
		    keymap_add(&names->map, &key, &number) < 0)
			return NULL;
		names->entry[number] = (struct entry){0};
	}
	names->entry[number].used = names->reading;
	return &names->entry[number];
}

static void set(struct device_name *device, const char *name, uint64_t now_ns)
{
	if (!strncmp(device->name, name, NF_DEVICE_NAME))
		return;
	memcpy(device->was, device->name, sizeof(device->was));
	memset(device->name, 0, sizeof(device->name));
	memcpy(device->name, name, strnlen(name, NF_DEVICE_NAME));
	device->since_ns = now_ns;
}

void device_names_dropped(struct device_names *names, uint64_t identity, const char *name,
			  uint64_t time_ns)
{
	struct entry *entry = identity && name[0] ? take(names, identity) : NULL;

	if (!entry || time_ns <= entry->dropped_ns)
		return;
	entry->dropped_ns = time_ns;
	set(&entry->device, name, time_ns);
}

void device_names_passed(struct device_names *names, uint64_t identity, const char *name)
{
	struct entry *entry = identity && name[0] ? take(names, identity) : NULL;

	if (!entry || !strncmp(entry->passed, name, NF_DEVICE_NAME))
		return;
	memset(entry->passed, 0, sizeof(entry->passed));
	memcpy(entry->passed, name, strnlen(name, NF_DEVICE_NAME));
	set(&entry->device, name, names->now_ns);
}

void device_names_is(struct device_names *names, uint64_t identity, const char *name,
		     uint64_t now_ns)
{
	struct entry *entry = take(names, identity);

	if (entry)
		set(&entry->device, name, now_ns);
}

const struct device_name *device_names_find(const struct device_names *names, uint64_t identity)
{
	const struct keymap_key key = key_of(identity);
	size_t number;

	if (!identity || !keymap_find(&names->map, &key, &number))
		return NULL;
	return &names->entry[number].device;
}

/* ---- who is meant by a name --------------------------------------------------------- */

struct candidate {
	uint64_t identity, since_ns;
};

/* By namespace, and the last one that got the name first.  Numbers of devices grow, and begin again after 2^31. */
static int by_netns_and_age(const void *x, const void *y)
{
	const struct candidate *a = x, *b = y;
	int order = ORDER(NF_KEY_NETNS_ID(a->identity), NF_KEY_NETNS_ID(b->identity));

	if (!order)
		order = ORDER(b->since_ns, a->since_ns);
	return order ? order : ORDER(0, (int32_t)((uint32_t)(a->identity - b->identity) << 1));
}

static int by_netns(const void *x, const void *y)
{
	const struct device_holder *a = x, *b = y;

	return ORDER(a->netns, b->netns);
}

static int find_candidates(const struct device_names *names, const char *name, bool was,
			   struct candidate **found, size_t *count)
{
	size_t room = 0;

	for (size_t i = 0; i < names->map.count; i++) {
		const struct device_name *device = &names->entry[i].device;
		uint64_t identity = device_own_identity(names->map.key[i].word[0]);

		if (!identity || strcmp(was ? device->was : device->name, name) != 0)
			continue;
		if (ARRAY_GROW(*found, *count, room) < 0)
			return -ENOMEM;
		(*found)[(*count)++] = (struct candidate){identity, device->since_ns};
	}
	return 0;
}

int device_names_holders(const struct device_names *names, const char *name,
			 struct device_holders *holders, const char **now)
{
	OWN_FREE struct candidate *found = NULL;
	size_t count = 0;
	int r = find_candidates(names, name, false, &found, &count);

	*now = NULL;
	if (r == 0 && !count) {
		r = find_candidates(names, name, true, &found, &count);
		if (r == 0 && count)
			*now = device_names_find(names, found[0].identity)->name;
	}
	if (r < 0 || !count)
		return r;
	holders->at = calloc(count, sizeof(*holders->at));
	if (!holders->at)
		return -ENOMEM;
	qsort(found, count, sizeof(*found), by_netns_and_age);
	for (size_t i = 0; i < count; i++) {
		uint64_t netns = NF_KEY_NETNS_ID(found[i].identity);

		if (!i || netns != holders->at[holders->count - 1].netns)
			holders->at[holders->count++] =
				(struct device_holder){netns, found[i].identity};
	}
	return 0;
}

void device_holders_clear(struct device_holders *holders)
{
	free(holders->at);
	*holders = (struct device_holders){0};
}

void device_holders_sort(struct device_holders *holders)
{
	if (holders->count)
		qsort(holders->at, holders->count, sizeof(*holders->at), by_netns);
}

enum device_place device_holders_place(const struct device_holders *holders, uint64_t netns,
				       uint64_t device, bool named)
{
	const struct device_holder key = {.netns = netns};
	const struct device_holder *holder =
		holders->count && device
			? bsearch(&key, holders->at, holders->count, sizeof(*holders->at), by_netns)
			: NULL;

	if (holder && holder->device == device)
		return DEVICE_HERE;
	if (!named)
		return DEVICE_ELSEWHERE;
	return holder ? DEVICE_EARLIER : DEVICE_HERE;
}
