/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/store/readings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/time.h"
#include "daemon/process/loop.h"
#include "daemon/store/device_names.h"
#include "daemon/store/traffic_reader.h"

/* A part that was not read for a while may use its share of this time at once. */
#define BURST_NS (5 * TIME_NS_PER_SECOND)

#define MS UINT64_C(1000000)

/* Shares are in thousandths of the loop's time, together 120. */
static const struct part {
	const char *name;
	uint64_t share;
	/* See least_age(): these numbers need not follow an event at once. */
	uint64_t least_age_ns;
} parts[READING_PARTS] = {
	[READING_COUNTERS] = {"counters", 10, 0},   [READING_LEDGER] = {"ledger", 35, 0},
	[READING_TABLES] = {"tables", 5, 500 * MS}, [READING_DROPS] = {"drops", 20, 0},
	[READING_DEVICES] = {"devices", 20, 0},	    [READING_NAPI] = {"napi", 5, 0},
	[READING_SLOTS] = {"slots", 5, 0},	    [READING_TRAFFIC] = {"traffic", 20, 0},
};

struct readings_request {
	struct readings_request *next;
	struct readings *readings;
	unsigned int parts;
	uint64_t since_ns
		[READING_PARTS]; /* when the reading of a part must have begun at the earliest */
	readings_done done;
	void *userdata;
};

struct readings {
	struct reading_sources sources;
	struct loop *loop;
	struct loop_source *slice, *wait, *tidy;
	struct readings_request *first, **last; /* the requests that wait, in their order */
	struct reading *current;		/* under way; NULL: none */
	enum reading_part part;			/* of `current` */
	uint64_t cost_ns;			/* of `current` so far */
	struct device_names *names;
	struct {
		const struct reading *latest;
		uint64_t wanted_ns; /* the last request */
		int64_t budget_ns; /* CPU time that its next readings may cost; the last one can exceed it */
		uint64_t filled_ns;   /* when the budget last grew */
		uint64_t last_cpu_ns; /* of the latest reading */
		struct readings_cost cost;
	} of[READING_PARTS];
};

/* ---- requests ------------------------------------------------------------- */

static bool has_part(const struct readings_request *request, int part)
{
	return request->parts & 1U << part;
}

static bool is_new_enough(const struct readings *readings, const struct readings_request *request,
			  int part)
{
	const struct reading *latest = readings->of[part].latest;

	return latest && reading_time(latest) >= request->since_ns[part];
}

static bool is_ready(const struct readings *readings, const struct readings_request *request)
{
	for (int part = 0; part < READING_PARTS; part++)
		if (has_part(request, part) && !is_new_enough(readings, request, part))
			return false;
	return true;
}

static void unlink_request(struct readings *readings, struct readings_request *request)
{
	struct readings_request **link = &readings->first;

	while (*link != request)
		link = &(*link)->next;
	*link = request->next;
	if (readings->last == &request->next)
		readings->last = link;
}

/* `done` may make and forget other requests. */
static void answer(struct readings *readings, struct readings_request *request, int result)
{
	readings_done done = request->done;
	void *userdata = request->userdata;

	for (int part = 0; part < READING_PARTS; part++)
		readings->of[part].cost.requests += has_part(request, part);
	unlink_request(readings, request);
	free(request);
	done(result, userdata);
}

static struct readings_request *find_ready(const struct readings *readings)
{
	for (struct readings_request *request = readings->first; request; request = request->next)
		if (is_ready(readings, request))
			return request;
	return NULL;
}

/* A request that cannot be answered without the part that failed. */
static struct readings_request *find_failed(const struct readings *readings, int part)
{
	for (struct readings_request *request = readings->first; request; request = request->next)
		if (has_part(request, part) && !is_new_enough(readings, request, part))
			return request;
	return NULL;
}

void readings_forget(struct readings_request **request)
{
	struct readings_request *old = *request;

	if (!old)
		return;
	unlink_request(old->readings, old);
	free(old);
	*request = NULL;
}

/*
 * A younger reading of the part answers every request.  That of TRAFFIC walks through all processes of the host and is
 * not worth waiting for, so it is as old as its share of the time makes it.
 */
static uint64_t least_age(const struct readings *readings, int part)
{
	return part == READING_TRAFFIC ? readings->of[part].last_cpu_ns * 1000 / parts[part].share
				       : parts[part].least_age_ns;
}

/* ---- when the next reading may begin ---------------------------------------- */

static void fill_budget(struct readings *readings, int part, uint64_t now)
{
	int64_t most = (int64_t)(BURST_NS / 1000 * parts[part].share);
	uint64_t passed = now - readings->of[part].filled_ns;

	readings->of[part].filled_ns = now;
	if (passed > BURST_NS)
		passed = BURST_NS;
	readings->of[part].budget_ns += (int64_t)(passed * parts[part].share / 1000);
	if (readings->of[part].budget_ns > most)
		readings->of[part].budget_ns = most;
}

/* The time until a reading of the part may begin; 0: now. */
static uint64_t time_until(struct readings *readings, int part, uint64_t now)
{
	fill_budget(readings, part, now);
	if (readings->of[part].budget_ns >= 0)
		return 0;
	return (uint64_t)-readings->of[part].budget_ns * 1000 / parts[part].share + 1;
}

static bool is_wanted(const struct readings *readings, int part)
{
	return find_failed(readings, part) != NULL;
}

/* Arrange for the next slice, or for a wait until there is a budget, unless no request waits. */
static int schedule(struct readings *readings)
{
	uint64_t now = time_monotonic(), least = UINT64_MAX;

	if (readings->current || find_ready(readings))
		return loop_source_set_enabled(readings->slice, true);
	for (int part = 0; part < READING_PARTS; part++) {
		uint64_t wait;

		if (!is_wanted(readings, part))
			continue;
		wait = time_until(readings, part, now);
		if (wait < least)
			least = wait;
	}
	if (least == UINT64_MAX)
		return 0;
	if (!least)
		return loop_source_set_enabled(readings->slice, true);
	return loop_timer_restart(readings->wait, least);
}

/* ---- taking ---------------------------------------------------------------- */

/* The part that has waited for the longest time, so that all get their turn. */
static int choose(struct readings *readings)
{
	uint64_t now = time_monotonic(), oldest = UINT64_MAX;
	int chosen = -1;

	for (int part = 0; part < READING_PARTS; part++) {
		const struct reading *latest = readings->of[part].latest;
		uint64_t began = latest ? reading_time(latest) : 0;

		if (!is_wanted(readings, part) || time_until(readings, part, now) ||
		    began >= oldest)
			continue;
		oldest = began;
		chosen = part;
	}
	return chosen;
}

static void account(struct readings *readings, uint64_t cost_ns)
{
	struct readings_cost *cost = &readings->of[readings->part].cost;

	readings->cost_ns += cost_ns;
	readings->of[readings->part].budget_ns -= (int64_t)cost_ns;
	cost->cpu_ns += cost_ns;
	if (readings->cost_ns > cost->longest_cpu_ns)
		cost->longest_cpu_ns = readings->cost_ns;
}

static int begin(struct readings *readings, enum reading_part part)
{
	readings->part = part;
	readings->cost_ns = 0;
	return reading_begin(&readings->current, part);
}

/* One slice of the current reading; returns as reading_step(). */
static int step(struct readings *readings, uint64_t deadline_ns)
{
	uint64_t before = time_thread_cpu();
	int r = reading_step(readings->current, &readings->sources, deadline_ns);

	account(readings, time_thread_cpu() - before);
	return r;
}

/* The current reading has ended: publish it, or drop it if it failed. */
static void end(struct readings *readings, int result)
{
	int part = (int)readings->part;
	const struct reading *fresh = readings->current;

	if (result < 0) {
		readings->current = NULL;
		reading_release(&fresh);
		return;
	}
	reading_name_devices(readings->current, readings->names);
	readings->current = NULL;
	reading_release(&readings->of[part].latest);
	readings->of[part].latest = fresh;
	readings->of[part].last_cpu_ns = readings->cost_ns;
	readings->of[part].cost.readings++;
}

/* The reading of a part has failed. */
static void answer_failed(struct readings *readings, int part, int error)
{
	struct readings_request *request;

	while ((request = find_failed(readings, part)))
		answer(readings, request, error);
}

/* Begin the next reading, or go on with the current one. */
static void read_on(struct readings *readings)
{
	int r, part;

	if (!readings->current) {
		part = choose(readings);
		r = part < 0 ? 0 : begin(readings, (enum reading_part)part);
		if (r < 0)
			answer_failed(readings, part, r);
		return;
	}
	r = step(readings, time_monotonic() + READINGS_SLICE_NS);
	if (r > 0)
		return;
	part = (int)readings->part;
	end(readings, r);
	if (r < 0)
		answer_failed(readings, part, r);
}

/* Many requests can wait for one reading, and each takes time to answer: one in a turn. */
static int on_slice(void *userdata)
{
	struct readings *readings = userdata;
	struct readings_request *ready = find_ready(readings);

	if (ready)
		answer(readings, ready, 0);
	else
		read_on(readings);
	return schedule(readings);
}

static int on_wait(void *userdata)
{
	return schedule(userdata);
}

int readings_get(struct readings *readings, struct readings_request **request, unsigned int parts_,
		 uint64_t max_age_ns, readings_done done, void *userdata)
{
	struct readings_request *fresh = calloc(1, sizeof(*fresh));
	uint64_t now = time_monotonic();

	if (!fresh)
		return -ENOMEM;
	fresh->readings = readings;
	fresh->parts = parts_;
	fresh->done = done;
	fresh->userdata = userdata;
	for (int part = 0; part < READING_PARTS; part++) {
		uint64_t age = least_age(readings, part);

		if (age < max_age_ns)
			age = max_age_ns;
		fresh->since_ns[part] = now > age ? now - age : 0;
		if (has_part(fresh, part))
			readings->of[part].wanted_ns = now;
	}
	*readings->last = fresh;
	readings->last = &fresh->next;
	*request = NULL;
	if (is_ready(readings, fresh)) {
		answer(readings, fresh, 0);
		return 0;
	}
	*request = fresh;
	return schedule(readings);
}

int readings_take(struct readings *readings, unsigned int parts_)
{
	int r = 0;

	/* What is under way ends now; its requests are answered later. */
	if (readings->current) {
		do {
			r = step(readings, UINT64_MAX);
		} while (r > 0);
		end(readings, r);
		r = 0;
	}
	for (int part = 0; part < READING_PARTS && r == 0; part++) {
		if (!(parts_ & 1U << part))
			continue;
		readings->of[part].wanted_ns = time_monotonic();
		r = begin(readings, (enum reading_part)part);
		if (r < 0)
			break;
		do {
			r = step(readings, UINT64_MAX);
		} while (r > 0);
		end(readings, r);
	}
	return r;
}

/* ---- queries --------------------------------------------------------------- */

const struct reading *readings_latest(const struct readings *readings, enum reading_part part)
{
	return readings->of[part].latest;
}

bool readings_busy(const struct readings *readings)
{
	return readings->current;
}

struct readings_cost readings_cost(const struct readings *readings, enum reading_part part)
{
	struct readings_cost cost = readings->of[part].cost;

	cost.name = parts[part].name;
	return cost;
}

/* ---- life ------------------------------------------------------------------ */

static int on_tidy(void *userdata)
{
	struct readings *readings = userdata;
	uint64_t now = time_monotonic();

	for (int part = 0; part < READING_PARTS; part++)
		if (now - readings->of[part].wanted_ns >= READINGS_KEEP_NS)
			reading_release(&readings->of[part].latest);
	return 0;
}

static int add_sources(struct readings *readings)
{
	int r = loop_add_defer(readings->loop, &readings->slice, on_slice, readings);

	if (r == 0)
		r = loop_add_timer(readings->loop, &readings->wait, 0, 0, on_wait, readings);
	if (r == 0)
		r = loop_add_timer(readings->loop, &readings->tidy, READINGS_KEEP_NS,
				   READINGS_KEEP_NS, on_tidy, readings);
	return r;
}

int readings_new(struct readings **readings, struct loop *loop, const struct backend *backend)
{
	struct readings *fresh = calloc(1, sizeof(*fresh));
	uint64_t now = time_monotonic();
	int r;

	if (!fresh)
		return -ENOMEM;
	fresh->loop = loop;
	fresh->sources.backend = backend;
	fresh->last = &fresh->first;
	for (int part = 0; part < READING_PARTS; part++) {
		fresh->of[part].filled_ns = now;
		fresh->of[part].budget_ns = (int64_t)(BURST_NS / 1000 * parts[part].share);
	}
	r = device_names_new(&fresh->names);
	if (r == 0)
		r = add_sources(fresh);
	if (r < 0)
		readings_free(&fresh);
	else
		*readings = fresh;
	return r;
}

int readings_count_traffic(struct readings *readings, const char *proc,
			   struct reading_unseen (*unseen)(void *userdata), void *userdata)
{
	struct reading_sources *sources = &readings->sources;

	if (sources->traffic)
		return 0;
	if (!sources->softnet && asprintf(&sources->softnet, "%s/net/softnet_stat", proc) < 0) {
		sources->softnet = NULL;
		return -ENOMEM;
	}
	sources->unseen = unseen;
	sources->userdata = userdata;
	return traffic_reader_new(&sources->traffic, proc);
}

void readings_free(struct readings **readings)
{
	struct readings *old = *readings;
	const struct reading *current;

	if (!old)
		return;
	while (old->first) {
		struct readings_request *request = old->first;

		readings_forget(&request);
	}
	loop_source_free(&old->slice);
	loop_source_free(&old->wait);
	loop_source_free(&old->tidy);
	current = old->current;
	reading_release(&current);
	for (int part = 0; part < READING_PARTS; part++)
		reading_release(&old->of[part].latest);
	traffic_reader_free(&old->sources.traffic);
	free(old->sources.softnet);
	device_names_free(&old->names);
	free(old);
	*readings = NULL;
}

struct device_names *readings_names(const struct readings *readings)
{
	return readings->names;
}
