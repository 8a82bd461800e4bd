/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/history/place_key.h"

#include <pthread.h>
#include <stdio.h>

#include "common/cleanup.h"
#include "daemon/history/series.h"

#define BOOT_ID "/proc/sys/kernel/random/boot_id"
#define KEY_BITS 53

static uint64_t boot;

/* Without the file, the keys of two boots are not distinguished. */
static void read_boot(void)
{
	OWN_FILE FILE *file = fopen(BOOT_ID, "re");
	char text[64];

	if (file && fgets(text, sizeof(text), file))
		boot = series_hash(0, text);
}

uint64_t place_key(uint32_t netns_id)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	uint64_t hash;

	pthread_once(&once, read_boot);
	/* The finalizer of MurmurHash3: each bit of the result depends on all of both. */
	hash = boot ^ netns_id * 0x9e3779b97f4a7c15ULL;
	hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccdULL;
	hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53ULL;
	return (hash ^ hash >> 33) >> (64 - KEY_BITS) | 1;
}
