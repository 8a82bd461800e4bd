/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/store/traffic.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"

struct traffic {
	struct traffic_list known; /* of the last reading */
	struct traffic_list fresh; /* of the reading that is under way */
	struct traffic_list
		gone; /* devices that are no longer found in a namespace that still is */
	uint32_t (*number_of)(uint32_t netns, const char *name, void *userdata);
	void *userdata;
	uint32_t netns;		 /* the namespace that is being added, */
	size_t netns_at;	 /* where its devices begin */
	uint64_t netns_left_out; /* and what had been left out before it */
	uint64_t now_ns, ids;
	uint64_t total[TRAFFIC_VALUES];
	bool begun; /* there was a reading */
};

void traffic_list_clear(struct traffic_list *list)
{
	free(list->at);
	*list = (struct traffic_list){0};
}

static int compare(const struct traffic_device *a, uint32_t netns, const char *name)
{
	return a->netns != netns ? ORDER(a->netns, netns) : strcmp(a->name, name);
}

static int by_place(const void *a, const void *b)
{
	const struct traffic_device *y = b;

	return compare(a, y->netns, y->name);
}

const struct traffic_device *traffic_find(const struct traffic_list *list, uint32_t netns,
					  const char *name)
{
	size_t i = LOWER_BOUND(one, list->at, list->count, compare(one, netns, name) < 0);

	return i < list->count && compare(&list->at[i], netns, name) == 0 ? &list->at[i] : NULL;
}

static bool has_netns(const struct traffic_list *list, uint32_t netns)
{
	size_t i = LOWER_BOUND(one, list->at, list->count, one->netns < netns);

	return i < list->count && list->at[i].netns == netns;
}

int traffic_new(struct traffic **traffic,
		uint32_t (*number_of)(uint32_t netns, const char *name, void *userdata),
		void *userdata)
{
	struct traffic *fresh = calloc(1, sizeof(*fresh));

	if (!fresh)
		return -ENOMEM;
	fresh->number_of = number_of;
	fresh->userdata = userdata;
	*traffic = fresh;
	return 0;
}

void traffic_free(struct traffic **traffic)
{
	if (!*traffic)
		return;
	traffic_list_clear(&(*traffic)->known);
	traffic_list_clear(&(*traffic)->fresh);
	traffic_list_clear(&(*traffic)->gone);
	free(*traffic);
	*traffic = NULL;
}

/* ---- one reading --------------------------------------------------------------- */

void traffic_begin(struct traffic *traffic, uint64_t now_ns)
{
	traffic->now_ns = now_ns;
	traffic->fresh.count = 0;
	traffic->fresh.namespaces = 0;
	traffic->fresh.left_out = 0;
}

void traffic_add_netns(struct traffic *traffic, uint32_t netns)
{
	traffic->netns = netns;
	traffic->netns_at = traffic->fresh.count;
	traffic->netns_left_out = traffic->fresh.left_out;
	traffic->fresh.namespaces++;
}

void traffic_forget_netns(struct traffic *traffic)
{
	traffic->fresh.count = traffic->netns_at;
	traffic->fresh.left_out = traffic->netns_left_out;
	traffic->fresh.namespaces--;
}

int traffic_add(struct traffic *traffic, const char *name, const uint64_t value[TRAFFIC_VALUES])
{
	struct traffic_list *fresh = &traffic->fresh;
	struct traffic_device *device;

	if (fresh->count >= TRAFFIC_DEVICES_MAX) {
		fresh->left_out++;
		return 0;
	}
	if (ARRAY_GROW(fresh->at, fresh->count, fresh->room) < 0)
		return -ENOMEM;
	device = &fresh->at[fresh->count++];
	*device = (struct traffic_device){.netns = traffic->netns};
	strncpy(device->name, name, sizeof(device->name) - 1);
	memcpy(device->value, value, sizeof(device->value));
	return 0;
}

/* ---- its end ------------------------------------------------------------------- */

/* Of a counter with 32 bits that has begun again at 0: it was in the upper half, and is in the lower one. */
static bool has_wrapped(uint64_t before, uint64_t now)
{
	return before <= UINT32_MAX && before > UINT32_MAX / 2 && now <= UINT32_MAX / 2;
}

/*
 * Whether the counters are those of another device of the same name.  All counters of a new device are small, but only
 * one or another of a device wraps at the same time, and those that wrap have no more than 32 bits.
 */
static bool is_new(const uint64_t before[TRAFFIC_VALUES], const uint64_t now[TRAFFIC_VALUES])
{
	bool fell = false, stayed = false;

	for (int i = 0; i < TRAFFIC_VALUES; i++) {
		if (now[i] < before[i] && !has_wrapped(before[i], now[i]))
			return true;
		fell |= now[i] < before[i];
		stayed |= before[i] && now[i] >= before[i];
	}
	return fell && !stayed;
}

static void advance(struct traffic *traffic, const struct traffic_device *before,
		    struct traffic_device *device)
{
	device->id = before->id;
	device->since_ns = before->since_ns;
	if (is_new(before->value, device->value)) {
		device->id = ++traffic->ids;
		device->ifindex =
			traffic->number_of(device->netns, device->name, traffic->userdata);
		device->since_ns = traffic->now_ns;
		memcpy(device->sum, device->value, sizeof(device->sum));
		return;
	}
	for (int i = 0; i < TRAFFIC_VALUES; i++) {
		uint64_t more = device->value[i] - before->value[i];

		device->sum[i] = before->sum[i] +
				 (device->value[i] < before->value[i] ? (uint32_t)more : more);
	}
}

/* The virtual devices of a namespace are deleted with it, so those of a namespace that is gone have not moved. */
static int find_gone(struct traffic *traffic)
{
	struct traffic_list *gone = &traffic->gone;

	gone->count = 0;
	for (size_t i = 0; i < traffic->known.count; i++) {
		const struct traffic_device *old = &traffic->known.at[i];

		if (traffic_find(&traffic->fresh, old->netns, old->name) ||
		    !has_netns(&traffic->fresh, old->netns))
			continue;
		if (ARRAY_GROW(gone->at, gone->count, gone->room) < 0)
			return -ENOMEM;
		gone->at[gone->count++] = *old;
	}
	return 0;
}

/* The device that was renamed to this one; NULL: none. */
static const struct traffic_device *find_renamed(const struct traffic *traffic,
						 const struct traffic_device *device)
{
	for (size_t i = 0; device->ifindex && i < traffic->gone.count; i++)
		if (traffic->gone.at[i].ifindex == device->ifindex &&
		    traffic->gone.at[i].netns == device->netns)
			return &traffic->gone.at[i];
	return NULL;
}

/* Whether this can be a device that had another name or namespace: one that is gone, and had counted no more. */
static bool may_have_moved(const struct traffic *traffic, const struct traffic_device *device)
{
	for (size_t i = 0; i < traffic->gone.count; i++) {
		const struct traffic_device *old = &traffic->gone.at[i];
		uint64_t any = 0;
		bool more = true;

		for (int j = 0; j < TRAFFIC_VALUES; j++) {
			any |= old->value[j];
			more &= device->value[j] >= old->value[j];
		}
		if (any && more && (!old->ifindex || !device->ifindex))
			return true;
	}
	return false;
}

/*
 * What a device counted before netflowd first read it counts only if the device was made since the last reading.  A
 * device that may have moved counts from its value on.
 */
static void begin_device(struct traffic *traffic, struct traffic_device *device)
{
	device->id = ++traffic->ids;
	device->since_ns = traffic->now_ns;
	if (traffic->begun && !may_have_moved(traffic, device))
		memcpy(device->sum, device->value, sizeof(device->sum));
}

static void take(struct traffic *traffic, struct traffic_device *device)
{
	const struct traffic_device *before =
		traffic_find(&traffic->known, device->netns, device->name);

	device->ifindex =
		before ? before->ifindex
		       : traffic->number_of(device->netns, device->name, traffic->userdata);
	if (!before)
		before = find_renamed(traffic, device);
	if (before)
		advance(traffic, before, device);
	else
		begin_device(traffic, device);
	for (int i = 0; i < TRAFFIC_VALUES; i++)
		traffic->total[i] +=
			device->sum[i] - (before && before->id == device->id ? before->sum[i] : 0);
}

int traffic_end(struct traffic *traffic, struct traffic_list *list)
{
	struct traffic_list *fresh = &traffic->fresh, old = traffic->known;
	struct traffic_device *copy = malloc((fresh->count + 1) * sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	if (fresh->count)
		qsort(fresh->at, fresh->count, sizeof(*fresh->at), by_place);
	if (find_gone(traffic) < 0) {
		free(copy);
		return -ENOMEM;
	}
	for (size_t i = 0; i < fresh->count; i++)
		take(traffic, &fresh->at[i]);
	if (fresh->count)
		memcpy(copy, fresh->at, fresh->count * sizeof(*copy));
	*list = *fresh;
	list->time_ns = traffic->now_ns;
	memcpy(list->total, traffic->total, sizeof(list->total));
	list->at = copy;
	list->room = fresh->count + 1;
	traffic->known = *fresh;
	traffic->fresh = old;
	traffic->begun = true;
	return 0;
}
