/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses of functions in modules, from /proc/kallsyms, for programs that recognize a function by its address. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "build/bpf/netflowd.skel.h"
#include "common/cleanup.h"
#include "common/kallsyms.h"
#include "daemon/probe/bpf/internal.h"

/* A line of /proc/kallsyms: names have up to 512 bytes (KSYM_NAME_LEN). */
#define LINE_ROOM 640
#define NETBACK "/sys/module/xen_netback"

/*
 * The name in the next line of /proc/kallsyms, "ffffffff81000000 T name\t[module]\n", with the rest of the line; NULL
 * at the end.  There are 200,000 lines, so each is only searched for the name.
 */
static const char *next_symbol(FILE *file, char line[LINE_ROOM])
{
	const char *space;

	while (fgets(line, LINE_ROOM, file)) {
		space = strchr(line, ' ');
		if (space && space[1] && space[2] == ' ')
			return space + 3;
	}
	return NULL;
}

static uint64_t address_of(const char *line)
{
	return strtoull(line, NULL, 16);
}

uint64_t bpf_function(const char *wanted, uint64_t *bytes)
{
	OWN_FILE FILE *file = fopen(kallsyms_path(), "re");
	uint64_t begin = 0, end = UINT64_MAX, address;
	size_t len = strlen(wanted);
	char line[LINE_ROOM];
	const char *name;

	/* The full name: parts that the compiler moved away have a suffix, as xennet_start_xmit.cold. */
	while (file && !begin && (name = next_symbol(file, line))) {
		if (!strncmp(name, wanted, len) && strchr("\t\n", name[len]))
			begin = address_of(line);
	}
	if (!begin)
		return 0;
	rewind(file);
	/* The symbols of a module are not sorted, so the end is the nearest symbol behind it. */
	while (next_symbol(file, line)) {
		address = address_of(line);
		if (address > begin && address < end)
			end = address;
	}
	*bytes = end - begin;
	return begin;
}

ino_t bpf_module(const char *directory)
{
	struct stat status;

	return stat(directory, &status) ? 0 : status.st_ino;
}

void bpf_find_netback(struct backend_bpf_state *state)
{
	ino_t now = bpf_module(NETBACK);
	uint64_t begin = 0, bytes = 0;

	if (now == state->netback)
		return;
	state->netback = now;
	if (now)
		begin = bpf_function("xenvif_rx_copy_flush", &bytes);
	/* The length is 0 in between, so that no program sees an old address with a new length. */
	state->skel->bss->live.netback_bytes = 0;
	state->skel->bss->live.netback = begin;
	state->skel->bss->live.netback_bytes = bytes;
}
