/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/sources/coverage.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/cleanup.h"
#include "daemon/cost/pause.h"
#include "daemon/probe/backend.h"
#include "daemon/probe/probes.h"
#include "daemon/sources/kernel_drops.h"
#include "daemon/sources/shedding.h"
#include "daemon/sources/sources.h"
#include "daemon/store/rockets.h"

/*
 * The probes that answer each question.  If one of `all` is degraded or unavailable, coverage is degraded; if one of
 * `needed` is unavailable, there is no answer.
 */
static const struct question {
	enum coverage_question question;
	uint32_t needed, all;
} questions[] = {
#define P(probe) (UINT32_C(1) << NF_PROBE_##probe)
	{COVERAGE_DROPS, P(KFREE_SKB),
	 P(KFREE_SKB) | P(IRQ_HANDLER_EXIT) | P(SOFTIRQ_ENTRY) | P(SOFTIRQ_EXIT)},
	{COVERAGE_RX_LATENCY, P(NETIF_RECEIVE_SKB),
	 P(IRQ_HANDLER_ENTRY) | P(IRQ_HANDLER_EXIT) | P(SOFTIRQ_RAISE) | P(SOFTIRQ_ENTRY) |
		 P(SOFTIRQ_EXIT) | P(NETIF_RECEIVE_SKB) | P(UDP_ENQUEUE_SCHEDULE_SKB) |
		 P(SK_DATA_READY) | P(SKB_COPY_DATAGRAM_IOVEC) | P(SOCK_RECV_LENGTH) |
		 P(SKB_ATTEMPT_DEFER_FREE) | P(CONSUME_SKB)},
	{COVERAGE_WAKE, P(SCHED_WAKING) | P(SCHED_SWITCH) | P(SK_DATA_READY),
	 P(SCHED_WAKING) | P(SCHED_SWITCH) | P(SK_DATA_READY)},
	{COVERAGE_TX_LATENCY, P(NET_DEV_START_XMIT),
	 P(NET_DEV_QUEUE) | P(NET_DEV_START_XMIT) | P(NET_DEV_XMIT) | P(CONSUME_SKB)},
	{COVERAGE_NAPI, P(NAPI_POLL), P(NAPI_POLL)},
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
static int add_pause(char **reasons, const struct sources *sources, bool counts)
{
	const struct pause_state *state = pause_state(sources->pause);
	int r;

	if (!state->level || (counts && state->level != PAUSE_ALL))
		return 0;
	r = counts ? add_reason(reasons, "%s; its counters stand still", state->text)
		   : add_reason(reasons, "%s; packets are not followed", state->text);
	return r < 0 ? r : 1;
}

/* What the backend itself cannot see. */
static int add_blind(char **reasons, const struct backend *backend, enum coverage_question question)
{
	const char *blind = backend->ops->blind(backend, coverage_question_name(question));

	return blind ? add_reason(reasons, "%s", blind) : 0;
}

/* Add a question that a reason degrades. */
static int add(struct coverage *to, enum coverage_question question, bool answered, char *reason)
{
	return coverage_add(to, question,
			    !answered ? COVERAGE_UNAVAILABLE
			    : reason  ? COVERAGE_DEGRADED
				      : COVERAGE_FULL,
			    reason);
}

/* The same for a reason that the caller keeps; NULL: none. */
static int add_copy(struct coverage *to, enum coverage_question question, bool answered,
		    const char *reason)
{
	char *copy = reason ? strdup(reason) : NULL;

	return reason && !copy ? -ENOMEM : add(to, question, answered, copy);
}

/* Add what the probes of a question lack.  1 if there is no answer without one of them, 0, or -ENOMEM. */
static int add_lacks(char **reasons, const struct backend *backend, const struct question *question)
{
	int unanswered = 0;

	for (int i = 0; i < NF_PROBE_COUNT; i++) {
		int state;

		if (!(question->all & UINT32_C(1) << i))
			continue;
		state = add_lack(reasons, backend, i);
		if (state < 0)
			return state;
		if (state == PROBE_UNAVAILABLE && question->needed & UINT32_C(1) << i)
			unanswered = 1;
	}
	return unanswered;
}

static int add_probed(struct coverage *to, const struct sources *sources,
		      const struct question *question)
{
	OWN_FREE char *reasons = NULL;
	const char *name = coverage_question_name(question->question);
	const char *shed = shedding_reason(sources->governor, name);
	char bypassed[ELSEWHERE_REASON_MAX];
	int paused = add_pause(&reasons, sources, question->question == COVERAGE_DROPS);
	int lacking = add_lacks(&reasons, sources->backend, question);

	if (paused < 0 || lacking < 0 || (shed && add_reason(&reasons, "%s", shed) < 0) ||
	    add_blind(&reasons, sources->backend, question->question) < 0 ||
	    (kernel_drops_bypassed(sources, name, bypassed) &&
	     add_reason(&reasons, "%s", bypassed) < 0))
		return -ENOMEM;
	return add(to, question->question, !paused && !lacking, TAKE_PTR(reasons));
}

static int add_names(struct coverage *to, const struct sources *sources)
{
	const char *why = sources->backend->ops->reasons_missing(sources->backend);
	int r = add_copy(to, COVERAGE_DROP_REASONS, !why, why);

	return r < 0 ? r : add_copy(to, COVERAGE_DROP_LOCATIONS, true, sources->symbols_reason);
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

static int add_devices(struct coverage *to, const struct sources *sources)
{
	const struct backend *backend = sources->backend;
	struct backend_sharing sharing;
	OWN_FREE char *reasons = NULL;

	backend->ops->sharing(backend, &sharing);
	if (add_sharing(&reasons, &sharing) < 0 ||
	    add_blind(&reasons, backend, COVERAGE_DEVICES) < 0)
		return -ENOMEM;
	return add(to, COVERAGE_DEVICES, true, TAKE_PTR(reasons));
}

static int add_keys(struct coverage *to, const ledger_events events)
{
	bool full = events && events[NF_PROBE_KFREE_SKB][NF_EVENT_UNKEYED] != 0;

	return add_copy(
		to, COVERAGE_DROP_KEYS, true,
		full ? "more combinations of reason, location, device, netns, protocol and cgroup at once than keys: some drops count under their reason only; raise drops.keys"
		     : NULL);
}

static int add_elsewhere(struct coverage *to, const struct sources *sources)
{
	char reason[ELSEWHERE_REASON_MAX];
	bool answered = kernel_drops_reason(sources, reason);

	return add_copy(to, COVERAGE_DROPS_ELSEWHERE, answered, reason[0] ? reason : NULL);
}

/*
 * A host without xen-netfront has no ring slots to count, so its coverage is full.  The kernel's log is a second
 * source, and the only one without the probe.
 */
static int add_slots(struct coverage *to, const struct sources *sources)
{
	uint64_t unseen = rockets_unseen(sources->rockets);
	OWN_FREE char *reasons = NULL;
	bool lost;
	int r;

	for (int i = NF_PROBE_SLOTS_FIRST; i < NF_PROBE_COUNT; i++)
		if (add_lack(&reasons, sources->backend, i) < 0)
			return -ENOMEM;
	if (add_pause(&reasons, sources, true) < 0)
		return -ENOMEM;
	lost = reasons;
	if (add_blind(&reasons, sources->backend, COVERAGE_SLOTS) < 0)
		return -ENOMEM;
	if (unseen && add_reason(&reasons,
				 "the probe did not see %" PRIu64 " of %" PRIu64
				 " rockets in the kernel's log; netflowctl slots shows the newest",
				 unseen, rockets_total(sources->rockets)) < 0)
		return -ENOMEM;
	r = add(to, COVERAGE_SLOTS, !lost || !sources->kmsg_reason, TAKE_PTR(reasons));
	return r < 0 ? r
		     : add_copy(to, COVERAGE_SLOTS_LOG, !sources->kmsg_reason,
				sources->kmsg_reason);
}

/* Without a backend, only the kernel's own files have an answer; all other questions have none, for the same reason. */
static int add_nothing(struct coverage *to, const struct sources *sources)
{
	int r = 0;

	for (int i = 0; i < COVERAGE_DROPS_ELSEWHERE && r == 0; i++)
		r = add_copy(to, (enum coverage_question)i, false, sources->backend_reason);
	return r;
}

static int add_backend(struct coverage *to, const struct sources *sources,
		       const ledger_events events)
{
	int r = add_names(to, sources);

	for (size_t i = 0; i < ARRAY_SIZE(questions) && r == 0; i++)
		r = add_probed(to, sources, &questions[i]);
	if (r == 0)
		r = add_devices(to, sources);
	return r == 0 ? add_keys(to, events) : r;
}

static int fill(struct coverage *to, const struct sources *sources, const struct reading *reading)
{
	int r = backend_is_none(sources->backend)
			? add_nothing(to, sources)
			: add_backend(to, sources,
				      reading ? reading_counters(reading)->events : NULL);

	if (r == 0)
		r = add_elsewhere(to, sources);
	return r == 0 ? add_slots(to, sources) : r;
}

int coverage_find(const struct sources *sources, const struct reading *counters,
		  struct coverage *coverage)
{
	int r;

	*coverage = (struct coverage){0};
	r = fill(coverage, sources, counters ? counters : sources_reading(sources, COUNTERS));
	if (r < 0)
		coverage_clear(coverage);
	return r;
}

json_t *coverage_json(const struct coverage *coverage)
{
	json_t *all = json_array();

	for (size_t i = 0; i < coverage->count; i++) {
		const struct coverage_entry *entry = &coverage->entry[i];

		json_array_append_new(all, json_pack("{s:s, s:s, s:s*}", "question",
						     coverage_question_name(entry->question),
						     "state", coverage_state_name(entry->state),
						     "reason", entry->reason));
	}
	return all;
}
