/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Monitor: records as they happen, to each client that asked. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/nearest.h"
#include "daemon/control/filter.h"
#include "daemon/control/internal.h"
#include "daemon/json/json.h"
#include "daemon/probe/backend.h"

/* The kinds of records; their names are also the members of a reply that carry one. */
enum kind { DROP, LATENCY, SLOTS, KINDS };

static const struct {
	const char *name, *member;
} kinds[KINDS] = {
	[DROP] = {"drops", "drop"},
	[LATENCY] = {"latency", "latency"},
	[SLOTS] = {"slots", "slots"},
};

struct stream {
	struct stream *next, **link;
	struct control *control;
	struct call *call;
	struct filter filter;
	unsigned int kinds; /* 1 << enum kind */
	bool stack;
	uint64_t gap; /* records lost since the last reply */
};

/* Stacks are taken while at least one stream asks for them. */
static void set_stack(const struct control *control)
{
	struct backend *backend = control->parts.backend;
	bool wanted = false;

	for (const struct stream *stream = control->streams; stream; stream = stream->next)
		wanted |= stream->stack;
	backend->ops->set_stack(backend, wanted);
}

static void stream_free(struct stream *stream)
{
	const struct control *control = stream->control;

	*stream->link = stream->next;
	if (stream->next)
		stream->next->link = stream->link;
	filter_clear(&stream->filter);
	free(stream);
	set_stack(control);
}

static void stream_closed(void *userdata)
{
	stream_free(userdata);
}

void monitor_stop(struct control *control)
{
	while (control->streams)
		stream_free(control->streams);
}

/* ---- sending ------------------------------------------------------------- */

/* The record goes to this client or, when it reads too slowly, into its gap. */
static void stream_send(struct stream *stream, enum kind kind, json_t *record)
{
	json_t *gap = stream->gap ? json_integer((json_int_t)stream->gap) : NULL;
	json_t *reply = json_pack("{s:O*, s:o*}", kinds[kind].member, record, "gap", gap);

	if (reply && call_stream(stream->call, reply) == 0)
		stream->gap = 0;
	else
		stream->gap++;
}

void monitor_drop(struct control *control, const struct nf_drop_record *record)
{
	struct stream *next;
	json_t *json = NULL;

	/* A stream whose client turns out to be gone frees itself while it is sent to. */
	for (struct stream *stream = control->streams; stream; stream = next) {
		next = stream->next;
		if (!(stream->kinds & 1U << DROP) || !filter_takes_drop(&stream->filter, record))
			continue;
		if (!json)
			json = json_drop_record(record, control->parts.names,
						control->parts.symbols);
		stream_send(stream, DROP, json);
	}
	json_decref(json);
}

void monitor_path(struct control *control, const struct nf_path_record *record)
{
	struct stream *next;
	json_t *json = NULL;
	struct path path;

	if (!control->streams || path_read(&path, record, &control->probes) < 0)
		return;
	for (struct stream *stream = control->streams; stream; stream = next) {
		next = stream->next;
		if (!(stream->kinds & 1U << LATENCY) ||
		    !filter_takes_path(&stream->filter, record, &path))
			continue;
		if (!json)
			json = json_latency_record(record, &path, control->attribution);
		stream_send(stream, LATENCY, json);
	}
	json_decref(json);
}

void monitor_slots(struct control *control, const struct nf_slots_record *record)
{
	struct stream *next;
	json_t *json = NULL;

	for (struct stream *stream = control->streams; stream; stream = next) {
		next = stream->next;
		if (!(stream->kinds & 1U << SLOTS) || !filter_takes_slots(&stream->filter, record))
			continue;
		if (!json)
			json = json_slots_record(record);
		stream_send(stream, SLOTS, json);
	}
	json_decref(json);
}

/* ---- the method ---------------------------------------------------------- */

static int read_kind(struct call *call, const char *name, unsigned int *wanted)
{
	struct nearest nearest;

	nearest_init(&nearest, name);
	for (unsigned int i = 0; i < KINDS; i++) {
		if (!strcmp(kinds[i].name, name)) {
			*wanted |= 1U << i;
			return 0;
		}
		nearest_consider(&nearest, kinds[i].name);
	}
	call_error(call, "io.netflowd.UnknownField",
		   json_pack("{s:s, s:s*}", "field", name, "nearest", nearest.best));
	return -EINVAL;
}

/* Drops where nothing is said; -EINVAL after the call has ended. */
static int read_kinds(struct call *call, json_t *parameters, unsigned int *wanted)
{
	const json_t *names = json_object_get(parameters, "records"), *name;
	unsigned int read = 0;
	size_t i;

	json_array_foreach(names, i, name)
	{
		if (!json_is_string(name)) {
			call_invalid_parameter(call, "records");
			return -EINVAL;
		}
		if (read_kind(call, json_string_value(name), &read) < 0)
			return -EINVAL;
	}
	if (names && !read) {
		call_invalid_parameter(call, "records");
		return -EINVAL;
	}
	*wanted = names ? read : 1U << DROP;
	return 0;
}

/* Takes the filter over. */
static int stream_new(struct control *control, struct call *call, struct filter *filter,
		      unsigned int wanted, bool stack)
{
	struct stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return -ENOMEM;
	stream->control = control;
	stream->call = call;
	stream->filter = *filter;
	*filter = (struct filter){0};
	stream->kinds = wanted;
	stream->stack = stack;
	stream->link = &control->streams;
	stream->next = control->streams;
	if (stream->next)
		stream->next->link = &stream->next;
	control->streams = stream;
	call_on_close(call, stream_closed, stream);
	set_stack(control);
	return 0;
}

int method_monitor(struct call *call, json_t *parameters, void *userdata)
{
	static const struct parameter table[] = {
		{"records", PARAMETER_ARRAY, true},  {"reason", PARAMETER_STRING, true},
		{"device", PARAMETER_STRING, true},  {"netns", PARAMETER_STRING, true},
		{"filter", PARAMETER_STRING, true},  {"over_ns", PARAMETER_INT, true},
		{"segment", PARAMETER_STRING, true}, {"slow", PARAMETER_BOOL, true},
		{"stack", PARAMETER_BOOL, true},     {NULL, 0, 0},
	};
	struct control *control = userdata;
	OWN_FILTER struct filter filter = {0};
	unsigned int wanted;
	int r;

	if (call_check_parameters(call, parameters, table) < 0)
		return -EINVAL;
	if (control_no_data(control, call))
		return 0;
	if (read_kinds(call, parameters, &wanted) < 0)
		return -EINVAL;
	r = filter_read(&filter, control, call, parameters);
	if (r == 0)
		r = stream_new(control, call, &filter, wanted,
			       json_is_true(json_object_get(parameters, "stack")));
	if (r < 0)
		return r;
	/* Tells the client that from here on it misses nothing unsaid. */
	call_stream(call, json_object());
	return 0;
}
