/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/alert/counters.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "daemon/alert/alerts.h"
#include "daemon/alert/rule.h"
#include "daemon/core/drop.h"
#include "daemon/core/ledger.h"
#include "daemon/kernel/attribution.h"
#include "daemon/kernel/softnet.h"
#include "daemon/probe/backend.h"
#include "daemon/probe/probes.h"
#include "daemon/store/causes.h"
#include "daemon/store/readings.h"
#include "daemon/store/records.h"
#include "daemon/store/rockets.h"

#define SOFTNET_STAT "/proc/net/softnet_stat"

struct alert_input_state {
	const struct backend *backend;
	const struct readings *readings;
	const char *reason;
	const bool *disabled;
	const struct rockets *rockets; /* NULL: netflowd does not read the kernel's log */
	struct attribution *attribution;
	const char *(*paused)(void *userdata, bool counts);
	void *userdata;
	struct records *records;
	struct causes
		*causes; /* of the drops of the reading that began at causes_ns; NULL: none yet */
	uint64_t causes_ns;
	char missing[BACKEND_REASON_MAX + 128];
	/* Time squeezes by CPU, because the kernel's counters have only 32 bits. */
	struct {
		bool seen;
		uint32_t squeezed;
	} * cpu;
	size_t cpus;
	uint64_t squeezed;
	uint64_t unaccounted; /* the most that any reading of the ledger has proven */
};

/* ---- missing counters ---------------------------------------------------- */

/* The probes that a segment needs; if one is missing, its histogram stays empty. */
static const struct {
	enum nf_probe first, second;
} needed[NF_SEGMENT_COUNT] = {
#define NEEDS(a, b)                        \
	{                                  \
		NF_PROBE_##a, NF_PROBE_##b \
	}
	[NF_SEGMENT_IRQ_TO_SOFTIRQ] = NEEDS(IRQ_HANDLER_ENTRY, SOFTIRQ_ENTRY),
	[NF_SEGMENT_RAISE_TO_SOFTIRQ] = NEEDS(SOFTIRQ_RAISE, SOFTIRQ_ENTRY),
	[NF_SEGMENT_SOFTIRQ_TO_RECEIVE] = NEEDS(SOFTIRQ_ENTRY, NETIF_RECEIVE_SKB),
	[NF_SEGMENT_GAP_WAIT] = NEEDS(NETIF_RECEIVE_SKB, SK_DATA_READY),
	[NF_SEGMENT_RECEIVE_TO_SOCK_QUEUE] = NEEDS(NETIF_RECEIVE_SKB, SK_DATA_READY),
	[NF_SEGMENT_WAKEUP_TO_RUN] = NEEDS(SCHED_WAKING, SCHED_SWITCH),
	[NF_SEGMENT_RUN_TO_COPY] = NEEDS(SCHED_WAKING, SCHED_SWITCH),
	[NF_SEGMENT_RECEIVE_TO_COPY] = NEEDS(NETIF_RECEIVE_SKB, SKB_COPY_DATAGRAM_IOVEC),
	[NF_SEGMENT_RX_TOTAL] = NEEDS(NETIF_RECEIVE_SKB, SKB_COPY_DATAGRAM_IOVEC),
	[NF_SEGMENT_RECEIVE_TO_QUEUE] = NEEDS(NETIF_RECEIVE_SKB, NET_DEV_QUEUE),
	[NF_SEGMENT_FORWARD_TOTAL] = NEEDS(NETIF_RECEIVE_SKB, NET_DEV_QUEUE),
	[NF_SEGMENT_QUEUE_TO_START] = NEEDS(NET_DEV_QUEUE, NET_DEV_START_XMIT),
	[NF_SEGMENT_START_TO_XMIT] = NEEDS(NET_DEV_START_XMIT, NET_DEV_XMIT),
	[NF_SEGMENT_XMIT_TO_FREE] = NEEDS(NET_DEV_XMIT, CONSUME_SKB),
	[NF_SEGMENT_TX_TOTAL] = NEEDS(NET_DEV_QUEUE, NET_DEV_XMIT),
#undef NEEDS
};

static const char *without(struct alert_input_state *state, enum nf_probe probe)
{
	struct probe_status status;

	state->backend->ops->probe(state->backend, probe, &status);
	if (status.state != PROBE_UNAVAILABLE)
		return NULL;
	snprintf(state->missing, sizeof(state->missing), "%s is not attached: %s",
		 probe_specs[probe].name, status.reason);
	return state->missing;
}

/* A simple program has no histograms of some segments. */
static const char *without_segment(struct alert_input_state *state, enum nf_segment segment)
{
	struct probe_status status;

	for (int i = 0; i < NF_PROBE_COUNT; i++) {
		if (!(probe_simple[i].segments & UINT32_C(1) << segment))
			continue;
		state->backend->ops->probe(state->backend, (enum nf_probe)i, &status);
		if (status.state != PROBE_DEGRADED)
			continue;
		snprintf(state->missing, sizeof(state->missing), "%s runs its simple program: %s",
			 probe_specs[i].name, status.reason);
		return state->missing;
	}
	return NULL;
}

static bool attached(const struct alert_input_state *state, enum nf_probe probe)
{
	struct probe_status status;

	state->backend->ops->probe(state->backend, probe, &status);
	return status.state == PROBE_ATTACHED || status.state == PROBE_DEGRADED;
}

/* If the probe cannot be attached, the kernel's log still shows overflows, but no near misses. */
static const char *without_slots(struct alert_input_state *state, const struct alert_rule *rule)
{
	struct probe_status status;

	if (attached(state, NF_PROBE_XENNET_START_XMIT) ||
	    (rule->device[0] && attached(state, NF_PROBE_SLOTS_DEVICES)))
		return NULL;
	state->backend->ops->probe(state->backend, NF_PROBE_XENNET_START_XMIT, &status);
	if (status.state == PROBE_UNAVAILABLE && state->rockets &&
	    rule->kind == ALERT_SLOT_OVERFLOW)
		return NULL;
	snprintf(state->missing, sizeof(state->missing), "%s",
		 status.state == PROBE_DETACHED ? "netflowd is paused" : status.reason);
	return state->missing;
}

static const char *missing(void *userdata, enum alert_input input, const struct alert_rule *rule)
{
	struct alert_input_state *state = userdata;
	const char *why;

	if (input == ALERT_INPUT_PROBES || input == ALERT_INPUT_SOFTNET ||
	    input == ALERT_INPUT_PAUSE)
		return NULL;
	why = state->paused ? state->paused(state->userdata, input != ALERT_INPUT_LATENCY) : NULL;
	if (why)
		return why;
	if (input == ALERT_INPUT_SLOTS)
		return without_slots(state, rule);
	if (backend_is_none(state->backend))
		return state->reason;
	switch (input) {
	case ALERT_INPUT_DROPS:
		return without(state, NF_PROBE_KFREE_SKB);
	case ALERT_INPUT_LATENCY:
		why = without(state, needed[rule->segment].first);
		if (!why)
			why = without(state, needed[rule->segment].second);
		return why ? why : without_segment(state, rule->segment);
	default:
		return NULL;
	}
}

/* Each pause stops what is not a count. */
static const char *read_paused(void *userdata)
{
	const struct alert_input_state *state = userdata;

	return state->paused ? state->paused(state->userdata, false) : NULL;
}

static int number_netns(void *userdata, const char *text, uint32_t *inode)
{
	const struct alert_input_state *state = userdata;

	return attribution_netns_number(state->attribution, text, inode);
}

/* ---- counters of the backend --------------------------------------------- */

/* The newest reading of COUNTERS; NULL: none. */
static const struct reading_counters *counters(const struct alert_input_state *state)
{
	const struct reading *reading = readings_latest(state->readings, READING_COUNTERS);

	return reading ? reading_counters(reading) : NULL;
}

/* The time of the newest reading of the drops, which alerts_due() asks for only after a drop was counted. */
static uint64_t drops_mark(void *userdata)
{
	const struct alert_input_state *state = userdata;
	const struct reading *reading = readings_latest(state->readings, READING_DROPS);

	return reading ? reading_time(reading) : 0;
}

/* All rules share the causes of a reading. */
static int find_causes(struct alert_input_state *state, const struct reading *reading)
{
	if (state->causes && state->causes_ns == reading_time(reading))
		return 0;
	causes_free(&state->causes);
	state->causes_ns = reading_time(reading);
	return causes_new(&state->causes, state->records, backend_has_reasons(state->backend));
}

static int read_drops(void *userdata, int (*visit)(const struct alert_drops *, void *), void *data)
{
	struct alert_input_state *state = userdata;
	const struct reading *reading = readings_latest(state->readings, READING_DROPS);
	int r = reading ? find_causes(state, reading) : -EAGAIN;

	for (size_t i = 0; r == 0 && i < reading_count(reading); i++) {
		const struct backend_drops *drops = reading_drops(reading, i);
		const struct alert_drops one = {
			.location = drops->key.location,
			.cause = causes_of(state->causes, &drops->key),
			.evidence = drops->key.evidence,
			.identity = drops->identity,
			.named_ns = drops->named_ns,
			.ifindex = drops->ifindex,
			.netns = drops->netns,
			.protocol = drops->key.protocol,
			.key_flags = drops->key.flags,
			.l4 = drops->key.l4,
			.device = drops->device,
			.packets = drops->packets,
			.gone = drops->gone,
			.mixed = drops->mixed,
			.unkeyed = drops->unkeyed,
		};

		r = one.cause ? visit(&one, data) : -ENOMEM;
	}
	return r;
}

static void name_drops(void *userdata, const struct nf_drop_key *key,
		       struct alert_drop_names *names)
{
	const struct alert_input_state *state = userdata;
	struct cause cause;

	records_cause(state->records, backend_has_reasons(state->backend), key, &cause);
	snprintf(names->location, sizeof(names->location), "%s", cause.location);
	names->inferred = cause.verdict.inferred;
	names->reason[0] = 0;
	if (cause.verdict.reason)
		snprintf(names->reason, sizeof(names->reason), "%s", cause.verdict.reason);
	else if (cause.has_reason)
		snprintf(names->reason, sizeof(names->reason), "%u", cause.reason);
}

static int read_devices(void *userdata, enum nf_segment segment,
			int (*visit)(const struct alert_device *, void *), void *data)
{
	const struct alert_input_state *state = userdata;
	const struct reading *reading = readings_latest(state->readings, READING_DEVICES);
	int r = reading ? 0 : -EAGAIN;

	for (size_t i = 0; r == 0 && i < reading_count(reading); i++) {
		struct backend_device device;
		struct alert_device one;
		struct nf_hist hist;

		reading_device(reading, i, &device);
		reading_segment(reading, i, segment, &hist);
		one = (struct alert_device){.name = device.name,
					    .identity = device.identity,
					    .ifindex = device.ifindex,
					    .netns = device.netns,
					    .hist = &hist};
		r = visit(&one, data);
	}
	return r;
}

static struct alert_slots slots_of(const struct backend_slots *slots)
{
	struct alert_slots one = {
		.device = slots->name,
		.ifindex = slots->ifindex,
		.netns = slots->netns,
		.ring = slots->xen,
		.linearized = slots->overflow[NF_SLOTS_LINEARIZED],
		.dropped = slots->overflow[NF_SLOTS_DROPPED],
		.near_misses = slots->near,
	};

	for (int i = 0; i < NF_SLOTS_OUTCOMES; i++)
		if (i != NF_SLOTS_LINEARIZED && i != NF_SLOTS_DROPPED)
			one.others += slots->overflow[i];
	return one;
}

static int read_slots(void *userdata, int (*visit)(const struct alert_slots *, void *), void *data)
{
	const struct alert_input_state *state = userdata;
	const struct reading *reading = readings_latest(state->readings, READING_SLOTS);
	struct alert_slots logged = {.ring = true};
	int r = reading ? 0 : -EAGAIN;

	for (size_t i = 0; r == 0 && i < reading_count(reading); i++) {
		const struct alert_slots one = slots_of(reading_slots(reading, i));

		r = visit(&one, data);
	}
	if (r || !state->rockets)
		return r;
	logged.logged = rockets_unseen(state->rockets);
	return visit(&logged, data);
}

static int read_probes(void *userdata, struct alert_probes *probes)
{
	const struct alert_input_state *state = userdata;
	bool none = backend_is_none(state->backend);

	for (int i = 0; i < NF_PROBE_COUNT; i++) {
		size_t used = strlen(probes->text);
		struct probe_status status;

		state->backend->ops->probe(state->backend, (enum nf_probe)i, &status);
		if (status.state != PROBE_UNAVAILABLE || state->disabled[i])
			continue;
		probes->lost++;
		if (!none)
			snprintf(probes->text + used, sizeof(probes->text) - used, "%s%s: %s",
				 used ? "; " : "", probe_specs[i].name, status.reason);
	}
	if (none && probes->lost)
		snprintf(probes->text, sizeof(probes->text), "no probe can run: %s", state->reason);
	return 0;
}

/* ---- the ledger ---------------------------------------------------------- */

static void read_unaccounted(struct alert_input_state *state)
{
	const struct reading *reading = readings_latest(state->readings, READING_LEDGER);
	uint64_t proven;

	if (!reading)
		return;
	proven = reading_counters(reading)->equation[READING_EQUATION_INFLIGHT].proven;
	if (proven > state->unaccounted)
		state->unaccounted = proven;
}

static int read_ledger(void *userdata, struct alert_ledger *ledger)
{
	struct alert_input_state *state = userdata;
	const struct reading_counters *now = counters(state);

	if (!now)
		return -EAGAIN;
	read_unaccounted(state);
	ledger->begun = ledger_sum(now->events, NF_EVENT_BEGUN) +
			now->events[NF_PROBE_KFREE_SKB][NF_EVENT_HIT];
	ledger->ring_full = ledger_sum(now->events, NF_EVENT_RING_FULL) +
			    ledger_sum(now->events, NF_EVENT_DROP_RING_FULL);
	ledger->unkeyed = ledger_sum(now->events, NF_EVENT_UNKEYED);
	ledger->overwritten = ledger_sum(now->events, NF_EVENT_OVERWRITTEN);
	ledger->unaccounted = state->unaccounted;
	for (int i = 0; i < NF_PROBE_COUNT; i++)
		ledger->missed += now->missed[i];
	return 0;
}

/* ---- softnet_stat -------------------------------------------------------- */

static int make_room(struct alert_input_state *state, size_t cpus)
{
	void *all;

	if (cpus <= state->cpus)
		return 0;
	all = reallocarray(state->cpu, cpus, sizeof(*state->cpu));
	if (!all)
		return -ENOMEM;
	state->cpu = all;
	memset(&state->cpu[state->cpus], 0, (cpus - state->cpus) * sizeof(*state->cpu));
	state->cpus = cpus;
	return 0;
}

static int read_squeezed(void *userdata, uint64_t *squeezed)
{
	struct alert_input_state *state = userdata;
	OWN_FREE struct softnet *rows = NULL;
	size_t count = 0;
	int r = softnet_read(SOFTNET_STAT, &rows, &count);

	for (size_t i = 0; r == 0 && i < count; i++) {
		uint32_t cpu = rows[i].cpu;

		r = make_room(state, (size_t)cpu + 1);
		if (r < 0)
			break;
		/* Squeezes before the first reading are not counted. */
		if (state->cpu[cpu].seen)
			state->squeezed += rows[i].time_squeeze - state->cpu[cpu].squeezed;
		state->cpu[cpu].seen = true;
		state->cpu[cpu].squeezed = rows[i].time_squeeze;
	}
	if (r == 0)
		*squeezed = state->squeezed;
	return r;
}

int alert_source_new(struct alert_input_state **state, struct alert_source *source,
		     const struct alerts_parts *parts)
{
	struct alert_input_state *fresh = calloc(1, sizeof(*fresh));

	if (!fresh)
		return -ENOMEM;
	fresh->backend = parts->backend;
	fresh->readings = parts->readings;
	fresh->reason = parts->backend_reason;
	fresh->disabled = parts->disabled;
	fresh->rockets = parts->rockets;
	fresh->records = parts->records;
	fresh->attribution = parts->attribution;
	fresh->paused = parts->paused;
	fresh->userdata = parts->userdata;
	*source = (struct alert_source){
		.missing = missing,
		.netns = number_netns,
		.drops_mark = drops_mark,
		.drops = read_drops,
		.name_drops = name_drops,
		.devices = read_devices,
		.slots = read_slots,
		.squeezed = read_squeezed,
		.ledger = read_ledger,
		.probes = read_probes,
		.paused = read_paused,
		.userdata = fresh,
	};
	*state = fresh;
	return 0;
}

void alert_source_free(struct alert_input_state **state)
{
	if (!*state)
		return;
	causes_free(&(*state)->causes);
	free((*state)->cpu);
	free(*state);
	*state = NULL;
}
