/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/store/reading.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/time.h"
#include "daemon/core/histogram.h"
#include "daemon/store/device_names.h"
#include "daemon/store/reading_rows.h"
#include "daemon/store/traffic_reader.h"

struct reading {
	unsigned int holders;
	enum reading_part part;
	uint64_t began_ns;
	struct backend_cursor cursor;
	struct reading_counters counters;
	ledger_events after; /* the events at the end of the reading */
	struct reading_rows rows;
	struct nf_hist *wait; /* NAPI: by CPU */
	uint32_t waits, cpus;
	struct traffic_list traffic;
	bool begun; /* TRAFFIC: the reader works for this reading */
};

/* ---- life ---------------------------------------------------------------- */

int reading_begin(struct reading **reading, enum reading_part part)
{
	struct reading *fresh = calloc(1, sizeof(*fresh));

	if (!fresh)
		return -ENOMEM;
	fresh->holders = 1;
	fresh->part = part;
	fresh->began_ns = time_monotonic();
	*reading = fresh;
	return 0;
}

const struct reading *reading_hold(const struct reading *reading)
{
	((struct reading *)reading)->holders++;
	return reading;
}

void reading_release(const struct reading **reading)
{
	struct reading *old = (struct reading *)*reading;

	*reading = NULL;
	if (!old || --old->holders)
		return;
	reading_rows_clear(&old->rows);
	free(old->wait);
	traffic_list_clear(&old->traffic);
	free(old);
}

/* ---- taking --------------------------------------------------------------- */

static void check(struct reading *reading, struct ledger_watch *watch,
		  enum reading_equation equation, int64_t off, uint64_t moved)
{
	struct ledger_watch *of = &watch[equation];

	reading->counters.equation[equation].moved = moved;
	reading->counters.equation[equation].balanced =
		ledger_watch_add(of, reading->began_ns, off, moved, reading->cpus);
	reading->counters.equation[equation].proven = of->proven;
}

static void check_slots(struct reading *reading, const struct backend *backend,
			struct ledger_watch *watch)
{
	uint64_t after[NF_SLOTS_PROBES][NF_SLOTS_EVENTS], sum[NF_SLOTS_EVENTS] = {0}, moved = 0;
	int64_t counted, chosen;

	backend->ops->slots_events(backend, after);
	for (int i = 0; i < NF_SLOTS_PROBES; i++)
		for (int j = 0; j < NF_SLOTS_EVENTS; j++) {
			sum[j] += reading->counters.slots[i][j];
			moved += after[i][j] - reading->counters.slots[i][j];
		}
	counted = (int64_t)(sum[NF_SLOTS_HIT] - sum[NF_SLOTS_COUNTED] - sum[NF_SLOTS_UNKEYED]);
	chosen = (int64_t)(sum[NF_SLOTS_CHOSEN] - sum[NF_SLOTS_RECORDED] - sum[NF_SLOTS_THROTTLED] -
			   sum[NF_SLOTS_RING_FULL] - sum[NF_SLOTS_UNENDED]);
	check(reading, watch, READING_EQUATION_SLOTS,
	      llabs(counted) > llabs(chosen) ? counted : chosen, moved);
}

/* The equations of which both sides were read; the in-flight table's needs the walk in between. */
static void check_all(struct reading *reading, const struct backend *backend,
		      struct ledger_watch *watch)
{
	struct reading_counters *counters = &reading->counters;
	struct ledger_inflight inflight;
	struct ledger_latency latency;
	struct ledger_drops drops;

	backend->ops->events(backend, reading->after);
	ledger_of_drops(&drops, counters->events);
	check(reading, watch, READING_EQUATION_DROPS, ledger_drops_off(&drops),
	      ledger_moved_drops(counters->events, reading->after));
	ledger_of_latency(&latency, counters->events);
	check(reading, watch, READING_EQUATION_LATENCY, ledger_latency_off(&latency),
	      ledger_moved_latency(counters->events, reading->after));
	check_slots(reading, backend, watch);
	if (reading->part != READING_LEDGER)
		return;
	ledger_of_inflight(&inflight, counters->events, counters->in_flight.young,
			   counters->in_flight.stale);
	check(reading, watch, READING_EQUATION_INFLIGHT, inflight.unaccounted,
	      ledger_moved_inflight(counters->events, reading->after));
}

static void read_missed(struct reading *reading, const struct backend *backend)
{
	for (int i = 0; i < NF_PROBE_COUNT; i++) {
		struct probe_status status;

		backend->ops->probe(backend, (enum nf_probe)i, &status);
		reading->counters.missed[i] = status.missed_known ? status.missed : 0;
	}
}

/*
 * The part is read before the whole, so that it is not larger.  Where a file cannot be read for once, what was known
 * stays: neither number ever falls.
 */
static void read_host(struct reading *reading, struct reading_sources *sources)
{
	struct reading_counters *counters = &reading->counters;
	struct reading_unseen unseen, *most = &sources->most_unseen;

	if (!sources->softnet)
		return;
	unseen = sources->unseen(sources->userdata);
	if (unseen.packets > most->packets)
		most->packets = unseen.packets;
	if (unseen.undrawn > most->undrawn)
		most->undrawn = unseen.undrawn;
	(void)softnet_sum_add(&sources->received, sources->softnet);
	counters->host.known = sources->received.begun;
	counters->host.received = sources->received.packets;
	most->detached = unseen.detached;
	counters->host.unseen = *most;
}

static int step_counters(struct reading *reading, struct reading_sources *sources,
			 uint64_t deadline_ns)
{
	struct reading_counters *counters = &reading->counters;
	const struct backend *backend = sources->backend;

	if (!reading->cpus) {
		read_host(reading, sources);
		reading->cpus = backend->ops->cpus(backend);
		read_missed(reading, backend);
		backend->ops->streams(backend, counters->streams);
		backend->ops->slots_events(backend, counters->slots);
		backend->ops->events(backend, counters->events);
		/* After the packets that were passed over. */
		counters->most_drawn = backend->ops->most_drawn(backend);
	}
	while (reading->part == READING_LEDGER &&
	       !backend->ops->in_flight(backend, &reading->cursor, reading->began_ns,
					&counters->in_flight))
		if (time_monotonic() >= deadline_ns)
			return 1;
	check_all(reading, backend, sources->watch);
	return 0;
}

/* The waits of some CPUs; each is a sum over all devices. */
static int step_waits(struct reading *reading, const struct backend *backend, uint64_t deadline_ns)
{
	if (!reading->wait) {
		reading->cpus = backend->ops->cpus(backend);
		reading->wait = calloc((size_t)reading->cpus + 1, sizeof(*reading->wait));
		if (!reading->wait)
			return -ENOMEM;
	}
	while (reading->waits < reading->cpus) {
		backend->ops->softirq_wait(backend, reading->waits, &reading->wait[reading->waits]);
		reading->waits++;
		if (time_monotonic() >= deadline_ns)
			return 1;
	}
	return 0;
}

/* Who asks for latency or history gets that also where /proc cannot be read: then no namespace is counted. */
static int step_traffic(struct reading *reading, struct traffic_reader *reader,
			uint64_t deadline_ns)
{
	int r;

	if (!reader)
		return 0;
	if (!reading->begun)
		traffic_reader_begin(reader);
	reading->begun = true;
	r = traffic_reader_step(reader, deadline_ns, &reading->traffic);
	return r < 0 && r != -ENOMEM ? 0 : r;
}

int reading_step(struct reading *reading, struct reading_sources *sources, uint64_t deadline_ns)
{
	const struct backend *backend = sources->backend;
	int r;

	if (reading->part == READING_TRAFFIC)
		return step_traffic(reading, sources->traffic, deadline_ns);
	if (reading->part == READING_COUNTERS || reading->part == READING_LEDGER)
		return step_counters(reading, sources, deadline_ns);
	reading->rows.deadline_ns = deadline_ns;
	r = reading_rows_step(&reading->rows, backend, reading->part, &reading->cursor);
	if (r || reading->part != READING_NAPI)
		return r;
	return step_waits(reading, backend, deadline_ns);
}

static void rename_drops(struct backend_drops *drops, const struct device_names *names)
{
	const struct device_name *name = device_names_find(names, drops->identity);

	if (!name || !drops->device[0])
		return;
	memcpy(drops->device, name->name, sizeof(drops->device));
	drops->named_ns = name->was[0] ? name->since_ns : 0;
}

/* `name`: the row's own; nothing is known of groups and of what has no device. */
static void rename_row(char *name, uint64_t identity, const struct device_names *names)
{
	const struct device_name *newest = device_names_find(names, identity);

	if (newest)
		memcpy(name, newest->name, sizeof(newest->name));
}

/* A device has a row for each CPU, one after another. */
static bool is_next_cpu(const struct reading_rows *rows, size_t i)
{
	return i && rows->napi[i].row.identity == rows->napi[i - 1].row.identity;
}

/* What the names of the rows say, of a part that reads them again as packets pass or are dropped. */
static void note_names(const struct reading *reading, struct device_names *names)
{
	const struct reading_rows *rows = &reading->rows;
	struct backend_device device;

	for (size_t i = 0; rows->drops && i < rows->count; i++)
		device_names_dropped(names, rows->drops[i].identity, rows->drops[i].device,
				     rows->drops[i].last_ns);
	for (size_t i = 0; rows->device && i < rows->count; i++) {
		reading_rows_device(rows, i, &device);
		device_names_passed(names, device.identity, rows->device[i].name);
	}
	for (size_t i = 0; rows->napi && i < rows->count; i++)
		if (!is_next_cpu(rows, i))
			device_names_passed(names, rows->napi[i].row.identity, rows->napi[i].name);
}

void reading_name_devices(struct reading *reading, struct device_names *names)
{
	struct reading_rows *rows = &reading->rows;
	struct backend_device device;

	device_names_begin(names, reading->began_ns);
	note_names(reading, names);
	for (size_t i = 0; i < rows->count; i++) {
		if (rows->drops)
			rename_drops(&rows->drops[i], names);
		if (rows->napi && is_next_cpu(rows, i))
			memcpy(rows->napi[i].name, rows->napi[i - 1].name,
			       sizeof(rows->napi[i].name));
		else if (rows->napi)
			rename_row(rows->napi[i].name, rows->napi[i].row.identity, names);
		if (rows->slots)
			rename_row(rows->slots[i].name, rows->slots[i].row.identity, names);
		if (!rows->device)
			continue;
		reading_rows_device(rows, i, &device);
		rename_row(rows->device[i].name, device.identity, names);
	}
}

/* ---- queries -------------------------------------------------------------- */

uint64_t reading_time(const struct reading *reading)
{
	return reading->began_ns;
}

const struct reading_counters *reading_counters(const struct reading *reading)
{
	return &reading->counters;
}

uint64_t reading_missable(const struct reading_counters *now, const struct reading_counters *base)
{
	uint64_t before = base ? ledger_sum(base->events, NF_EVENT_PASSED) : 0;
	uint64_t passed = ledger_sum(now->events, NF_EVENT_PASSED) - before;
	uint64_t likely = 3 * now->most_drawn;

	return passed < likely ? passed : likely;
}

struct reading_unended reading_unended(const struct reading_counters *now,
				       const struct reading_counters *base)
{
	struct reading_unended unended = {
		.detached = now->host.unseen.detached,
		.overwritten = ledger_sum(now->events, NF_EVENT_OVERWRITTEN_PACKETS),
		.missed = reading_missed(now, 0, NF_PROBE_KFREE_SKB),
	};

	if (base) {
		unended.detached -= base->host.unseen.detached;
		unended.overwritten -= ledger_sum(base->events, NF_EVENT_OVERWRITTEN_PACKETS);
		unended.missed -= reading_missed(base, 0, NF_PROBE_KFREE_SKB);
	}
	return unended;
}

uint64_t reading_unended_packets(struct reading_unended unended)
{
	return unended.detached + unended.overwritten + unended.missed;
}

uint64_t reading_missed(const struct reading_counters *counters, int first, int end)
{
	uint64_t sum = 0;

	for (int i = first; i < end; i++)
		if (i != NF_PROBE_KFREE_SKB)
			sum += counters->missed[i];
	return sum;
}

size_t reading_count(const struct reading *reading)
{
	return reading->rows.count;
}

const struct backend_table *reading_table(const struct reading *reading, size_t i)
{
	return &reading->rows.table[i];
}

const struct backend_drops *reading_drops(const struct reading *reading, size_t i)
{
	return &reading->rows.drops[i];
}

const struct backend_napi *reading_napi(const struct reading *reading, size_t i)
{
	return &reading->rows.napi[i].row;
}

const struct backend_slots *reading_slots(const struct reading *reading, size_t i)
{
	return &reading->rows.slots[i].row;
}

const char *reading_device_name(const struct reading *reading, size_t i)
{
	const char *name = reading->rows.device[i].name;

	return name[0] ? name : NULL;
}

void reading_device(const struct reading *reading, size_t i, struct backend_device *device)
{
	reading_rows_device(&reading->rows, i, device);
}

void reading_segment(const struct reading *reading, size_t i, enum nf_segment segment,
		     struct nf_hist *hist)
{
	reading_rows_segment(&reading->rows, i, segment, hist);
}

const struct reading_worst *reading_worst(const struct reading *reading, size_t i)
{
	return &reading->rows.device[i].worst;
}

const struct nf_hist *reading_all_devices(const struct reading *reading, enum nf_segment segment)
{
	static const struct nf_hist empty;

	return reading->rows.all ? &reading->rows.all[segment] : &empty;
}

const struct nf_hist *reading_softirq_wait(const struct reading *reading, uint32_t cpu)
{
	return cpu < reading->waits ? &reading->wait[cpu] : NULL;
}

const struct traffic_list *reading_traffic(const struct reading *reading)
{
	return &reading->traffic;
}
