/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/history/place_key.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "bpf/records.h"
#include "common/cleanup.h"
#include "daemon/core/device.h"
#include "daemon/history/series.h"
#include "daemon/store/device_names.h"

#define BOOT_ID "/proc/sys/kernel/random/boot_id"
#define KEY_BITS 53

static uint64_t boot;

/* Without the file, the keys of two boots are not distinguished. */
static void read_boot(void)
{
	OWN_FILE FILE *file = fopen(BOOT_ID, "re");
	char text[64];

	if (file && fgets(text, sizeof(text), file))
		boot = series_hash(0, text, strlen(text));
}

int64_t place_boot(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_boot);
	return (int64_t)boot;
}

uint64_t place_key(uint64_t identity)
{
	uint64_t hash = (uint64_t)place_boot();

	/* The finalizer of MurmurHash3: each bit of the result depends on all of both. */
	hash ^= identity * UINT64_C(0x9e3779b97f4a7c15);
	hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccdULL;
	hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53ULL;
	return (hash ^ hash >> 33) >> (64 - KEY_BITS) | 1;
}

void place_keys(struct device *device)
{
	uint64_t identity = device->identity;
	uint32_t netns_id = NF_KEY_NETNS_ID(identity);
	bool known = device->netns && netns_id;

	device->netns_id = known ? place_key(netns_id) : 0;
	device->identity = known && device_own_identity(identity) ? place_key(identity) : 0;
}
