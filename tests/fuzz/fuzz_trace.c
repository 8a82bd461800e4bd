/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzes what netflowd itself does with the records of a trace: the decoder of fields and the correlator.  Whatever the
 * records say, each journey that began has ended or is in flight, each drop is counted, and nothing is read outside of
 * a record.
 *
 * The input is a sequence of records, each behind a header of 6 bytes: CPU, whether events were lost before it, the
 * time since the one before in units of 16 ns, and its size.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <traceevent/event-parse.h>

#include "daemon/correlator/correlator.h"
#include "daemon/probe/events/decode.h"
#include "tests/fuzz/formats.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CPUS 4
#define HEADER 6

static struct decoder *decoder(void)
{
	static struct decoder *kept;
	struct tep_handle *tep;

	if (kept)
		return kept;
	tep = tep_alloc();
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		assert(tep_parse_event(tep, formats[i].text, strlen(formats[i].text),
				       formats[i].system) == 0);
	assert(decoder_new(&kept, tep) == 0);
	return kept;
}

static void take_drop(void *userdata, const struct nf_drop_record *record)
{
	(void)userdata;
	assert(memchr(record->device, 0, sizeof(record->device)));
}

static void take_journey(void *userdata, const struct nf_journey_record *record)
{
	(void)userdata;
	assert(record->devices <= NF_JOURNEY_DEVICES && record->outcome <= NF_OUTCOME_FORWARDED);
}

static void take_slots(void *userdata, const struct nf_slots_record *record)
{
	(void)userdata;
	assert(memchr(record->device, 0, sizeof(record->device)));
	assert(record->frags <= NF_FRAGS_MAX && record->outcome < NF_SLOTS_OUTCOMES);
}

static struct correlator *open_correlator(void)
{
	static const struct correlator_sink sink = {
		.drop = take_drop, .journey = take_journey, .slots = take_slots};
	struct correlator_settings settings = {
		.cpus = CPUS,
		.inflight_entries = 8,
		.reader_entries = 4,
		.devices = 2,
		.drop_keys = 2,
		.drop_rate = 1000,
		.drop_burst = 1,
		.journey_rate = 1000,
		.journey_burst = 1,
		.slots_limit = 18,
		.slots_rate = 1000,
		.slots_burst = 1,
		.sample_one_in = 1,
		.has_reason = decoder_has_reason(decoder()),
		.not_specified = 2,
	};
	struct correlator *correlator = NULL;

	for (int i = 0; i < NF_PROBE_COUNT; i++)
		settings.has[i] = !decoder_probe(decoder(), (enum nf_probe)i)->reason[0];
	assert(correlator_new(&correlator, &settings, &sink) == 0);
	return correlator;
}

static uint64_t sum(const struct correlator_totals *totals, enum nf_event event)
{
	uint64_t all = 0;

	for (int i = 0; i < NF_PROBE_COUNT; i++)
		all += totals->events[i][event];
	return all;
}

/* Each transmit is counted, and each chosen one has ended or is open on a CPU. */
static void check_slots(const struct correlator *correlator)
{
	const uint64_t *slots = correlator_totals(correlator)->slots;
	uint64_t transmits = 0, ended = slots[NF_SLOTS_RECORDED] + slots[NF_SLOTS_THROTTLED] +
					slots[NF_SLOTS_UNENDED];

	for (uint32_t i = 0; i < correlator_devices(correlator); i++) {
		const struct nf_slots_count *count = correlator_device(correlator, i)->slots;

		for (int j = 0; count && j < NF_SLOTS_BUCKETS; j++)
			transmits += count->slots[j];
	}
	assert(slots[NF_SLOTS_HIT] == transmits);
	assert(slots[NF_SLOTS_HIT] == slots[NF_SLOTS_COUNTED] + slots[NF_SLOTS_UNKEYED]);
	assert(slots[NF_SLOTS_CHOSEN] >= ended &&
	       slots[NF_SLOTS_CHOSEN] - ended <= CPUS * NF_SLOTS_DEPTH);
}

static void check(const struct correlator *correlator)
{
	const struct correlator_totals *totals = correlator_totals(correlator);
	uint64_t older, younger, packets = 0;

	correlator_in_flight(correlator, 0, &older, &younger);
	assert(sum(totals, NF_EVENT_BEGUN) ==
	       sum(totals, NF_EVENT_DELIVERED) + sum(totals, NF_EVENT_CONSUMED) +
		       sum(totals, NF_EVENT_TRANSMITTED) + sum(totals, NF_EVENT_FORWARDED) +
		       sum(totals, NF_EVENT_DROPPED) + sum(totals, NF_EVENT_OVERWRITTEN) +
		       sum(totals, NF_EVENT_INVALIDATED) + older + younger);
	for (uint32_t i = 0; correlator_drops(correlator, i); i++)
		packets += correlator_drops(correlator, i)->packets;
	assert(packets == sum(totals, NF_EVENT_COUNTED) + sum(totals, NF_EVENT_UNKEYED));
	assert(correlator_devices(correlator) <= 3);
	check_slots(correlator);
}

/* Take one record; returns the bytes of it and its header, 0: there is no whole one. */
static size_t take(struct correlator *correlator, const uint8_t *data, size_t size,
		   uint64_t *time_ns)
{
	size_t length = size < HEADER ? 0 : data[4] | (size_t)data[5] << 8;
	struct event event;
	uint8_t *record;

	if (size < HEADER || length > size - HEADER)
		return 0;
	/* A copy of exactly its size shows reads behind its end. */
	record = malloc(length ? length : 1);
	assert(record);
	memcpy(record, data + HEADER, length);
	*time_ns += (uint64_t)(data[2] | data[3] << 8) * 16;
	if (data[1] & 1)
		correlator_lost(correlator, data[0] % (CPUS + 1), data[1]);
	if (decoder_read(decoder(), record, length, &event) == 1) {
		event.cpu = data[0] % (CPUS + 1);
		event.time_ns = *time_ns;
		correlator_event(correlator, &event);
	}
	free(record);
	return HEADER + length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct correlator *correlator = open_correlator();
	uint64_t time_ns = 1000000000;
	size_t used;

	while ((used = take(correlator, data, size, &time_ns))) {
		data += used;
		size -= used;
	}
	correlator_settle(correlator);
	check(correlator);
	correlator_free(&correlator);
	return 0;
}
