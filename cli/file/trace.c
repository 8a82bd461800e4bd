/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/file/trace.h"

#include <errno.h>
#include <string.h>

#include "cli/ask/field.h"
#include "cli/show/timeline.h"
#include "common/segment_name.h"
#include "common/version.h"

/* PID_MAX_LIMIT (include/linux/threads.h).  Task numbers are below it, so other tracks use numbers from it on. */
#define NO_TASK 4194304
#define CPUS_PID NO_TASK
#define FURTHER_TID (2 * NO_TASK)

struct traced_journey {
	json_t *record;
	uint64_t begin_ns; /* since 1970 */
	uint64_t end_ns;
};

/* One line of the viewer. */
struct track {
	int64_t pid;
	int64_t tid;	  /* of the reader; or the number of the CPU */
	int64_t shown;	  /* the tid in the file: `tid`, or a unique number if `nth` is above 0 */
	unsigned int nth; /* counts the tracks of the same pid and tid, from 0 */
	uint64_t end_ns;  /* end of the last journey on the track */
	const json_t *record; /* the first record on the track, which has the names */
};

struct trace {
	struct traced_journey *journeys;
	size_t count;
	struct track *tracks;
	size_t tracks_count;
	json_t *events;
	uint64_t origin_ns;
};

int trace_new(struct trace **trace)
{
	*trace = calloc(1, sizeof(**trace));
	return *trace ? 0 : -ENOMEM;
}

void trace_free(struct trace **trace)
{
	struct trace *old = *trace;

	if (!old)
		return;
	for (size_t i = 0; i < old->count; i++)
		json_decref(old->journeys[i].record);
	free(old->journeys);
	free(old->tracks);
	json_decref(old->events);
	free(old);
	*trace = NULL;
}

size_t trace_records(const struct trace *trace)
{
	return trace->count;
}

int trace_add(struct trace *trace, const json_t *record)
{
	const json_t *stages = json_object_get(record, "stages");
	struct traced_journey *journeys, journey = {};
	size_t count = json_array_size(stages);

	if (!count || !field_epoch(json_array_get(stages, 0), "time", &journey.begin_ns))
		return -EINVAL;
	journey.end_ns =
		journey.begin_ns + field_count_or(json_array_get(stages, count - 1), "at_ns", 0);
	journeys = reallocarray(trace->journeys, trace->count + 1, sizeof(journey));
	if (!journeys)
		return -ENOMEM;
	trace->journeys = journeys;
	journey.record = json_deep_copy(record);
	if (!journey.record)
		return -ENOMEM;
	trace->journeys[trace->count++] = journey;
	return 0;
}

/* ---- tracks -------------------------------------------------------------- */

static bool has_reader(const json_t *record)
{
	return !strcmp(field_text(record, "outcome"), "delivered") &&
	       json_is_object(json_object_get(record, "task"));
}

static struct track track_for(const json_t *record)
{
	const json_t *task = json_object_get(record, "task");
	struct track track = {.pid = CPUS_PID, .record = record};

	if (has_reader(record)) {
		track.pid = (int64_t)field_count_or(task, "pid", 0);
		track.tid = (int64_t)field_count_or(task, "tid", 0);
	} else {
		track.tid = (int64_t)field_count_or(record, "cpu", 0);
	}
	return track;
}

static char *track_name(const struct track *track)
{
	const char *comm = field_text(json_object_get(track->record, "task"), "comm");
	char further[32] = "", *name = NULL;
	int len;

	if (track->nth)
		snprintf(further, sizeof(further), " (%u)", track->nth + 1);
	if (track->pid == CPUS_PID)
		len = asprintf(&name, "CPU %lld%s", (long long)track->tid, further);
	else
		len = asprintf(&name, "%s %lld%s", comm, (long long)track->tid, further);
	return len < 0 ? NULL : name;
}

static int add_event(struct trace *trace, json_t *event)
{
	return json_array_append_new(trace->events, event) ? -ENOMEM : 0;
}

/* Add a metadata event ("M") that names a process or a thread. */
static int add_name(struct trace *trace, const char *what, const struct track *track,
		    const char *name)
{
	return add_event(trace, json_pack("{s:s, s:s, s:I, s:I, s:{s:s}}", "ph", "M", "name", what,
					  "pid", (json_int_t)track->pid, "tid",
					  (json_int_t)track->shown, "args", "name", name));
}

static int name_track(struct trace *trace, const struct track *track, bool new_process)
{
	const char *comm = field_text(json_object_get(track->record, "task"), "comm");
	OWN_FREE char *name = track_name(track);
	int r;

	if (!name)
		return -ENOMEM;
	r = add_name(trace, "thread_name", track, name);
	if (!r && new_process)
		r = add_name(trace, "process_name", track, track->pid == CPUS_PID ? "CPUs" : comm);
	return r;
}

/* Find the track for a journey: the first of its reader or CPU that is free when the journey begins, or a new one. */
static int find_track(struct trace *trace, const struct traced_journey *journey, size_t *number)
{
	struct track new = track_for(journey->record), *tracks;
	bool new_process = true;

	for (size_t i = 0; i < trace->tracks_count; i++) {
		const struct track *track = &trace->tracks[i];

		new_process &= track->pid != new.pid;
		if (track->pid != new.pid || track->tid != new.tid)
			continue;
		if (track->end_ns <= journey->begin_ns) {
			*number = i;
			return 0;
		}
		new.nth++;
	}
	tracks = reallocarray(trace->tracks, trace->tracks_count + 1, sizeof(new));
	if (!tracks)
		return -ENOMEM;
	trace->tracks = tracks;
	new.shown = new.nth ? FURTHER_TID + (int64_t)trace->tracks_count : new.tid;
	*number = trace->tracks_count;
	trace->tracks[trace->tracks_count++] = new;
	return name_track(trace, &new, new_process);
}

/* ---- events -------------------------------------------------------------- */

static double microseconds(uint64_t ns)
{
	return (double)ns / 1000;
}

static json_t *arguments_of(const json_t *record)
{
	OWN_FREE char *devices = timeline_devices(record);
	json_t *args = json_pack("{s:s, s:s*, s:s, s:I, s:b, s:b, s:I}", "flow",
				 field_text_or(record, "flow", field_text(record, "protocol")),
				 "device", devices, "outcome", field_text(record, "outcome"),
				 "total_ns", (json_int_t)field_count_or(record, "total_ns", 0),
				 "slow", field_true(record, "slow"), "comparable",
				 field_true(record, "comparable"), "cpu",
				 (json_int_t)field_count_or(record, "cpu", 0));
	const json_t *task = json_object_get(record, "task");

	if (args && json_is_object(task))
		json_object_set_new(args, "task",
				    json_sprintf("%s[%s]", field_text(task, "comm"),
						 field_units_number(task, "pid").s));
	return args;
}

static int add_segments(struct trace *trace, const struct traced_journey *journey,
			const struct track *track)
{
	const json_t *stages = json_object_get(journey->record, "stages");
	json_t *args = arguments_of(journey->record);
	int r = args ? 0 : -ENOMEM;

	for (size_t i = 1; !r && i < json_array_size(stages); i++) {
		const json_t *from = json_array_get(stages, i - 1), *to = json_array_get(stages, i);
		uint64_t at = field_count_or(from, "at_ns", 0);
		uint64_t duration = field_count_or(to, "at_ns", at) - at;
		json_t *slice =
			json_pack("{s:s, s:o, s:s, s:f, s:f, s:I, s:I, s:O}", "ph", "X", "name",
				  json_string(segment_name_join(field_text(from, "stage"),
								field_text(to, "stage"))
						      .s),
				  "cat", timeline_direction(journey->record), "ts",
				  microseconds(journey->begin_ns - trace->origin_ns + at), "dur",
				  microseconds(duration), "pid", (json_int_t)track->pid, "tid",
				  (json_int_t)track->shown, "args", args);

		r = slice ? add_event(trace, slice) : -ENOMEM;
	}
	json_decref(args);
	return r;
}

static int by_begin(const void *one, const void *other)
{
	const struct traced_journey *a = one, *b = other;

	return a->begin_ns < b->begin_ns ? -1 : a->begin_ns > b->begin_ns;
}

static int add_paths(struct trace *trace)
{
	for (size_t i = 0; i < trace->count; i++) {
		const struct traced_journey *journey = &trace->journeys[i];
		size_t number;
		int r = find_track(trace, journey, &number);

		if (!r)
			r = add_segments(trace, journey, &trace->tracks[number]);
		if (r)
			return r;
		trace->tracks[number].end_ns = journey->end_ns;
	}
	return 0;
}

int trace_json(struct trace *trace, json_t **json)
{
	const json_t *first = NULL;
	int r;

	if (trace->count) {
		qsort(trace->journeys, trace->count, sizeof(*trace->journeys), by_begin);
		trace->origin_ns = trace->journeys[0].begin_ns;
		first = json_array_get(json_object_get(trace->journeys[0].record, "stages"), 0);
	}
	json_decref(trace->events);
	trace->tracks_count = 0;
	trace->events = json_array();
	r = trace->events ? add_paths(trace) : -ENOMEM;
	if (r)
		return r;
	/* Without highres-ticks, chrome://tracing warns that the times are coarse. */
	*json = json_pack("{s:O, s:s, s:{s:b}, s:{s:s, s:s*}}", "traceEvents", trace->events,
			  "displayTimeUnit", "ns", "metadata", "highres-ticks", true, "otherData",
			  "source", "netflowctl " NETFLOWD_VERSION, "origin",
			  field_text_or(first, "time", NULL));
	return *json ? 0 : -ENOMEM;
}
