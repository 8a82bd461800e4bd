/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/live/reading.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "cli/ask/field.h"
#include "cli/ask/session.h"
#include "cli/live/rate.h"
#include "cli/show/segment.h"

#define NS_PER_S 1e9

static const char *const packet_members[READING_PACKETS_COUNT] = {
	[READING_RECEIVED] = "received",       [READING_DELIVERED] = "delivered",
	[READING_TRANSMITTED] = "transmitted", [READING_DROPPED] = "dropped",
	[READING_FAULTS] = "faults",
};

/* The members of io.netflowd's Latency. */
static const struct {
	const char *direction;
	const char *name;
} segment_names[READING_SEGMENTS_COUNT] = {
	[READING_IRQ_TO_SOFTIRQ] = {"rx", "irq_to_softirq"},
	[READING_RAISE_TO_SOFTIRQ] = {"rx", "raise_to_softirq"},
	[READING_SOFTIRQ_TO_RECEIVE] = {"rx", "softirq_to_receive"},
	[READING_GAP_WAIT] = {"rx", "gap_wait"},
	[READING_RECEIVE_TO_SOCK_QUEUE] = {"rx", "receive_to_sock_queue"},
	[READING_WAKEUP_TO_RUN] = {"rx", "wakeup_to_run"},
	[READING_RUN_TO_COPY] = {"rx", "run_to_copy"},
	[READING_RECEIVE_TO_COPY] = {"rx", "receive_to_copy"},
	[READING_RX_TOTAL] = {"rx", "rx_total"},
	[READING_RECEIVE_TO_QUEUE] = {"fwd", "receive_to_queue"},
	[READING_FORWARD_TOTAL] = {"fwd", "forward_total"},
	[READING_QUEUE_TO_START] = {"tx", "queue_to_start_xmit"},
	[READING_START_TO_XMIT] = {"tx", "start_xmit_to_xmit"},
	[READING_XMIT_TO_FREE] = {"tx", "xmit_to_free"},
	[READING_TX_TOTAL] = {"tx", "tx_total"},
};

const char *reading_direction(enum reading_segment_id id)
{
	return segment_names[id].direction;
}

const char *reading_segment_name(enum reading_segment_id id)
{
	return segment_names[id].name;
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static double seconds_between(int64_t before_ns, int64_t ns)
{
	return (double)(ns - before_ns) / NS_PER_S;
}

/* ---- packets ------------------------------------------------------------- */

static int64_t uptime_ns(const json_t *status)
{
	return (int64_t)field_count_or(json_object_get(status, "daemon"), "uptime_ns", 0);
}

/* What was counted between two readings; false: it is not known. */
static bool growth(const json_t *now, const json_t *before, const char *name, uint64_t *more)
{
	uint64_t count, old;

	if (!field_count(now, name, &count) || !field_count(before, name, &old) || count < old)
		return false;
	*more = count - old;
	return true;
}

/*
 * The kernel's own counts, where the probes saw a part.  What was received is exact; of what was sent, both are parts,
 * because the counters of some devices cannot be read.
 */
static void compare_counted(struct live_reading *reading, const struct live_reading *before,
			    double seconds)
{
	const json_t *now = json_object_get(json_object_get(reading->status, "packets"), "counted");
	const json_t *old = json_object_get(json_object_get(before->status, "packets"), "counted");
	double *transmitted = &reading->packets_per_second[READING_TRANSMITTED];
	uint64_t received, unseen, sent, elapsed_ns;

	if (growth(now, old, "received", &received) && growth(now, old, "unseen", &unseen)) {
		reading->packets_per_second[READING_RECEIVED] = rate_between(0, received, seconds);
		reading->unseen_percent = received ? 100 * (double)unseen / (double)received : 0;
		reading->whole &= !unseen;
	}
	if (!reading->whole && growth(now, old, "sent", &sent) &&
	    growth(now, old, "sent_elapsed_ns", &elapsed_ns))
		*transmitted =
			fmax(*transmitted, rate_between(0, sent, (double)elapsed_ns / NS_PER_S));
}

/* Whether all packets were followed, and to their end. */
static bool was_whole(const struct live_reading *reading, const struct live_reading *before)
{
	uint64_t passed = 0, overwritten = 0;

	growth(json_object_get(reading->status, "latency"),
	       json_object_get(before->status, "latency"), "passed", &passed);
	growth(json_object_get(reading->status, "inflight"),
	       json_object_get(before->status, "inflight"), "overwritten", &overwritten);
	return !passed && !overwritten;
}

static void compare_packets(struct live_reading *reading, const struct live_reading *before)
{
	const json_t *packets = json_object_get(reading->status, "packets");

	reading->unseen_percent = -1;
	reading->whole = !before || was_whole(reading, before);
	for (size_t i = 0; i < READING_PACKETS_COUNT; i++) {
		uint64_t now, old;

		reading->packets_per_second[i] = RATE_UNKNOWN;
		if (before && field_count(packets, packet_members[i], &now) &&
		    field_count(json_object_get(before->status, "packets"), packet_members[i],
				&old))
			reading->packets_per_second[i] =
				rate_between(old, now,
					     seconds_between(uptime_ns(before->status),
							     uptime_ns(reading->status)));
	}
	if (before)
		compare_counted(
			reading, before,
			seconds_between(uptime_ns(before->status), uptime_ns(reading->status)));
}

/* The count of the followed journeys is no rate of packets; the latency of all devices estimates that. */
static void estimate_delivered(struct live_reading *reading, const struct reading_scope *scope)
{
	if (!reading->whole)
		reading->packets_per_second[READING_DELIVERED] =
			scope->device ? RATE_UNKNOWN
				      : reading->segments[READING_RX_TOTAL].per_second;
}

static int read_status(struct live_reading *reading, const struct live_reading *before,
		       reading_ask ask, void *data, const struct reading_scope *scope)
{
	json_t *measure = scope->measure_ms ? session_number(scope->measure_ms) : NULL;
	int r = ask(data, "io.netflowd.GetStatus",
		    session_parameters("max_age_ms", session_number(scope->max_age_ms),
				       "measure_ms", measure, NULL),
		    scope->measure_ms, &reading->status);

	if (r)
		return r;
	compare_packets(reading, before);
	return 0;
}

/* ---- drops --------------------------------------------------------------- */

static json_t *device_parameter(const struct reading_scope *scope)
{
	return session_parameters("device", session_text(scope->device), "max_age_ms",
				  session_number(scope->max_age_ms), NULL);
}

/* When the daemon read the counters: several views share its readings, so the reply can be later. */
static int64_t read_at_ns(const json_t *reply)
{
	return (int64_t)field_count_or(reply, "elapsed_ns", (uint64_t)now_ns());
}

static int read_drops(struct live_reading *reading, const struct live_reading *before,
		      reading_ask ask, void *data, const struct reading_scope *scope)
{
	OWN_JSON json_t *reply = NULL;
	int r = ask(data, "io.netflowd.GetDrops",
		    session_parameters("by", session_text(DROP_RATES_BY), "device",
				       session_text(scope->device), "max_age_ms",
				       session_number(scope->max_age_ms), NULL),
		    0, &reply);

	if (r)
		return r;
	reading->drops_ns = read_at_ns(reply);
	if (!before)
		return drop_rates_read(&reading->drops, reply, NULL, 0);
	return drop_rates_read(&reading->drops, reply, &before->drops,
			       seconds_between(before->drops_ns, reading->drops_ns));
}

/* ---- latency ------------------------------------------------------------- */

static struct reading_segment *find_segment(struct live_reading *reading, const json_t *latency)
{
	const char *direction = field_text(latency, "direction");
	const char *name = field_text(latency, "segment");

	for (size_t i = 0; i < READING_SEGMENTS_COUNT; i++)
		if (!strcmp(segment_names[i].direction, direction) &&
		    !strcmp(segment_names[i].name, name))
			return &reading->segments[i];
	return NULL;
}

static uint64_t unfollowed_of(const json_t *latency)
{
	uint64_t count = field_count_or(latency, "count", 0), followed;

	return field_count(latency, "followed", &followed) && count > followed ? count - followed
									       : 0;
}

static int add_latency(struct live_reading *reading, const json_t *latency)
{
	struct reading_segment *segment = find_segment(reading, latency);
	uint64_t max_ns = field_count_or(latency, "max_ns", 0);

	if (!segment)
		return 0;
	if (max_ns > segment->max_ns)
		segment->max_ns = max_ns;
	segment->unfollowed += unfollowed_of(latency);
	return segment_buckets(latency, &segment->all);
}

static int compare_segment(struct reading_segment *segment, const struct reading_segment *before,
			   double seconds)
{
	int r = buckets_subtract(&segment->interval, &segment->all, &before->all);

	if (r)
		return r;
	segment->estimate = segment->unfollowed != before->unfollowed;
	segment->per_second = rate_between(0, segment->interval.total, seconds);
	/* If the maximum grew, a packet of this interval set it, so it is exact. */
	segment->interval_max_ns = segment->max_ns > before->max_ns
					   ? segment->max_ns
					   : buckets_bound(&segment->interval, segment->max_ns);
	return 0;
}

static int read_latency(struct live_reading *reading, const struct live_reading *before,
			reading_ask ask, void *data, const struct reading_scope *scope)
{
	OWN_JSON json_t *reply = NULL;
	const json_t *latency;
	size_t i;
	/* Only the segments of all selected devices together are used, not the rows. */
	json_t *parameters = device_parameter(scope);
	int r = json_object_set_new(parameters, "limit", json_integer(1)) ? -ENOMEM : 0;

	if (r) {
		json_decref(parameters);
		return r;
	}
	r = ask(data, "io.netflowd.GetLatency", parameters, 0, &reply);

	if (r)
		return r;
	reading->latency_ns = read_at_ns(reply);
	json_array_foreach(json_object_get(reply, "segments"), i, latency)
	{
		r = add_latency(reading, latency);
		if (r)
			return r;
	}
	for (i = 0; i < READING_SEGMENTS_COUNT; i++) {
		reading->segments[i].per_second = RATE_UNKNOWN;
		if (!before)
			continue;
		r = compare_segment(&reading->segments[i], &before->segments[i],
				    seconds_between(before->latency_ns, reading->latency_ns));
		if (r)
			return r;
	}
	return 0;
}

/* ---- napi ---------------------------------------------------------------- */

static int read_polls(struct live_reading *reading, const struct live_reading *before,
		      reading_ask ask, void *data, const struct reading_scope *scope)
{
	json_t *reply = NULL;
	int r = ask(data, "io.netflowd.GetNapi",
		    session_parameters("max_age_ms", session_number(scope->max_age_ms), NULL), 0,
		    &reply);

	if (r)
		return r;
	reading->polls_ns = read_at_ns(reply);
	if (!before)
		return polls_read(&reading->polls, reply, scope->device, NULL, 0);
	return polls_read(&reading->polls, reply, scope->device, &before->polls,
			  seconds_between(before->polls_ns, reading->polls_ns));
}

/* ---- the whole reading ---------------------------------------------------- */

int reading_new(struct live_reading **reading, const struct live_reading *before, reading_ask ask,
		void *data, const struct reading_scope *scope)
{
	OWN_READING struct live_reading *new = calloc(1, sizeof(*new));
	int r;

	if (!new)
		return -ENOMEM;
	r = read_status(new, before, ask, data, scope);
	if (!r)
		r = read_drops(new, before, ask, data, scope);
	if (!r)
		r = read_latency(new, before, ask, data, scope);
	if (!r)
		estimate_delivered(new, scope);
	if (!r)
		r = read_polls(new, before, ask, data, scope);
	if (r)
		return r;
	*reading = TAKE_PTR(new);
	return 0;
}

void reading_free(struct live_reading **reading)
{
	struct live_reading *old = *reading;

	if (!old)
		return;
	json_decref(old->status);
	drop_rates_free(&old->drops);
	for (size_t i = 0; i < READING_SEGMENTS_COUNT; i++) {
		buckets_free(&old->segments[i].all);
		buckets_free(&old->segments[i].interval);
	}
	polls_free(&old->polls);
	free(old);
	*reading = NULL;
}
