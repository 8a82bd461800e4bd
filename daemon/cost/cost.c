/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/cost/cost.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/time.h"
#include "daemon/process/loop.h"

struct sample {
	uint64_t time_ns, cpu_ns;
};

struct cost {
	struct loop_source *timer;
	struct sample last, before;
	bool known;
};

uint64_t cost_cpu_ns(void)
{
	struct timespec t;

	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t))
		return 0;
	return (uint64_t)t.tv_sec * TIME_NS_PER_SECOND + (uint64_t)t.tv_nsec;
}

static int sample(void *userdata)
{
	struct cost *cost = userdata;

	cost->before = cost->last;
	cost->last = (struct sample){time_monotonic(), cost_cpu_ns()};
	cost->known = true;
	return 0;
}

int cost_new(struct cost **cost, struct loop *loop)
{
	struct cost *fresh = calloc(1, sizeof(*fresh));
	int r;

	if (!fresh)
		return -ENOMEM;
	fresh->last = (struct sample){time_monotonic(), cost_cpu_ns()};
	r = loop_add_timer(loop, &fresh->timer, TIME_NS_PER_SECOND, TIME_NS_PER_SECOND, sample,
			   fresh);
	if (r < 0) {
		free(fresh);
		return r;
	}
	*cost = fresh;
	return 0;
}

void cost_free(struct cost **cost)
{
	if (*cost)
		loop_source_free(&(*cost)->timer);
	free(*cost);
	*cost = NULL;
}

bool cost_cpu_now(const struct cost *cost, double *percent)
{
	uint64_t elapsed = cost->last.time_ns - cost->before.time_ns;

	if (!cost->known || !elapsed)
		return false;
	*percent = 100.0 * (double)(cost->last.cpu_ns - cost->before.cpu_ns) / (double)elapsed;
	return true;
}

uint64_t cost_resident_bytes(void)
{
	OWN_FILE FILE *statm = fopen("/proc/self/statm", "re");
	unsigned long size, resident;

	if (!statm || fscanf(statm, "%lu %lu", &size, &resident) != 2)
		return 0;
	return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t cost_anonymous_bytes(void)
{
	OWN_FILE FILE *status = fopen("/proc/self/status", "re");
	unsigned long kib;
	char line[128];

	while (status && fgets(line, sizeof(line), status))
		if (sscanf(line, "RssAnon: %lu kB", &kib) == 1)
			return (uint64_t)kib * 1024;
	return 0;
}
