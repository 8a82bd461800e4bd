/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Addresses from /proc/kallsyms: of functions in modules, for programs that recognize a function by its address, and of
 * the kernel's tables and secrets, for programs that look for a socket.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "build/bpf/netflowd.skel.h"
#include "common/cleanup.h"
#include "common/kallsyms.h"
#include "daemon/probe/bpf/internal.h"

#define NETBACK "/sys/module/xen_netback"

/* The next line of /proc/kallsyms; false at the end. */
static bool next_symbol(FILE *file, uint64_t *address, char name[64])
{
	char line[512];

	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "%" SCNx64 " %*c %63s", address, name) == 2)
			return true;
	return false;
}

uint64_t bpf_function(const char *wanted, uint64_t *bytes)
{
	OWN_FILE FILE *file = fopen(kallsyms_path(), "re");
	uint64_t begin = 0, end = UINT64_MAX, address;
	char name[64];

	/* The full name: parts that the compiler moved away have a suffix, as xennet_start_xmit.cold. */
	while (file && !begin && next_symbol(file, &address, name))
		if (!strcmp(name, wanted))
			begin = address;
	if (!begin)
		return 0;
	rewind(file);
	/* The symbols of a module are not sorted, so the end is the nearest symbol behind it. */
	while (next_symbol(file, &address, name))
		if (address > begin && address < end)
			end = address;
	*bytes = end - begin;
	return begin;
}

/* The compiler appends ".isra.0" and the like to functions, ".12" to static variables. */
static bool is_symbol(const char *name, const char *wanted)
{
	size_t len = strlen(wanted);

	return !strncmp(name, wanted, len) && (!name[len] || name[len] == '.');
}

void bpf_addresses(const char *const wanted[], uint64_t address[], size_t count)
{
	OWN_FILE FILE *file = fopen(kallsyms_path(), "re");
	size_t left = count;
	char name[64];
	uint64_t at;

	memset(address, 0, count * sizeof(*address));

	/* The first one of a name counts: the kernel's symbols precede those of modules. */
	while (file && left && next_symbol(file, &at, name))
		for (size_t i = 0; i < count; i++)
			if (!address[i] && is_symbol(name, wanted[i])) {
				address[i] = at;
				left -= at != 0;
			}
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
