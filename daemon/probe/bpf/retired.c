/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/probe/bpf/retired.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "daemon/probe/bpf/compact.h"

#define BUCKETS 4096
/* Kinds that are kept separately; the kernel has about 40, and a host uses few. */
#define KINDS_MAX 16

struct retired {
	size_t limit, bytes, count;
	struct retired_device *bucket[BUCKETS];
	struct retired_device *oldest, *newest;
	struct retired_kind *kind;
	size_t kinds;
};

int retired_new(struct retired **retired, size_t bytes)
{
	struct retired *fresh = calloc(1, sizeof(*fresh));

	if (!fresh)
		return -ENOMEM;
	fresh->limit = bytes;
	*retired = fresh;
	return 0;
}

static void device_free(struct retired_device *device)
{
	free(device->counters);
	free(device->napi);
	free(device);
}

void retired_free(struct retired **retired)
{
	if (!*retired)
		return;
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct retired_device *one = (*retired)->bucket[i], *next; one; one = next) {
			next = one->next;
			device_free(one);
		}
	free((*retired)->kind);
	free(*retired);
	*retired = NULL;
}

static size_t bucket_index(uint64_t key)
{
	return (key * UINT64_C(0x9e3779b97f4a7c15) >> 32) % BUCKETS;
}

/* With the overhead of malloc() for each allocation. */
static size_t bytes_of(const struct retired_device *device)
{
	return sizeof(*device) + 16 +
	       (device->counters ? sizeof(*device->counters) + device->counters->bytes + 16 : 0) +
	       (device->napi ? device->napi_count * sizeof(*device->napi) + 16 : 0);
}

static void unlink_gone(struct retired *retired, struct retired_device *device)
{
	if (!device->gone)
		return;
	device->gone = false;
	*(device->older ? &device->older->newer : &retired->oldest) = device->newer;
	*(device->newer ? &device->newer->older : &retired->newest) = device->older;
	device->older = device->newer = NULL;
}

static void link_gone(struct retired *retired, struct retired_device *device)
{
	device->gone = true;
	device->older = retired->newest;
	device->newer = NULL;
	*(retired->newest ? &retired->newest->newer : &retired->oldest) = device;
	retired->newest = device;
}

/* ---- kinds ----------------------------------------------------------------- */

/* The entry of a kind, made if it is new; NULL if there is no room or no memory for it. */
static struct retired_kind *kind_of(struct retired *retired, const char *kind)
{
	struct retired_kind *grown;

	for (size_t i = 0; i < retired->kinds; i++)
		if (!memcmp(retired->kind[i].kind, kind, NF_DEVICE_KIND))
			return &retired->kind[i];
	if (retired->kinds == KINDS_MAX)
		return &retired->kind[KINDS_MAX - 1];
	grown = realloc(retired->kind, (retired->kinds + 1) * sizeof(*grown));
	if (!grown)
		return NULL;
	retired->kind = grown;
	grown += retired->kinds++;
	memset(grown, 0, sizeof(*grown));
	/* The last one is for all others; an empty kind. */
	if (retired->kinds < KINDS_MAX)
		memcpy(grown->kind, kind, NF_DEVICE_KIND);
	return grown;
}

/* Add the oldest device to its kind; false if that is not possible now. */
static bool forget_oldest(struct retired *retired)
{
	struct retired_device *oldest = retired->oldest, **link;
	struct retired_kind *kind = oldest ? kind_of(retired, oldest->info.kind) : NULL;

	if (!kind)
		return false;
	compact_add(oldest->counters, &kind->stats);
	kind->devices++;
	retired->bytes -= bytes_of(oldest);
	retired->count--;
	unlink_gone(retired, oldest);
	link = &retired->bucket[bucket_index(oldest->key)];
	while (*link != oldest)
		link = &(*link)->next;
	*link = oldest->next;
	device_free(oldest);
	return true;
}

/* ---- devices --------------------------------------------------------------- */

static struct retired_device *find(const struct retired *retired, uint64_t key)
{
	struct retired_device *one = retired->bucket[bucket_index(key)];

	while (one && one->key != key)
		one = one->next;
	return one;
}

static int add_napi(struct retired_device *device, uint32_t cpu,
		    const struct nf_device_stats *stats)
{
	struct retired_napi *napi = device->napi;
	size_t i = 0;

	if (!stats->polls)
		return 0;
	while (i < device->napi_count && napi[i].cpu != cpu)
		i++;
	if (i == device->napi_count) {
		napi = realloc(napi, (i + 1) * sizeof(*napi));
		if (!napi)
			return -ENOMEM;
		napi[i] = (struct retired_napi){.cpu = cpu};
		device->napi = napi;
		device->napi_count++;
	}
	napi[i].polls += stats->polls;
	napi[i].poll_packets += stats->poll_packets;
	napi[i].full_budgets += stats->full_budgets;
	return 0;
}

static struct retired_device *device_add(struct retired *retired, uint64_t key)
{
	struct retired_device *fresh = calloc(1, sizeof(*fresh));
	struct retired_device **bucket = &retired->bucket[bucket_index(key)];

	if (!fresh)
		return NULL;
	fresh->key = key;
	fresh->next = *bucket;
	*bucket = fresh;
	retired->bytes += bytes_of(fresh);
	retired->count++;
	return fresh;
}

static void keep_within_limit(struct retired *retired)
{
	while (retired->bytes > retired->limit && forget_oldest(retired))
		;
}

/* The sum of the device's counters and of `stats`. */
static int add_counters(const struct retired_device *device, const struct nf_device_stats *stats,
			struct compact **counters)
{
	OWN_FREE struct nf_device_stats *sum = calloc(1, sizeof(*sum));

	if (!sum)
		return -ENOMEM;
	compact_merge(sum, stats);
	if (device)
		compact_add(device->counters, sum);
	return compact_new(counters, sum);
}

int retired_add(struct retired *retired, uint64_t key, const struct nf_device_info *info,
		uint32_t cpu, const struct nf_device_stats *stats)
{
	struct retired_device *device = find(retired, key);
	OWN_FREE struct compact *counters = NULL;
	int r = add_counters(device, stats, &counters);

	if (r < 0)
		return r;
	if (!device)
		device = device_add(retired, key);
	if (!device)
		return -ENOMEM;
	unlink_gone(retired, device);
	retired->bytes -= bytes_of(device);
	r = add_napi(device, cpu, stats);
	if (r == 0) {
		device->info = *info;
		free(device->counters);
		device->counters = TAKE_PTR(counters);
	}
	retired->bytes += bytes_of(device);
	keep_within_limit(retired);
	return r;
}

void retired_gone(struct retired *retired, uint64_t key)
{
	struct retired_device *device = find(retired, key);

	if (!device || device->gone)
		return;
	link_gone(retired, device);
	keep_within_limit(retired);
}

const struct retired_device *retired_find(const struct retired *retired, uint64_t key)
{
	return find(retired, key);
}

const struct retired_device *retired_next(const struct retired *retired,
					  const struct retired_device *device)
{
	size_t i = device ? bucket_index(device->key) + 1 : 0;

	if (device && device->next)
		return device->next;
	while (i < BUCKETS && !retired->bucket[i])
		i++;
	return i < BUCKETS ? retired->bucket[i] : NULL;
}

size_t retired_count(const struct retired *retired)
{
	return retired->count;
}

size_t retired_bytes(const struct retired *retired)
{
	return retired->bytes;
}

const struct retired_kind *retired_kinds(const struct retired *retired, size_t *count)
{
	*count = retired->kinds;
	return retired->kind;
}
