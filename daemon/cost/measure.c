/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/cost/measure.h"

#include <errno.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/time.h"
#include "daemon/process/loop.h"

/* The longest measurement that users other than root can make, and the share of the time that they can take. */
#define SHARED_MS_MAX 1000
#define SHARED_ONE_IN 10

/* The statistics are on; at the end, all that wait get the result. */
struct run {
	struct measurer *measurer;
	struct loop_source *timer;
	struct measurement *waiting;
	bool over; /* its result is being passed on, and it is freed after that */
	uint64_t start_ns;
	struct probe_runs before[NF_PROBE_COUNT], empty_before;
};

struct measurer {
	struct loop *loop;
	struct backend *backend;
	unsigned int running;
	/* The run of users other than root; NULL: none.  It goes on when no call waits for it any more. */
	struct run *shared;
	/* Before this time they get the last result; 0: there was no shared run. */
	uint64_t blocked_until_ns;
	struct measured last;
	uint64_t last_end_ns;
};

struct measurement {
	struct run *run; /* NULL: it is over */
	struct measurement *next, **link;
	measure_done done;
	void *userdata;
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

static void run_free(struct run **run)
{
	struct run *old = *run;
	struct measurer *measurer;

	if (!old)
		return;
	measurer = old->measurer;
	if (measurer->shared == old)
		measurer->shared = NULL;
	loop_source_free(&old->timer);
	if (--measurer->running == 0)
		measurer->backend->ops->set_stats(measurer->backend, false);
	free(old);
	*run = NULL;
}

void measurer_free(struct measurer **measurer)
{
	if (*measurer)
		run_free(&(*measurer)->shared);
	free(*measurer);
	*measurer = NULL;
}

bool measurer_recent(const struct measurer *measurer, uint64_t now, struct measured *recent)
{
	if (measurer->shared || now >= measurer->blocked_until_ns)
		return false;
	*recent = measurer->last;
	recent->age_ns = now - measurer->last_end_ns;
	return true;
}

/* The mean time of an empty program in ns: the cost of reading the clock for the statistics. */
static uint64_t clock_cost(const struct probe_runs *before, const struct probe_runs *after)
{
	uint64_t runs = after->runs - before->runs;

	return runs ? (after->ns - before->ns) / runs : 0;
}

static void read_result(const struct run *run, struct measured *measured)
{
	const struct backend *backend = run->measurer->backend;
	struct probe_runs after[NF_PROBE_COUNT], empty;
	uint64_t clock_ns;

	*measured = (struct measured){.elapsed_ns = time_monotonic() - run->start_ns};
	backend->ops->stats(backend, after, &empty);
	clock_ns = clock_cost(&run->empty_before, &empty);
	for (int i = 0; i < NF_PROBE_COUNT; i++) {
		uint64_t runs = after[i].runs - run->before[i].runs;
		uint64_t ns = after[i].ns - run->before[i].ns;
		uint64_t clocks = runs + after[i].others - run->before[i].others;

		measured->probe[i].runs = runs;
		measured->probe[i].ns = ns > clocks * clock_ns ? ns - clocks * clock_ns : 0;
	}
}

static void leave(struct measurement *m)
{
	*m->link = m->next;
	if (m->next)
		m->next->link = m->link;
	m->run = NULL;
}

static int finish(void *userdata)
{
	struct run *run = userdata;
	struct measurer *measurer = run->measurer;
	struct measured measured;

	run->over = true;
	read_result(run, &measured);
	measurer->last = measured;
	measurer->last_end_ns = time_monotonic();
	if (measurer->shared == run) {
		measurer->shared = NULL;
		measurer->blocked_until_ns =
			measurer->last_end_ns + (SHARED_ONE_IN - 1) * measured.elapsed_ns;
	}
	/* Each of them may free itself and others. */
	while (run->waiting) {
		struct measurement *m = run->waiting;

		leave(m);
		m->done(&measured, m->userdata);
	}
	run_free(&run);
	return 0;
}

static int run_start(struct run **run, struct measurer *measurer, uint64_t ms)
{
	struct backend *backend = measurer->backend;
	struct run *fresh = calloc(1, sizeof(*fresh));
	int r;

	if (!fresh)
		return -ENOMEM;
	r = backend->ops->set_stats(backend, true);
	if (r < 0) {
		free(fresh);
		return r;
	}
	measurer->running++;
	fresh->measurer = measurer;
	backend->ops->stats(backend, fresh->before, &fresh->empty_before);
	fresh->start_ns = time_monotonic();
	r = loop_add_timer(measurer->loop, &fresh->timer, ms * 1000000, 0, finish, fresh);
	if (r < 0) {
		run_free(&fresh);
		return r;
	}
	*run = fresh;
	return 0;
}

int measurement_start(struct measurement **measurement, struct measurer *measurer, uint64_t ms,
		      bool shared, measure_done done, void *userdata)
{
	struct run *run = shared ? measurer->shared : NULL;
	OWN_FREE struct measurement *m = calloc(1, sizeof(*m));
	int r;

	if (!m)
		return -ENOMEM;
	if (!run) {
		r = run_start(&run, measurer, shared && ms > SHARED_MS_MAX ? SHARED_MS_MAX : ms);
		if (r < 0)
			return r;
		if (shared)
			measurer->shared = run;
	}
	m->run = run;
	m->done = done;
	m->userdata = userdata;
	m->next = run->waiting;
	if (m->next)
		m->next->link = &m->next;
	m->link = &run->waiting;
	run->waiting = m;
	*measurement = TAKE_PTR(m);
	return 0;
}

void measurement_free(struct measurement **measurement)
{
	struct measurement *m = *measurement;
	struct run *run;

	if (!m)
		return;
	run = m->run;
	if (run) {
		leave(m);
		if (!run->waiting && !run->over && run->measurer->shared != run)
			run_free(&run);
	}
	free(m);
	*measurement = NULL;
}
