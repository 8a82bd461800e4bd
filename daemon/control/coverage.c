/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/control/coverage.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/cleanup.h"
#include "common/json.h"
#include "daemon/control/elsewhere.h"
#include "daemon/control/governor.h"
#include "daemon/control/internal.h"
#include "daemon/cost/pause.h"
#include "daemon/probe/backend.h"
#include "daemon/probe/probes.h"
#include "daemon/store/rockets.h"

/*
 * The probes that answer each question.  If one of `all` is degraded or unavailable, coverage is degraded; if one of
 * `needed` is unavailable, there is no answer.
 */
static const struct question {
	const char *name;
	uint32_t needed, all;
} questions[] = {
#define P(probe) (UINT32_C(1) << NF_PROBE_##probe)
	{"drops", P(KFREE_SKB),
	 P(KFREE_SKB) | P(IRQ_HANDLER_EXIT) | P(SOFTIRQ_ENTRY) | P(SOFTIRQ_EXIT)},
	{"rx_latency", P(NETIF_RECEIVE_SKB),
	 P(IRQ_HANDLER_ENTRY) | P(IRQ_HANDLER_EXIT) | P(SOFTIRQ_RAISE) | P(SOFTIRQ_ENTRY) |
		 P(SOFTIRQ_EXIT) | P(NETIF_RECEIVE_SKB) | P(UDP_ENQUEUE_SCHEDULE_SKB) |
		 P(SK_DATA_READY) | P(SKB_COPY_DATAGRAM_IOVEC) | P(SOCK_RECV_LENGTH) |
		 P(SKB_ATTEMPT_DEFER_FREE) | P(CONSUME_SKB)},
	{"wake", P(SCHED_WAKING) | P(SCHED_SWITCH) | P(SK_DATA_READY),
	 P(SCHED_WAKING) | P(SCHED_SWITCH) | P(SK_DATA_READY)},
	{"tx_latency", P(NET_DEV_START_XMIT),
	 P(NET_DEV_QUEUE) | P(NET_DEV_START_XMIT) | P(NET_DEV_XMIT) | P(CONSUME_SKB)},
	{"napi", P(NAPI_POLL), P(NAPI_POLL)},
#undef P
};

/* Append a reason to `reasons`, which is NULL at first and which the caller frees.  -ENOMEM. */
__attribute__((format(printf, 2, 3))) static int add_reason(char **reasons, const char *format, ...)
{
	OWN_FREE char *reason = NULL;
	va_list arguments;
	char *all;
	int length;

	va_start(arguments, format);
	length = vasprintf(&reason, format, arguments);
	va_end(arguments);
	if (length < 0) {
		/* On failure, vasprintf() leaves the pointer undefined. */
		reason = NULL;
		return -ENOMEM;
	}
	if (asprintf(&all, "%s%s%s", *reasons ? *reasons : "", *reasons ? "; " : "", reason) < 0)
		return -ENOMEM;
	free(*reasons);
	*reasons = all;
	return 0;
}

/* The state of a probe; if it lacks something, its reason is added.  Negative errno: -ENOMEM. */
static int add_lack(char **reasons, const struct backend *backend, int probe)
{
	const struct probe_spec *spec = &probe_specs[probe];
	struct probe_status status;
	int r = 0;

	backend->ops->probe(backend, (enum nf_probe)probe, &status);
	if (status.state == PROBE_UNAVAILABLE)
		r = add_reason(reasons, "%s: %s (lost without it: %s)", spec->name, status.reason,
			       spec->lost_without);
	else if (status.state == PROBE_DEGRADED)
		r = add_reason(reasons, "%s: %s; a simpler program runs (lost with it: %s)",
			       spec->name, status.reason, probe_simple[probe].lost);
	return r < 0 ? r : (int)status.state;
}

/*
 * Add the reason of a pause, if it concerns the probes; with `counts` those of drops and slots, which only a pause of
 * all probes detaches.  1 if it does, 0, or -ENOMEM.
 */
static int add_pause(char **reasons, const struct control *control, bool counts)
{
	const struct pause_state *state = pause_state(control->parts.pause);
	int r;

	if (!state->level || (counts && state->level != PAUSE_ALL))
		return 0;
	r = counts ? add_reason(reasons, "%s; its counters stand still", state->text)
		   : add_reason(reasons, "%s; packets are not followed", state->text);
	return r < 0 ? r : 1;
}

/* What the backend itself cannot see. */
static int add_blind(char **reasons, const struct backend *backend, const char *question)
{
	const char *blind = backend->ops->blind(backend, question);

	return blind ? add_reason(reasons, "%s", blind) : 0;
}

static json_t *coverage_of(const struct control *control, const struct question *question)
{
	OWN_FREE char *reasons = NULL;
	const char *shed = control_shed(control->parts.governor, question->name);
	char bypassed[ELSEWHERE_REASON_MAX];
	bool drops = question->needed == UINT32_C(1) << NF_PROBE_KFREE_SKB;
	int paused = add_pause(&reasons, control, drops);
	bool unanswered = paused > 0;

	if (paused < 0)
		return NULL;
	for (int i = 0; i < NF_PROBE_COUNT; i++) {
		int state;

		if (!(question->all & UINT32_C(1) << i))
			continue;
		state = add_lack(&reasons, control->parts.backend, i);
		if (state < 0)
			return NULL;
		if (state == PROBE_UNAVAILABLE && question->needed & UINT32_C(1) << i)
			unanswered = true;
	}
	if (shed && add_reason(&reasons, "%s", shed) < 0)
		return NULL;
	if (add_blind(&reasons, control->parts.backend, question->name) < 0)
		return NULL;
	if (control_bypassed(control, question->name, bypassed) &&
	    add_reason(&reasons, "%s", bypassed) < 0)
		return NULL;
	return json_pack("{s:s, s:s, s:s*}", "question", question->name, "state",
			 unanswered ? "unavailable"
			 : reasons  ? "degraded"
				    : "full",
			 "reason", reasons);
}

static json_t *coverage_of_names(const struct control *control)
{
	const struct control_parts *parts = &control->parts;
	const char *why = parts->backend->ops->reasons_missing(parts->backend);

	return json_pack("[{s:s, s:s, s:s*}, {s:s, s:s, s:s*}]", "question", "drop_reasons",
			 "state", why ? "unavailable" : "full", "reason", why, "question",
			 "drop_locations", "state", parts->symbols_reason ? "degraded" : "full",
			 "reason", parts->symbols_reason);
}

static int add_sharing(char **reasons, const struct backend_sharing *sharing)
{
	int r = 0;

	if (sharing->busy)
		r = add_reason(
			reasons,
			"%" PRIu64
			" busy devices share the histograms of their kind, because those of devices take %" PRIu64
			" MiB at most%s%s; raise devices.memory",
			sharing->busy, sharing->memory_bytes >> 20,
			sharing->error ? ", and the host has no more memory: " : "",
			sharing->error ? strerror(sharing->error) : "");
	if (r == 0 && sharing->unslotted)
		r = add_reason(
			reasons,
			"more devices than slots: some share one set of histograms; raise devices.slots");
	if (r == 0 && sharing->lost)
		r = add_reason(reasons,
			       "%" PRIu64
			       " times there was no memory at all to count the stage of a packet",
			       sharing->lost);
	return r;
}

static json_t *coverage_of_devices(const struct control *control)
{
	const struct backend *backend = control->parts.backend;
	struct backend_sharing sharing;
	OWN_FREE char *reasons = NULL;

	backend->ops->sharing(backend, &sharing);
	if (add_sharing(&reasons, &sharing) < 0 || add_blind(&reasons, backend, "devices") < 0)
		return NULL;
	return json_pack("{s:s, s:s, s:s*}", "question", "devices", "state",
			 reasons ? "degraded" : "full", "reason", reasons);
}

static json_t *coverage_of_keys(const ledger_events events)
{
	bool full = events[NF_PROBE_KFREE_SKB][NF_EVENT_UNKEYED] != 0;

	return json_pack(
		"{s:s, s:s, s:s*}", "question", "drop_keys", "state", full ? "degraded" : "full",
		"reason",
		full ? "more combinations of reason, location, device, netns, protocol and cgroup at once than keys: some drops count under their reason only; raise drops.keys"
		     : NULL);
}

/*
 * A host without xen-netfront has no ring slots to count, so its coverage is full.  The kernel's log is a second
 * source, and the only one without the probe.
 */
static json_t *coverage_of_slots(const struct control *control)
{
	const struct control_parts *parts = &control->parts;
	uint64_t unseen = rockets_unseen(parts->rockets);
	OWN_FREE char *reasons = NULL;
	bool lost;

	for (int i = NF_PROBE_SLOTS_FIRST; i < NF_PROBE_COUNT; i++)
		if (add_lack(&reasons, parts->backend, i) < 0)
			return NULL;
	if (add_pause(&reasons, control, true) < 0)
		return NULL;
	lost = reasons;
	if (add_blind(&reasons, parts->backend, "slots") < 0)
		return NULL;
	if (unseen && add_reason(&reasons,
				 "the probe did not see %" PRIu64 " of %" PRIu64
				 " rockets in the kernel's log; netflowctl slots shows the newest",
				 unseen, rockets_total(parts->rockets)) < 0)
		return NULL;
	return json_pack("[{s:s, s:s, s:s*}, {s:s, s:s, s:s*}]", "question", "slots", "state",
			 lost && parts->kmsg_reason ? "unavailable"
			 : reasons		    ? "degraded"
						    : "full",
			 "reason", reasons, "question", "slots_log", "state",
			 parts->kmsg_reason ? "unavailable" : "full", "reason", parts->kmsg_reason);
}

static void add_all(json_t *to, json_t *rows)
{
	json_array_extend(to, rows);
	json_decref(rows);
}

static json_t *unavailable(const struct control *control, const char *question)
{
	return json_pack("{s:s, s:s, s:s}", "question", question, "state", "unavailable", "reason",
			 control->parts.backend_reason);
}

/* Without a backend, only the kernel's log has an answer; all other questions have none, for the same reason. */
static json_t *coverage_of_nothing(const struct control *control)
{
	static const char *const others[] = {"drop_reasons", "drop_locations", "drop_keys",
					     "devices"};
	json_t *all = json_array();

	for (size_t i = 0; i < ARRAY_SIZE(questions); i++)
		json_array_append_new(all, unavailable(control, questions[i].name));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		json_array_append_new(all, unavailable(control, others[i]));
	json_array_append_new(all, control_elsewhere_coverage(control));
	add_all(all, coverage_of_slots(control));
	return all;
}

static double coverage_share(const char *state)
{
	return !strcmp(state, "full") ? 1 : !strcmp(state, "degraded") ? 0.5 : 0;
}

json_t *coverage_json(const struct control *control, const ledger_events events)
{
	json_t *all;

	if (backend_is_none(control->parts.backend))
		return coverage_of_nothing(control);
	all = coverage_of_names(control);

	for (size_t i = 0; i < ARRAY_SIZE(questions); i++)
		json_array_append_new(all, coverage_of(control, &questions[i]));
	json_array_append_new(all, coverage_of_devices(control));
	json_array_append_new(all, coverage_of_keys(events));
	json_array_append_new(all, control_elsewhere_coverage(control));
	add_all(all, coverage_of_slots(control));
	return all;
}

int control_coverage(const struct control *control,
		     int (*visit)(const char *question, double covered, void *userdata),
		     void *userdata)
{
	const struct reading *reading = control_reading(control, COUNTERS);
	static const ledger_events none;
	OWN_JSON json_t *all =
		coverage_json(control, reading ? reading_counters(reading)->events : none);
	const json_t *row;
	size_t i;
	int r = all ? 0 : -ENOMEM;

	json_array_foreach(all, i, row)
	{
		const char *state = json_string_value(json_object_get(row, "state"));
		const char *question = json_string_value(json_object_get(row, "question"));

		if (!state || !question)
			return -ENOMEM;
		if (r == 0)
			r = visit(question, coverage_share(state), userdata);
	}
	return r;
}

/* ---- in one line --------------------------------------------------------- */

/* Append the names of the questions in this state, behind `title`. */
static void add_questions(const json_t *all, const char *state, const char *title, char *line,
			  size_t size)
{
	const char *before = title;
	const json_t *row;
	size_t i;

	json_array_foreach(all, i, row)
	{
		size_t used = strlen(line);

		if (strcmp(json_string_value(json_object_get(row, "state")), state) != 0)
			continue;
		snprintf(line + used, size - used, "%s%s", before,
			 json_string_value(json_object_get(row, "question")));
		before = ", ";
	}
}

void control_coverage_line(const struct control *control, const struct reading *counters,
			   char *line, size_t size)
{
	OWN_JSON json_t *all = coverage_json(control, reading_counters(counters)->events);
	size_t title;

	snprintf(line, size, "coverage");
	title = strlen(line);
	add_questions(all, "degraded", " degraded: ", line, size);
	add_questions(all, "unavailable", line[title] ? "; unavailable: " : " unavailable: ", line,
		      size);
	if (!all)
		snprintf(line, size, "coverage not known: out of memory");
	else if (!line[title])
		snprintf(line, size, "coverage full");
}

/* ---- gaps ---------------------------------------------------------------- */

char *control_coverage_gaps(const struct control *control)
{
	const struct reading *reading = control_reading(control, COUNTERS);
	static const ledger_events none;
	OWN_JSON json_t *all =
		coverage_json(control, reading ? reading_counters(reading)->events : none);
	size_t i = 0;

	while (i < json_array_size(all)) {
		const json_t *one = json_array_get(all, i);

		if (json_object_get(one, "reason"))
			i++;
		else
			json_array_remove(all, i);
	}
	return all ? json_dumps(all, JSON_COMPACT) : NULL;
}
