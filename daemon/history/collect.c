/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/history/collect.h"

#include <errno.h>
#include <stdlib.h>

#include "common/array.h"
#include "common/cleanup.h"
#include "common/time.h"
#include "daemon/history/batch.h"
#include "daemon/history/collect_internal.h"
#include "daemon/history/place_key.h"
#include "daemon/process/loop.h"

/* Jobs that wait, and events of alerts that wait for their interval. */
#define JOBS_MAX 64
#define ALERTS_MAX 256

struct job {
	struct job *next;
	bool keep;
	collected done;
	void *userdata;
};

struct alert_record {
	int64_t time_us;
	char *text, *rule;
};

/* A time in which no probe ran, CLOCK_MONOTONIC. */
struct blind {
	uint64_t from_ns, to_ns;
};

struct collector {
	struct collector_parts parts;
	struct series_names *names;
	struct readings_request *request;
	struct loop_source *slice;
	struct collect_base base;
	int64_t boot; /* of the host */
	/* Of the interval: what could not be seen so far, and the times without a probe. */
	struct coverage coverage;
	struct blind blind[BATCH_GAPS];
	size_t blinds;
	uint64_t blind_ns; /* since then no probe runs; 0: they run */
	struct alert_record alert[ALERTS_MAX];
	size_t alerts;
	uint64_t left_out;
	struct job *jobs; /* the first one is under way */
	size_t job_count;
	struct collect *run; /* of the first job, after its readings were taken */
};

/* ---- life ------------------------------------------------------------------------ */

static int on_slice(void *userdata);

int collector_new(struct collector **collector, const struct collector_parts *parts)
{
	struct collector *fresh = calloc(1, sizeof(*fresh));
	int r;

	if (!fresh)
		return -ENOMEM;
	fresh->parts = *parts;
	fresh->base.time_us = (int64_t)(time_realtime() / 1000);
	fresh->base.clock_us = time_clock() / 1000;
	fresh->base.time_ns = time_monotonic();
	fresh->boot = place_boot();
	r = series_names_new(&fresh->names, &parts->sources);
	if (r == 0)
		r = loop_add_defer(parts->loop, &fresh->slice, on_slice, fresh);
	if (r < 0) {
		collector_free(&fresh);
		return r;
	}
	*collector = fresh;
	return 0;
}

static void free_alerts(struct collector *collector)
{
	for (size_t i = 0; i < collector->alerts; i++) {
		free(collector->alert[i].text);
		free(collector->alert[i].rule);
	}
	collector->alerts = 0;
}

void collector_free(struct collector **collector)
{
	struct collector *old = *collector;

	if (!old)
		return;
	readings_forget(&old->request);
	loop_source_free(&old->slice);
	collect_free(&old->run);
	while (old->jobs) {
		struct job *next = old->jobs->next;

		free(old->jobs);
		old->jobs = next;
	}
	for (int part = 0; part < READING_PARTS; part++)
		reading_release(&old->base.reading[part]);
	free_alerts(old);
	coverage_clear(&old->coverage);
	series_names_free(&old->names);
	free(old);
	*collector = NULL;
}

void collector_set_records(struct collector *collector, uint64_t records)
{
	collector->parts.records = records;
}

uint64_t collector_left_out(const struct collector *collector)
{
	return collector->left_out;
}

/* ---- alerts ------------------------------------------------------------------------ */

void collector_add_alert(struct collector *collector, int64_t time_us, char *text, char *rule)
{
	if (collector->alerts == ALERTS_MAX) {
		collector->left_out++;
		free(text);
		free(rule);
		return;
	}
	collector->alert[collector->alerts++] = (struct alert_record){time_us, text, rule};
}

/* Give the batch the events that came since the last interval; a batch that is kept is the last one to have them. */
static int add_alerts(struct collector *collector, struct batch *batch, bool keep)
{
	int r = 0;

	for (size_t i = 0; i < collector->alerts && r == 0; i++) {
		const struct alert_record *alert = &collector->alert[i];

		r = batch_add_event(batch, alert->time_us, alert->text, keep ? alert->rule : NULL);
	}
	if (keep)
		free_alerts(collector);
	return r;
}

/* ---- what could not be seen ---------------------------------------------------------- */

/* Add what can not be seen now, each once. */
static void add_coverage(struct collector *collector)
{
	const struct collector_parts *parts = &collector->parts;
	OWN_COVERAGE struct coverage now = {0};

	if (parts->coverage && parts->coverage(&now, parts->userdata) == 0)
		coverage_add_gaps(&collector->coverage, &now);
}

void collector_note(struct collector *collector, bool blind, uint64_t time_ns)
{
	add_coverage(collector);
	if (blind == (collector->blind_ns != 0))
		return;
	if (!blind && collector->blinds < BATCH_GAPS)
		collector->blind[collector->blinds++] =
			(struct blind){collector->blind_ns, time_ns};
	else if (!blind)
		collector->blind[BATCH_GAPS - 1].to_ns = time_ns;
	collector->blind_ns = blind ? time_ns : 0;
}

/* A moment in the interval, of CLOCK_MONOTONIC, in us since 1970. */
static int64_t moment(const struct collector *collector, uint64_t time_ns)
{
	const struct batch *batch = collect_batch(collector->run);

	if (time_ns <= collector->base.time_ns)
		return batch->from_us;
	return batch->to_us - (int64_t)(collect_time(collector->run) - time_ns) / 1000;
}

static void add_gaps(const struct collector *collector, struct batch *batch)
{
	for (size_t i = 0; i < collector->blinds; i++)
		batch_add_gap(batch, moment(collector, collector->blind[i].from_ns),
			      moment(collector, collector->blind[i].to_ns));
	if (collector->blind_ns)
		batch_add_gap(batch, moment(collector, collector->blind_ns), batch->to_us);
}

/* Those before the end of the interval are in its batch; others came while it was made. */
static void drop_gaps(struct collector *collector, uint64_t end_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < collector->blinds; i++) {
		struct blind blind = collector->blind[i];

		if (blind.from_ns < end_ns)
			blind.from_ns = end_ns;
		if (blind.to_ns > end_ns)
			collector->blind[kept++] = blind;
	}
	collector->blinds = kept;
	if (collector->blind_ns && collector->blind_ns < end_ns)
		collector->blind_ns = end_ns;
}

/* The next interval begins with what can not be seen now. */
static void begin_coverage(struct collector *collector)
{
	coverage_clear(&collector->coverage);
	add_coverage(collector);
	drop_gaps(collector, collector->base.time_ns);
}

/* ---- jobs ---------------------------------------------------------------------------- */

static int begin_next(struct collector *collector);

/* The next interval begins where this one ended. */
static void keep_base(struct collector *collector, const struct collect *run)
{
	for (int part = 0; part < READING_PARTS; part++) {
		const struct reading *fresh = collect_reading(run, part);

		if (!fresh)
			continue;
		reading_release(&collector->base.reading[part]);
		collector->base.reading[part] = reading_hold(fresh);
	}
	collector->base.time_us = collect_end(run);
	collector->base.clock_us = collect_clock(run);
	collector->base.time_ns = collect_time(run);
	for (int kind = 0; kind < RECORDS_KINDS; kind++)
		collector->base.records[kind] = collect_records_end(run, (enum record_kind)kind);
	begin_coverage(collector);
	series_names_tidy(collector->names);
}

/* The answer to the first job. */
static void end_job(struct collector *collector, int result)
{
	struct job *job = collector->jobs;
	struct batch *batch = NULL;

	if (result == 0)
		result = add_alerts(collector, collect_batch(collector->run), job->keep);
	if (result == 0 && job->keep) {
		keep_base(collector, collector->run);
		collector->left_out += collect_left_out(collector->run);
	}
	if (result == 0)
		batch = collect_take(collector->run);
	collect_free(&collector->run);
	collector->jobs = job->next;
	collector->job_count--;
	if (job->done)
		job->done(result, batch, job->userdata);
	else
		batch_free(&batch);
	free(job);
	result = collector->jobs && !collector->request ? begin_next(collector) : 0;
	if (result < 0)
		end_job(collector, result);
}

static int on_slice(void *userdata)
{
	struct collector *collector = userdata;
	int r;

	if (!collector->run)
		return 0;
	r = collect_step(collector->run, time_monotonic() + COLLECT_SLICE_NS);
	if (r > 0)
		return loop_source_set_enabled(collector->slice, true);
	end_job(collector, r);
	return 0;
}

static int begin_run(struct collector *collector, bool keep)
{
	struct collect_sources sources = {
		.base = &collector->base,
		.readings = collector->parts.readings,
		.names = collector->names,
		.records = collector->parts.sources.records,
		.records_max = keep ? collector->parts.records : COLLECT_RECORDS,
		.boot = collector->boot,
		.stepped = keep && collector->parts.stepped &&
			   collector->parts.stepped(collector->parts.userdata),
	};
	int r;

	if (collector->parts.unseen)
		sources.unseen =
			collector->parts.unseen(collector->base.time_ns, collector->parts.userdata);
	r = collect_new(&collector->run, &sources);
	if (r < 0)
		return r;
	add_coverage(collector);
	add_gaps(collector, collect_batch(collector->run));
	return coverage_add_gaps(&collect_batch(collector->run)->coverage, &collector->coverage);
}

static void on_readings(int result, void *userdata)
{
	struct collector *collector = userdata;

	collector->request = NULL;
	if (result == 0)
		result = begin_run(collector, collector->jobs->keep);
	if (result == 0)
		result = loop_source_set_enabled(collector->slice, true);
	if (result < 0)
		end_job(collector, result);
}

static int begin_next(struct collector *collector)
{
	return readings_get(collector->parts.readings, &collector->request, COLLECT_PARTS, 0,
			    on_readings, collector);
}

int collector_start(struct collector *collector, bool keep, collected done, void *userdata)
{
	struct job *job, **last = &collector->jobs;
	int r = 0;

	if (collector->job_count == JOBS_MAX)
		return -EBUSY;
	job = calloc(1, sizeof(*job));
	if (!job)
		return -ENOMEM;
	*job = (struct job){.keep = keep, .done = done, .userdata = userdata};
	while (*last)
		last = &(*last)->next;
	*last = job;
	if (++collector->job_count == 1)
		r = begin_next(collector);
	if (r < 0) {
		collector->jobs = NULL;
		collector->job_count = 0;
		free(job);
	}
	return r;
}

void collector_forget(struct collector *collector, const void *userdata)
{
	for (struct job *job = collector->jobs; job; job = job->next)
		if (!job->keep && job->userdata == userdata)
			job->done = NULL;
}

struct batch *collector_finish(struct collector *collector)
{
	struct batch *batch = NULL;
	int r;

	readings_forget(&collector->request);
	collect_free(&collector->run);
	r = readings_take(collector->parts.readings, COLLECT_PARTS);
	if (r == 0)
		r = begin_run(collector, true);
	if (r == 0)
		r = collect_step(collector->run, UINT64_MAX);
	if (r == 0)
		r = add_alerts(collector, collect_batch(collector->run), true);
	if (r == 0)
		batch = collect_take(collector->run);
	collect_free(&collector->run);
	return batch;
}
