/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A start that fails for lack of memory: which table, how large, and the setting that makes it smaller. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "common/array.h"
#include "daemon/probe/bpf/blocks.h"
#include "daemon/probe/bpf/internal.h"

/* Maps by the beginning of their names. */
static const struct {
	const char *map, *setting;
} settings_of[] = {
	{"nf_inflights", "inflight.entries"},
	{"nf_hops", "inflight.entries"},
	{"nf_device_", "devices.slots"},
	{"nf_block_rows", "devices.slots"},
	{"nf_chunk", "devices.memory"},
	{"nf_free_blocks", "devices.memory"},
	{"nf_group_blocks", "devices.memory"},
	{"nf_drop_", "drops.keys"},
	{"nf_ring", "ring.bytes"},
};

static const char *setting_of(const char *map)
{
	for (size_t i = 0; i < ARRAY_SIZE(settings_of); i++)
		if (!strncmp(map, settings_of[i].map, strlen(settings_of[i].map)))
			return settings_of[i].setting;
	return NULL;
}

void bpf_explain_shortage(const char *map, uint64_t bytes, int error, char *reason)
{
	const char *setting = setting_of(map);

	snprintf(
		reason, BACKEND_REASON_MAX,
		"there is no memory for the table %s of %.1f MiB: %s; %s%s%sallow netflowd more memory (MemoryMax= in its systemd unit)",
		map, (double)bytes / (1 << 20), strerror(-error),
		setting ? "make it smaller with the setting " : "", setting ? setting : "",
		setting ? ", or " : "");
}
