/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GetNapi. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/json.h"
#include "daemon/control/internal.h"
#include "daemon/control/pages.h"
#include "daemon/control/question.h"
#include "daemon/core/histogram.h"
#include "daemon/history/series.h"
#include "daemon/json/json.h"
#include "daemon/kernel/softnet.h"
#include "daemon/probe/backend.h"
#include "daemon/rows/device_rows.h"
#include "daemon/sources/filter.h"

#define SOFTNET_STAT "/proc/net/softnet_stat"

/* Rows in one reply by default. */
#define ROWS_BY_DEFAULT 100

static json_t *napi_to_json(const struct backend_napi *napi)
{
	return json_napi(&(struct napi_row){
		.device = {.name = napi->name, .ifindex = napi->ifindex, .netns = napi->netns},
		.cpu = napi->cpu,
		.polls = napi->polls,
		.packets = napi->poll_packets,
		.full_budgets = napi->full_budgets});
}

/* `counted`: the counters of the kernel are known. */
static json_t *cpu_to_json(const struct reading *reading, const struct softnet *cpu, bool counted)
{
	static const struct nf_hist none;
	const struct nf_hist *wait = reading_softirq_wait(reading, cpu->cpu);

	return json_softnet(&(struct softnet_row){.cpu = cpu->cpu,
						  .wait = wait ? wait : &none,
						  .counted = counted,
						  .processed = cpu->processed,
						  .dropped = cpu->dropped,
						  .time_squeeze = cpu->time_squeeze});
}

/* ---- the reply ----------------------------------------------------------- */

struct napi_reply {
	const struct control *control;
	const struct reading *reading;
	struct filter filter;
	struct softnet *cpu;
	size_t cpus;
	size_t *row; /* of the reading, selected, most polls first */
	size_t count, next;
	bool begun; /* the first page was made */
};

/* The CPUs are in the first page only. */
static json_t *head(void *state)
{
	struct napi_reply *reply = state;
	json_t *cpus = json_array();

	for (size_t i = 0; !reply->begun && i < reply->cpus; i++)
		json_array_append_new(cpus,
				      cpu_to_json(reply->reading, &reply->cpu[i],
						  !sources_recorded(reply->control->sources)));
	reply->begun = true;
	return json_pack("{s:o, s:o, s:I, s:I, s:o}", "time",
			 json_time(reading_time(reply->reading)), "since",
			 json_time(reply->control->sources->started_ns), "elapsed_ns",
			 control_elapsed(reply->control, reading_time(reply->reading)), "matched",
			 json_count(reply->count), "cpus", cpus);
}

static int next_row(void *state, json_t **row)
{
	struct napi_reply *reply = state;

	if (reply->next == reply->count)
		return 0;
	*row = napi_to_json(reading_napi(reply->reading, reply->row[reply->next++]));
	return *row ? 1 : -ENOMEM;
}

static void napi_reply_free(void *state)
{
	struct napi_reply *reply = state;

	reading_release(&reply->reading);
	filter_clear(&reply->filter);
	free(reply->cpu);
	free(reply->row);
	free(reply);
}

static const struct pages_source source = {
	.member = "napi", .head = head, .next = next_row, .free = napi_reply_free};

static int compare_polls(const void *a, const void *b, void *userdata)
{
	const struct reading *reading = userdata;
	uint64_t x = reading_napi(reading, *(const size_t *)a)->polls;
	uint64_t y = reading_napi(reading, *(const size_t *)b)->polls;

	return x > y ? -1 : x < y;
}

static int select_rows(struct napi_reply *reply)
{
	const struct reading *reading = reply->reading;

	reply->row = calloc(reading_count(reading) + 1, sizeof(*reply->row));
	if (!reply->row)
		return -ENOMEM;
	for (size_t i = 0; i < reading_count(reading); i++) {
		const struct backend_napi *napi = reading_napi(reading, i);

		if (filter_takes(&reply->filter, 0, napi->name ? napi->name : "", napi->identity,
				 napi->netns))
			reply->row[reply->count++] = i;
	}
	qsort_r(reply->row, reply->count, sizeof(*reply->row), compare_polls, (void *)reading);
	return 0;
}

static int fail(struct call *call, int error)
{
	return call_error(
		call, "io.netflowd.Failed",
		json_pack("{s:o}", "reason",
			  json_sprintf("cannot read " SOFTNET_STAT ": %s", strerror(-error))));
}

/* A recording has CPUs, but not the counters of their kernel. */
static int read_cpus(struct napi_reply *reply)
{
	const struct backend *backend = reply->control->sources->backend;

	if (!sources_recorded(reply->control->sources))
		return softnet_read(SOFTNET_STAT, &reply->cpu, &reply->cpus);
	reply->cpus = backend->ops->cpus(backend);
	reply->cpu = calloc(reply->cpus + 1, sizeof(*reply->cpu));
	for (size_t i = 0; reply->cpu && i < reply->cpus; i++)
		reply->cpu[i].cpu = (uint32_t)i;
	return reply->cpu ? 0 : -ENOMEM;
}

static int answer(struct call *call, json_t *parameters, void *userdata)
{
	size_t limit = pages_read_limit(call, parameters, ROWS_BY_DEFAULT);
	struct control *control = userdata;
	struct napi_reply *reply;
	int r;

	if (!limit)
		return -EINVAL;
	reply = calloc(1, sizeof(*reply));
	if (!reply)
		return -ENOMEM;
	reply->control = control;
	reply->reading = reading_hold(control_reading(control, NAPI));
	r = filter_read(&reply->filter, control->sources, call, parameters);
	if (r == 0)
		r = select_rows(reply);
	if (r < 0) {
		napi_reply_free(reply);
		return r;
	}
	r = read_cpus(reply);
	if (r < 0) {
		napi_reply_free(reply);
		return r == -ENOMEM ? r : fail(call, r);
	}
	return pages_reply(control, call, &source, reply, limit);
}

/* ---- the past ------------------------------------------------------------ */

static int by_polls(const void *a, const void *b)
{
	uint64_t x = ((const struct reader_row *)a)->value[NAPI_POLLS];
	uint64_t y = ((const struct reader_row *)b)->value[NAPI_POLLS];

	return ORDER(y, x);
}

static int by_cpu(const void *a, const void *b)
{
	const struct reader_row *x = a, *y = b;

	return ORDER(x->name.cpu, y->name.cpu);
}

/* What /proc/net/softnet_stat counts since boot is not in the history. */
static int put_cpus(struct reader *reader, struct past *past)
{
	OWN_READER_ROWS struct reader_rows rows = {0};
	json_t *cpus = json_array();
	int r = reader_sums(reader, HISTORY_SOFTIRQ, NULL, NULL, &rows);

	if (rows.count)
		qsort(rows.row, rows.count, sizeof(*rows.row), by_cpu);
	for (size_t i = 0; i < rows.count; i++) {
		struct nf_hist wait;

		series_hist(rows.row[i].value, &wait);
		if (histogram_count(&wait))
			json_array_append_new(cpus,
					      json_softnet(&(struct softnet_row){
						      .cpu = rows.row[i].name.cpu, .wait = &wait}));
	}
	if (json_object_set_new(past->head, "cpus", cpus))
		return -ENOMEM;
	return r;
}

static json_t *past_napi_to_json(const struct reader_row *row)
{
	return json_napi(&(struct napi_row){.device = row->name.device,
					    .others = row->name.other,
					    .cpu = row->name.cpu,
					    .polls = row->value[NAPI_POLLS],
					    .packets = row->value[NAPI_PACKETS],
					    .full_budgets = row->value[NAPI_FULL]});
}

static int work(struct reader *reader, struct past *past)
{
	OWN_READER_ROWS struct reader_rows rows = {0};
	int r = reader_sums(reader, HISTORY_NAPI, past_project_device, past, &rows);

	if (r < 0)
		return r;
	if (rows.count)
		qsort(rows.row, rows.count, sizeof(*rows.row), by_polls);
	r = past_put_rows(past, &rows, past_napi_to_json);
	return r == 0 ? put_cpus(reader, past) : r;
}

static const struct past_kind past = {
	.member = "napi", .rows_by_default = ROWS_BY_DEFAULT, .work = work};

/* ---- the method ---------------------------------------------------------- */

int method_get_napi(struct call *call, json_t *parameters, void *userdata)
{
	static const struct parameter table[] = {
		{"device", PARAMETER_STRING, true},
		{"netns", PARAMETER_STRING, true},
		{"limit", PARAMETER_INT, true},
		{"max_age_ms", PARAMETER_INT, true},
		PAST_PARAMETERS,
		{NULL, 0, 0},
	};
	static const struct question question = {
		.parameters = table, .past = &past, .parts = READING_BIT(NAPI), .now = answer};

	return question_answer(userdata, call, parameters, &question);
}
