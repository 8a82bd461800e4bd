/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/probe/events/backend_events.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <traceevent/event-parse.h>

#include "daemon/core/names.h"
#include "daemon/correlator/correlator.h"
#include "daemon/probe/events/decode.h"
#include "daemon/probe/events/reasons.h"
#include "daemon/probe/events/slots.h"

/* A walk visits this many rows per call. */
#define ROWS_PER_CALL 256

static const struct backend_events *of(const struct backend *backend)
{
	return (const struct backend_events *)backend;
}

/* ---- records ------------------------------------------------------------------- */

static void backend_events_name_task(const struct backend_events *events, struct nf_task *task)
{
	const char *comm = tep_data_comm_from_pid(events->tep, (int)task->tid);

	/* The library's word for a thread that the trace does not name. */
	if (comm && strcmp(comm, "<...>") != 0)
		memcpy(task->comm, comm, strnlen(comm, sizeof(task->comm) - 1));
}

static void take_drop(void *userdata, const struct nf_drop_record *record)
{
	const struct backend_events *events = userdata;
	struct nf_drop_record named = *record;

	events->name_task(events, &named.task);
	events->sink.drop(events->sink.userdata, &named);
}

static void take_journey(void *userdata, const struct nf_journey_record *record)
{
	const struct backend_events *events = userdata;
	struct nf_journey_record named = *record;

	events->name_task(events, &named.task);
	events->sink.journey(events->sink.userdata, &named);
}

static void take_slots(void *userdata, const struct nf_slots_record *record)
{
	const struct backend_events *events = userdata;
	struct nf_slots_record named = *record;

	events->name_task(events, &named.task);
	events->sink.slots(events->sink.userdata, &named);
}

/* ---- open, take ------------------------------------------------------------------ */

static struct correlator_settings settings_of(const struct backend_events *events,
					      const struct backend_settings *from)
{
	struct correlator_settings to = {
		.cpus = events->cpus,
		.inflight_entries = from->inflight_entries,
		.reader_entries = from->reader_entries,
		.devices = from->device_slots,
		.drop_keys = from->drop_keys,
		.drop_rate = from->drop_rate,
		.drop_burst = from->drop_burst,
		.journey_rate = from->journey_rate,
		.journey_burst = from->journey_burst,
		.slots_limit = from->slots.limit,
		.slots_rate = from->slots.rate,
		.slots_burst = from->slots.burst,
		.sample_one_in = from->sample_one_in,
		.has_reason = decoder_has_reason(events->decoder),
	};

	for (int i = 0; i < NF_PROBE_COUNT; i++)
		to.has[i] = !from->disabled[i] &&
			    !decoder_probe(events->decoder, (enum nf_probe)i)->reason[0];
	for (int i = 0; i < NF_SEGMENT_COUNT; i++)
		to.slow_ns[i] = from->slow_ns[i];
	return to;
}

int backend_events_open(struct backend_events *events, const struct backend_settings *settings,
			const struct backend_sink *sink, struct tep_handle *tep, uint32_t cpus,
			struct names *names)
{
	const struct correlator_sink records = {.drop = take_drop,
						.journey = take_journey,
						.slots = take_slots,
						.userdata = events};
	struct correlator_settings to;
	int r;

	events->sink = *sink;
	if (!events->name_task)
		events->name_task = backend_events_name_task;
	events->tep = tep;
	events->cpus = cpus;
	memcpy(events->disabled, settings->disabled, sizeof(events->disabled));
	events->slots_blind = malloc(BACKEND_EVENTS_TEXT_MAX);
	r = events->slots_blind ? decoder_new(&events->decoder, tep) : -ENOMEM;
	if (r == 0)
		r = reasons_of_format(names, tep);
	if (r < 0)
		return r;
	to = settings_of(events, settings);
	(void)names_find_reason(names, "NOT_SPECIFIED", &to.not_specified);
	return correlator_new(&events->correlator, &to, &records);
}

void backend_events_close(struct backend_events *events)
{
	for (int i = 0; i < BACKEND_EVENTS_BLIND; i++)
		free(events->blind[i]);
	free(events->slots_blind);
	correlator_free(&events->correlator);
	decoder_free(&events->decoder);
}

int backend_events_take(struct backend_events *events, const void *data, size_t size, uint32_t cpu,
			uint64_t time_ns)
{
	struct event event;
	int r = decoder_read(events->decoder, data, size, &event);

	if (r < 0)
		events->unreadable++;
	if (r <= 0)
		return r;
	event.cpu = cpu;
	event.time_ns = time_ns;
	if (!events->disabled[event.probe])
		correlator_event(events->correlator, &event);
	return 0;
}

void backend_events_lost(struct backend_events *events, uint32_t cpu, uint64_t count)
{
	correlator_lost(events->correlator, cpu, count);
}

/* ---- what is there ------------------------------------------------------------------ */

static bool has(const struct backend_events *events, enum nf_probe probe)
{
	return !events->disabled[probe] && !decoder_probe(events->decoder, probe)->reason[0];
}

/* sk_data_ready is a tracepoint since 6.3, sock_recv_length too; UDP readers defer since 6.18. */
static bool is_before_6_3(const struct backend_events *events)
{
	const char *ready = decoder_probe(events->decoder, NF_PROBE_SK_DATA_READY)->name;

	return (!ready || strcmp(ready, "sk_data_ready") != 0) &&
	       !has(events, NF_PROBE_SOCK_RECV_LENGTH);
}

/* Why nothing is lost without the events of this probe; NULL: something is. */
static const char *why_unneeded(const struct backend_events *events, enum nf_probe probe)
{
	bool ordered =
		has(events, NF_PROBE_SK_DATA_READY) && has(events, NF_PROBE_SOCK_RECV_LENGTH);

	switch (probe) {
	case NF_PROBE_SLOTS_DEVICES:
		return "trace events show no slots of devices that slots.devices names";
	case NF_PROBE_UDP_ENQUEUE_SCHEDULE_SKB:
		return ordered ? "sk_data_ready and the order of the queue replace it" : NULL;
	case NF_PROBE_SKB_ATTEMPT_DEFER_FREE:
		if (is_before_6_3(events))
			return "this kernel's UDP readers consume their datagrams";
		return ordered ? "sock_recv_length and the order of the queue replace it" : NULL;
	case NF_PROBE_SOCK_RECV_LENGTH:
		return is_before_6_3(events) ? "this kernel's UDP readers consume their datagrams"
					     : NULL;
	default:
		return NULL;
	}
}

static const char *why_unavailable(const struct decoder_probe *known, enum nf_probe probe)
{
	if (probe == NF_PROBE_XENNET_START_XMIT && !known->name)
		return "there are no such events; they need devices of Xen, BTF and kprobe events";
	return known->reason;
}

void events_probe(const struct backend *backend, enum nf_probe probe, struct probe_status *status)
{
	const struct decoder_probe *known = decoder_probe(of(backend)->decoder, probe);
	const char *unneeded = why_unneeded(of(backend), probe);

	*status = (struct probe_status){.state = PROBE_ATTACHED, .how = "event"};
	if (of(backend)->disabled[probe])
		*status = (struct probe_status){.state = PROBE_UNAVAILABLE,
						.reason = "switched off by probes.disable"};
	else if (known->reason[0])
		*status = (struct probe_status){
			.state = unneeded ? PROBE_UNNEEDED : PROBE_UNAVAILABLE,
			.reason = unneeded ? unneeded : why_unavailable(known, probe)};
}

/* By question or criterion: what trace events do not show, and what the exclusion of devices adds; NULL: nothing. */
static const struct {
	const char *question, *reason, *excluded;
} blind[BACKEND_EVENTS_BLIND] = {
	{"drops",
	 "trace events have neither the packet's headers and bytes, nor its network namespace and cgroup; the device is known only if the packet passed it before",
	 "their drops are counted, but not as theirs"},
	{"rx_latency",
	 "trace events have no headers, network namespace and cgroup, and name a packet by its address only, and the bytes of TCP are not counted; see docs/replay.md",
	 "what they receive is not followed"},
	{"tx_latency",
	 "trace events have no headers, network namespace and cgroup, and name a packet by its address only; see docs/replay.md",
	 "what they send is not followed"},
	{"napi", NULL, "their polls are not counted"},
	{"filter",
	 "trace events have no headers, so an expression selects nothing; select with --dev, --reason or --class",
	 NULL},
	{"netns",
	 "trace events do not name the network namespace; select with --dev, --reason or --class",
	 NULL},
	{"devices",
	 "trace events name a device only: devices of one name in several network namespaces are counted together",
	 "they are not shown"},
	{"slots",
	 "trace events do not show how a transmit ends: one above 18 slots counts as linearized unless it was dropped or requeued",
	 "their slots are not counted"},
};

const char *events_blind(const struct backend *backend, const char *question)
{
	const struct backend_events *events = of(backend);

	for (int i = 0; i < BACKEND_EVENTS_BLIND; i++) {
		const char *text = events->blind[i] ? events->blind[i] : blind[i].reason;

		if (!strcmp(blind[i].question, question))
			return strcmp(question, "slots") ? text : events_slots_blind(events, text);
	}
	return NULL;
}

int backend_events_exclude(struct backend_events *events, const char *by, const char *names)
{
	correlator_hide_devices(events->correlator);
	for (int i = 0; i < BACKEND_EVENTS_BLIND; i++) {
		const char *reason = blind[i].reason;
		char *text;

		if (!blind[i].excluded)
			continue;
		if (asprintf(&text, "%s%sdevices excluded by %s (%s): %s", reason ? reason : "",
			     reason ? "; " : "", by, blind[i].excluded, names) < 0)
			return -ENOMEM;
		free(events->blind[i]);
		events->blind[i] = text;
	}
	return 0;
}

const char *events_reasons_missing(const struct backend *backend)
{
	return decoder_has_reason(of(backend)->decoder)
		       ? NULL
		       : "the event kfree_skb of this kernel has no reason (Linux 5.17 added it)";
}

uint32_t events_cpus(const struct backend *backend)
{
	return of(backend)->cpus;
}

/* ---- counters ------------------------------------------------------------------------- */

void events_events(const struct backend *backend, uint64_t events[NF_PROBE_COUNT][NF_EVENT_COUNT])
{
	memcpy(events, correlator_totals(of(backend)->correlator)->events,
	       sizeof(uint64_t[NF_PROBE_COUNT][NF_EVENT_COUNT]));
}

bool events_in_flight(const struct backend *backend, struct backend_cursor *cursor, uint64_t now_ns,
		      struct backend_in_flight *count)
{
	uint64_t stale_ns = now_ns > BACKEND_STALE_NS ? now_ns - BACKEND_STALE_NS : 0;
	uint64_t stale, young;

	(void)cursor;
	correlator_in_flight(of(backend)->correlator, stale_ns, &stale, &young);
	count->stale += stale;
	count->young += young;
	return true;
}

void events_softirq_wait(const struct backend *backend, uint32_t cpu, struct nf_hist *hist)
{
	const struct nf_hist *wait = correlator_softirq_wait(of(backend)->correlator, cpu);

	for (int i = 0; wait && i < NF_HIST_BUCKETS; i++)
		hist->bucket[i] += wait->bucket[i];
	if (!wait)
		return;
	hist->sum_ns += wait->sum_ns;
	hist->journeys += wait->journeys;
	if (wait->max_ns > hist->max_ns)
		hist->max_ns = wait->max_ns;
}

void events_sharing(const struct backend *backend, struct backend_sharing *sharing)
{
	const struct correlator_device *others = correlator_device(of(backend)->correlator, 0);

	*sharing = (struct backend_sharing){.unslotted = others->packets != 0};
}

bool events_trace(const struct backend *backend, struct backend_trace *trace)
{
	const struct correlator_totals *totals = correlator_totals(of(backend)->correlator);

	*trace = (struct backend_trace){
		.lost = totals->lost,
		.losses = totals->losses,
		.unreadable = of(backend)->unreadable,
		.disorder = totals->disorder,
	};
	for (int i = 0; i < NF_PROBE_COUNT; i++)
		trace->events += totals->events[i][NF_EVENT_HIT];
	return true;
}

/* ---- walks ------------------------------------------------------------------------------ */

/* Whether a call that began at `first` has done its part; the next one goes on at cursor->next. */
static bool is_enough(const struct backend_cursor *cursor, uint64_t first)
{
	return cursor->next - first >= ROWS_PER_CALL;
}

/* The polls of a device on all CPUs. */
static void sum_polls(const struct backend_events *events, const struct correlator_device *device,
		      struct backend_device *row)
{
	for (uint32_t cpu = 0; device->polls && cpu < events->cpus; cpu++) {
		row->polls += device->polls[cpu].polls;
		row->poll_packets += device->polls[cpu].packets;
		row->full_budgets += device->polls[cpu].full_budgets;
	}
}

static void fill_device(const struct backend_events *events, uint32_t index,
			struct backend_device *row)
{
	const struct correlator_device *device = correlator_device(events->correlator, index);

	*row = (struct backend_device){
		.name = index ? device->name : NULL,
		.kind = index ? NULL : BACKEND_KIND_OTHER,
		.identity = index,
		.group = !index,
	};
	memcpy(row->segment, device->segment, sizeof(row->segment));
	for (int i = 0; i < NF_SEGMENT_COUNT; i++)
		row->used |= (uint32_t)(device->segment[i].journeys != 0) << i;
	sum_polls(events, device, row);
}

int events_devices(const struct backend *backend, struct backend_cursor *cursor,
		   int (*visit)(const struct backend_device *device, void *userdata),
		   void *userdata)
{
	const struct backend_events *events = of(backend);
	uint64_t first = cursor->next;
	struct backend_device row;
	int r;

	while (cursor->next < correlator_devices(events->correlator)) {
		if (is_enough(cursor, first))
			return 1;
		fill_device(events, (uint32_t)cursor->next++, &row);
		r = visit(&row, userdata);
		if (r)
			return r;
	}
	return 0;
}

/* The polls of the cursor's device and CPU; those of the backlog come before all devices. */
static const struct correlator_polls *polls_at(const struct backend_events *events, uint32_t device,
					       uint32_t cpu)
{
	const struct correlator_device *known;

	if (!device)
		return correlator_backlog(events->correlator, cpu);
	known = correlator_device(events->correlator, device);
	return known->polls ? &known->polls[cpu] : NULL;
}

int events_napi(const struct backend *backend, struct backend_cursor *cursor,
		int (*visit)(const struct backend_napi *napi, void *userdata), void *userdata)
{
	const struct backend_events *events = of(backend);
	uint64_t rows = (uint64_t)correlator_devices(events->correlator) * events->cpus;

	while (cursor->next < rows) {
		uint32_t device = (uint32_t)(cursor->next / events->cpus);
		uint32_t cpu = (uint32_t)(cursor->next++ % events->cpus);
		const struct correlator_polls *polls = polls_at(events, device, cpu);
		struct backend_napi row;
		int r;

		if (!polls || !polls->polls)
			continue;
		row = (struct backend_napi){
			.name = device ? correlator_device(events->correlator, device)->name : NULL,
			.cpu = cpu,
			.identity = device,
			.polls = polls->polls,
			.poll_packets = polls->packets,
			.full_budgets = polls->full_budgets,
		};
		r = visit(&row, userdata);
		if (r)
			return r;
	}
	return 0;
}

static void fill_drops(const struct backend_events *events, const struct correlator_drops *drops,
		       struct backend_drops *row)
{
	*row = (struct backend_drops){
		.key = {.location = drops->location,
			.reason = drops->reason,
			.protocol = drops->protocol},
		.identity = drops->device,
		.packets = drops->packets,
		.last_ns = drops->last_ns,
		.unmeasured = true,
		.unkeyed = drops->unkeyed,
	};
	memcpy(row->device, correlator_device(events->correlator, drops->device)->name,
	       NF_DEVICE_NAME);
}

int events_drops(const struct backend *backend, struct backend_cursor *cursor,
		 int (*visit)(const struct backend_drops *drops, void *userdata), void *userdata)
{
	const struct backend_events *events = of(backend);
	const struct correlator_drops *drops;
	uint64_t first = cursor->next;
	struct backend_drops row;
	int r;

	while ((drops = correlator_drops(events->correlator, (uint32_t)cursor->next))) {
		if (is_enough(cursor, first))
			return 1;
		cursor->next++;
		fill_drops(events, drops, &row);
		r = visit(&row, userdata);
		if (r)
			return r;
	}
	return 0;
}

int events_tables(const struct backend *backend, struct backend_cursor *cursor,
		  int (*visit)(const struct backend_table *table, void *userdata), void *userdata)
{
	const struct backend_events *events = of(backend);
	struct correlator_table table;

	while (correlator_table(events->correlator, (uint32_t)cursor->next, &table)) {
		const struct backend_table row = {.name = table.name,
						  .what = table.what,
						  .entries = table.entries,
						  .used_known = true,
						  .used = table.used,
						  .bytes = table.bytes};
		int r;

		cursor->next++;
		r = visit(&row, userdata);
		if (r)
			return r;
	}
	return 0;
}

/* ---- settings ------------------------------------------------------------------------------- */

void events_tune(struct backend *backend, const struct backend_settings *settings)
{
	const struct backend_events *events = of(backend);
	const struct correlator_settings to = settings_of(events, settings);

	correlator_tune(events->correlator, &to);
}

const char *events_stats_missing(const struct backend *backend)
{
	(void)backend;
	return "trace events run no BPF programs";
}
