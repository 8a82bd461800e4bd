/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/cost/measure.h"

#include <errno.h>
#include <stdlib.h>

#include "common/time.h"
#include "daemon/process/loop.h"

struct measurer {
	struct loop *loop;
	struct backend *backend;
	unsigned int running;
};

struct measurement {
	struct measurer *measurer;
	struct loop_source *timer;
	measure_done done;
	void *userdata;
	uint64_t start_ns;
	struct probe_runs before[NF_PROBE_COUNT], empty_before;
};

int measurer_new(struct measurer **measurer, struct loop *loop, struct backend *backend)
{
	struct measurer *fresh = calloc(1, sizeof(*fresh));

	if (!fresh)
		return -ENOMEM;
	fresh->loop = loop;
	fresh->backend = backend;
	*measurer = fresh;
	return 0;
}

void measurer_free(struct measurer **measurer)
{
	free(*measurer);
	*measurer = NULL;
}

/* The mean time of an empty program in ns: the cost of reading the clock for the statistics. */
static uint64_t clock_cost(const struct probe_runs *before, const struct probe_runs *after)
{
	uint64_t runs = after->runs - before->runs;

	return runs ? (after->ns - before->ns) / runs : 0;
}

static int finish(void *userdata)
{
	struct measurement *m = userdata;
	const struct backend *backend = m->measurer->backend;
	struct measured measured = {.elapsed_ns = time_monotonic() - m->start_ns};
	struct probe_runs after[NF_PROBE_COUNT], empty;
	uint64_t clock_ns;

	backend->ops->stats(backend, after, &empty);
	clock_ns = clock_cost(&m->empty_before, &empty);
	for (int i = 0; i < NF_PROBE_COUNT; i++) {
		uint64_t runs = after[i].runs - m->before[i].runs;
		uint64_t ns = after[i].ns - m->before[i].ns;
		uint64_t clocks = runs + after[i].others - m->before[i].others;

		measured.probe[i].runs = runs;
		measured.probe[i].ns = ns > clocks * clock_ns ? ns - clocks * clock_ns : 0;
	}
	m->done(&measured, m->userdata);
	return 0;
}

int measurement_start(struct measurement **measurement, struct measurer *measurer, uint64_t ms,
		      measure_done done, void *userdata)
{
	struct backend *backend = measurer->backend;
	struct measurement *m;
	int r = backend->ops->set_stats(backend, true);

	if (r < 0)
		return r;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->measurer = measurer;
	m->done = done;
	m->userdata = userdata;
	measurer->running++;
	backend->ops->stats(backend, m->before, &m->empty_before);
	m->start_ns = time_monotonic();
	r = loop_add_timer(measurer->loop, &m->timer, ms * 1000000, 0, finish, m);
	if (r < 0) {
		measurement_free(&m);
		return r;
	}
	*measurement = m;
	return 0;
}

void measurement_free(struct measurement **measurement)
{
	struct measurement *m = *measurement;

	if (!m)
		return;
	loop_source_free(&m->timer);
	if (--m->measurer->running == 0)
		m->measurer->backend->ops->set_stats(m->measurer->backend, false);
	free(m);
	*measurement = NULL;
}
