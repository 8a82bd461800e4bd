/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes the counters of a running netflowd old: adds ADD to them on each online CPU, as if that many events had been
 * counted before.  The cells are chosen so that every equation of the ledger holds as before.
 *
 * Prints the number of CPUs whose counters it changed.
 */
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "bpf/records.h"

/* hits = completed + …; begun = consumed + …; chosen = throttled + … */
static const struct {
	enum nf_probe probe;
	enum nf_event event;
} cells[] = {
	{NF_PROBE_KFREE_SKB, NF_EVENT_HIT},	    {NF_PROBE_KFREE_SKB, NF_EVENT_COMPLETED},
	{NF_PROBE_NETIF_RECEIVE_SKB, NF_EVENT_HIT}, {NF_PROBE_NETIF_RECEIVE_SKB, NF_EVENT_BEGUN},
	{NF_PROBE_CONSUME_SKB, NF_EVENT_CONSUMED},  {NF_PROBE_CONSUME_SKB, NF_EVENT_CHOSEN},
	{NF_PROBE_CONSUME_SKB, NF_EVENT_THROTTLED},
};

static uint64_t number(const char *text)
{
	char *end;
	uint64_t n;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno || end == text || *end)
		errx(2, "not a number: %s", text);
	return n;
}

/* The ID of the map behind a file descriptor of the process; 0 if it is not a map. */
static uint32_t map_of(const char *directory, const char *fd)
{
	char path[PATH_MAX], line[128];
	uint32_t id = 0;
	FILE *info;

	snprintf(path, sizeof(path), "%s/%s", directory, fd);
	info = fopen(path, "re");
	while (info && fgets(line, sizeof(line), info))
		if (sscanf(line, "map_id: %u", &id) == 1)
			break;
	if (info)
		fclose(info);
	return id;
}

/* Open the map with that name of the process. */
static int open_map(const char *pid, const char *name, struct bpf_map_info *info)
{
	char directory[64];
	struct dirent *entry;
	DIR *fds;

	snprintf(directory, sizeof(directory), "/proc/%s/fdinfo", pid);
	fds = opendir(directory);
	if (!fds)
		err(1, "%s", directory);
	while ((entry = readdir(fds))) {
		uint32_t id = map_of(directory, entry->d_name), size = sizeof(*info);
		int fd = id ? bpf_map_get_fd_by_id(id) : -1;

		memset(info, 0, sizeof(*info));
		if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, info, &size) &&
		    !strcmp(info->name, name)) {
			closedir(fds);
			return fd;
		}
		if (fd >= 0)
			close(fd);
	}
	errx(1, "process %s has no map %s", pid, name);
}

/* The programs of a CPU add with one instruction, so an atomic addition on the same CPU loses nothing. */
static void age_cpu(struct nf_cpu *cpu, uint64_t add)
{
	for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++) {
		enum nf_probe probe = cells[i].probe;
		enum nf_event event = cells[i].event;
		/* The hits of most programs are their calls. */
		bool calls = event == NF_EVENT_HIT && !nf_counts_hits(probe);
		__u64 *cell = calls ? &cpu->calls[probe] : &cpu->events[probe][event];

		__atomic_fetch_add(cell, add, __ATOMIC_RELAXED);
	}
}

int main(int argc, char **argv)
{
	struct bpf_map_info info;
	struct nf_cpu *cpus;
	unsigned int changed = 0;
	int fd;

	if (argc != 3)
		errx(2, "usage: age PID ADD");
	fd = open_map(argv[1], "nf_cpus", &info);
	cpus = mmap(NULL, (size_t)info.value_size * info.max_entries, PROT_READ | PROT_WRITE,
		    MAP_SHARED, fd, 0);
	if (cpus == MAP_FAILED)
		err(1, "mmap");
	for (uint32_t i = 0; i < info.max_entries; i++) {
		cpu_set_t *set = CPU_ALLOC(info.max_entries);
		size_t bytes = CPU_ALLOC_SIZE(info.max_entries);

		CPU_ZERO_S(bytes, set);
		CPU_SET_S(i, bytes, set);
		if (!sched_setaffinity(0, bytes, set)) {
			age_cpu(&cpus[i], number(argv[2]));
			changed++;
		}
		CPU_FREE(set);
	}
	printf("%u\n", changed);
	return 0;
}
