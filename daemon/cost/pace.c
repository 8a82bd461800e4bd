/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/cost/pace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

#include "common/cleanup.h"
#include "common/time.h"
#include "daemon/kernel/softnet.h"

#define SOFTNET "/proc/net/softnet_stat"
#define SWITCHES_LEAST_NS (400 * UINT64_C(1000000))

static double rate(uint64_t count, uint64_t ns)
{
	return (double)count * (double)TIME_NS_PER_SECOND / (double)ns;
}

bool pace_packets(uint32_t *packets, size_t *cpus)
{
	return softnet_packets(SOFTNET, packets, cpus) == 0;
}

static void read_packets(struct pace_meter *meter, uint64_t now_ns, const char *path)
{
	size_t count = 0;
	uint32_t sum = 0;

	meter->pace.packets = -1;
	if (softnet_packets(path, &sum, &count) < 0) {
		meter->packets_ns = 0;
		return;
	}
	/* The rows are the online CPUs: with others, the sums say nothing about the time between them. */
	if (meter->packets_ns && meter->cpus == count && now_ns > meter->packets_ns)
		meter->pace.packets = rate(sum - meter->packets, now_ns - meter->packets_ns);
	meter->packets = sum;
	meter->cpus = count;
	meter->packets_ns = now_ns;
}

static int read_ctxt(const char *path, uint64_t *switches)
{
	OWN_FILE FILE *file = fopen(path, "re");
	OWN_FREE char *line = NULL;
	size_t room = 0;

	if (!file)
		return -errno;
	/* The line of interrupts is some 100 KB long on a large host. */
	while (getline(&line, &room, file) >= 0)
		if (sscanf(line, "ctxt %" SCNu64, switches) == 1)
			return 0;
	return -EBADMSG;
}

static void read_switches(struct pace_meter *meter, uint64_t now_ns, const char *path)
{
	uint64_t switches;

	if (meter->switches_ns && now_ns - meter->switches_ns < SWITCHES_LEAST_NS)
		return;
	meter->pace.switches = -1;
	if (read_ctxt(path, &switches) < 0) {
		meter->switches_ns = 0;
		return;
	}
	if (meter->switches_ns && switches >= meter->switches)
		meter->pace.switches =
			rate(switches - meter->switches, now_ns - meter->switches_ns);
	meter->switches = switches;
	meter->switches_ns = now_ns;
}

const struct pace *pace_read_files(struct pace_meter *meter, uint64_t now_ns, const char *softnet,
				   const char *stat)
{
	read_packets(meter, now_ns, softnet);
	read_switches(meter, now_ns, stat);
	return &meter->pace;
}

const struct pace *pace_read(struct pace_meter *meter, uint64_t now_ns)
{
	return pace_read_files(meter, now_ns, SOFTNET, "/proc/stat");
}

const struct pace *pace_read_switches(struct pace_meter *meter, uint64_t now_ns)
{
	meter->packets_ns = 0;
	meter->pace.packets = -1;
	read_switches(meter, now_ns, "/proc/stat");
	return &meter->pace;
}

void pace_forget(struct pace_meter *meter)
{
	*meter = (struct pace_meter){.pace = {.packets = -1, .switches = -1}};
}
