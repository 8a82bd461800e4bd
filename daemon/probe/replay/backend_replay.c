/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The backend on a recording.  It reads the whole file when it is opened; from then on nothing changes. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "daemon/correlator/correlator.h"
#include "daemon/probe/events/backend_events.h"
#include "daemon/probe/events/decode.h"
#include "daemon/probe/events/tracepoints.h"
#include "daemon/probe/replay/recording.h"

/* netflowctl record writes it into the trace. */
#define OFFSET_MARKER "netflowd: CLOCK_REALTIME - CLOCK_MONOTONIC = "
#define LOST_MARKER "netflowd: lost "
/* Each line that netflowd itself writes into a recording begins with this. */
#define OWN_MARKER "netflowd: "

/* A later time than this is one since 1970, in 2001 or later, and no host has run for that long. */
#define SINCE_1970_NS UINT64_C(1000000000000000000)

struct backend_replay {
	struct backend_events events; /* first */
	struct recording *recording;
	bool realtime_known;
	int64_t realtime_ns;
	uint64_t lost;	/* events, as the recording says itself; 0: none, or it does not say */
	uint64_t marks; /* netflowd's own lines: events like the others to those who count them */
};

/* The number behind `words` at the beginning of a text that is not always ended by NUL. */
static bool number_behind(const char *words, const char *text, size_t len, int64_t *number)
{
	size_t skip = strlen(words);
	char digits[24] = {0}, *end;

	if (len <= skip || memcmp(text, words, skip) != 0)
		return false;
	len -= skip;
	memcpy(digits, text + skip, len < sizeof(digits) ? len : sizeof(digits) - 1);
	errno = 0;
	*number = strtoll(digits, &end, 10);
	return !errno && end != digits;
}

/* What follows `words` in the line; -ENOMEM. */
static int take_excluded(struct backend_replay *replay, const char *text, size_t len)
{
	static const char words[] = TRACEPOINTS_EXCLUDED;
	char names[EXCLUSION_TEXT_MAX];
	size_t skip = sizeof(words) - 1;

	if (len <= skip || memcmp(text, words, skip) != 0)
		return 0;
	snprintf(names, sizeof(names), "%.*s", (int)(len - skip), text + skip);
	names[strcspn(names, "\n")] = 0;
	for (char *c = names; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	return backend_events_exclude(&replay->events, "--exclude", names);
}

static int take_marker(struct backend_replay *replay, const char *text, size_t len)
{
	int64_t lost;

	if (len >= sizeof(OWN_MARKER) - 1 && !memcmp(text, OWN_MARKER, sizeof(OWN_MARKER) - 1))
		replay->marks++;
	if (number_behind(OFFSET_MARKER, text, len, &replay->realtime_ns))
		replay->realtime_known = true;
	/* It includes the events that the pages say were lost. */
	if (number_behind(LOST_MARKER, text, len, &lost) && lost > 0)
		replay->lost = (uint64_t)lost;
	return take_excluded(replay, text, len);
}

static int take_record(void *userdata, uint32_t cpu, uint64_t time_ns, const void *data,
		       size_t size)
{
	struct backend_replay *replay = userdata;
	const char *text;
	size_t len;

	if (!size) {
		replay->events.unreadable++;
		return 0;
	}
	/* A record that is too short is counted. */
	(void)backend_events_take(&replay->events, data, size, cpu, time_ns);
	len = decoder_marker(replay->events.decoder, data, size, &text);
	return len ? take_marker(replay, text, len) : 0;
}

static void take_loss(void *userdata, uint32_t cpu, uint64_t events)
{
	struct backend_replay *replay = userdata;

	backend_events_lost(&replay->events, cpu, events);
}

static void take_damage(void *userdata, uint64_t pages)
{
	struct backend_replay *replay = userdata;

	replay->events.unreadable += pages;
}

static int read_all(struct backend_replay *replay)
{
	const struct recording_visitor visitor = {
		.record = take_record,
		.lost = take_loss,
		.damaged = take_damage,
		.userdata = replay,
	};
	const struct correlator_totals *totals = correlator_totals(replay->events.correlator);
	int r = recording_read(replay->recording, &visitor);

	correlator_settle(replay->events.correlator);
	if (!replay->realtime_known)
		replay->realtime_known = totals->first_ns > SINCE_1970_NS;
	return r;
}

static void replay_close(struct backend *backend)
{
	struct backend_replay *replay = (struct backend_replay *)backend;

	backend_events_close(&replay->events);
	recording_free(&replay->recording);
	free(replay);
}

static void cleanup_replay(struct backend_replay **replay)
{
	if (*replay)
		replay_close(&(*replay)->events.backend);
}

#define OWN_REPLAY CLEANUP(cleanup_replay)

/* Whether the file has any event of the probes: otherwise all answers would be "nothing". */
static bool has_any(const struct backend_replay *replay)
{
	for (int i = 0; i < NF_PROBE_COUNT; i++)
		if (!decoder_probe(replay->events.decoder, (enum nf_probe)i)->reason[0])
			return true;
	return false;
}

static int replay_open(struct backend **backend, const struct backend_settings *settings,
		       const struct backend_sink *sink, struct names *names, char *reason)
{
	OWN_REPLAY struct backend_replay *replay = calloc(1, sizeof(*replay));
	char damage[RECORDING_ERROR_MAX];
	int r;

	if (!replay)
		return -ENOMEM;
	replay->events.backend.ops = &backend_replay;
	r = recording_open(&replay->recording, settings->replay, damage);
	if (r < 0) {
		snprintf(reason, BACKEND_REASON_MAX, "%s", damage);
		return r;
	}
	if (damage[0])
		log_warning("%s: %s", settings->replay, damage);
	r = backend_events_open(&replay->events, settings, sink,
				recording_formats(replay->recording),
				recording_cpus(replay->recording), names);
	if (r < 0)
		return r;
	if (!has_any(replay)) {
		snprintf(
			reason, BACKEND_REASON_MAX,
			"%.200s has no event of the packet path; make a recording with netflowctl record",
			settings->replay);
		return -ENODATA;
	}
	r = read_all(replay);
	if (r < 0) {
		snprintf(reason, BACKEND_REASON_MAX, "cannot read %.200s: %s", settings->replay,
			 strerror(-r));
		return r;
	}
	snprintf(reason, BACKEND_REASON_MAX, "the recording %.200s%s%.240s", settings->replay,
		 damage[0] ? ": " : "", damage);
	*backend = &TAKE_PTR(replay)->events.backend;
	return 0;
}

static bool replay_trace(const struct backend *backend, struct backend_trace *trace)
{
	const struct backend_replay *replay = (const struct backend_replay *)backend;

	events_trace(backend, trace);
	trace->events += replay->marks;
	if (replay->lost > trace->lost)
		trace->lost = replay->lost;
	if (replay->lost && !trace->losses)
		trace->losses = 1;
	return true;
}

static bool replay_recording(const struct backend *backend, struct backend_recording *recording)
{
	const struct backend_replay *replay = (const struct backend_replay *)backend;
	const struct correlator_totals *totals = correlator_totals(replay->events.correlator);

	*recording = (struct backend_recording){
		.first_ns = totals->first_ns,
		.last_ns = totals->last_ns,
		.realtime_known = replay->realtime_known,
		.realtime_ns = replay->realtime_ns,
		.symbols = replay->events.tep,
	};
	return true;
}

const struct backend_ops backend_replay = {
	.name = "replay",
	.open = replay_open,
	.close = replay_close,
	.fd = absent_fd,
	.dispatch = absent_dispatch,
	.probe = events_probe,
	.trace = replay_trace,
	.set_level = absent_set_level,
	.recording = replay_recording,
	BACKEND_EVENTS_OPS,
};
