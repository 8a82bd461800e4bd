/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Monitor: sends records, as they happen, to each client that asked for them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/control/internal.h"
#include "daemon/json/json.h"
#include "daemon/probe/backend.h"
#include "daemon/sources/filter.h"
#include "daemon/sources/words.h"

/* The names that clients use for the kinds of records, and the member of a reply that contains one. */
static const struct {
	const char *name, *member;
} kinds[RECORDS_KINDS] = {
	[RECORDS_DROPS] = {"drops", "drop"},
	[RECORDS_LATENCY] = {"latency", "latency"},
	[RECORDS_SLOTS] = {"slots", "slots"},
};

struct stream {
	struct stream *next, **link;
	struct control *control;
	struct call *call;
	struct filter filter;
	unsigned int kinds; /* 1 << enum record_kind */
	bool stack;
	uint64_t gap; /* records lost since the last reply */
};

/* The backend captures stacks while at least one stream asks for them. */
static void set_stack(const struct control *control)
{
	struct backend *backend = control->sources->backend;
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

/* Send the record to this client.  If the client reads too slowly, count the record in its gap. */
static void stream_send(struct stream *stream, enum record_kind kind, json_t *record)
{
	json_t *gap = stream->gap ? json_integer((json_int_t)stream->gap) : NULL;
	json_t *reply = json_pack("{s:O*, s:o*}", kinds[kind].member, record, "gap", gap);

	if (reply && call_stream(stream->call, reply) == 0)
		stream->gap = 0;
	else
		stream->gap++;
}

void monitor_record(struct control *control, enum record_kind kind)
{
	struct record record;
	struct stream *next;
	json_t *json = NULL;

	if (!control->streams || records_get(control->sources->records, kind, 0, &record) < 0)
		return;
	/* A stream whose client turns out to be gone frees itself during the send. */
	for (struct stream *stream = control->streams; stream; stream = next) {
		next = stream->next;
		if (!(stream->kinds & 1U << kind) || !filter_takes_record(&stream->filter, &record))
			continue;
		if (!json)
			json = json_record(&record);
		stream_send(stream, kind, json);
	}
	json_decref(json);
}

/* ---- the method ---------------------------------------------------------- */

static const char *kind_word(unsigned int number)
{
	return kinds[number].name;
}

/* Takes ownership of the contents of the filter if it succeeds. */
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

static int begin(struct call *call, json_t *parameters, void *userdata)
{
	struct control *control = userdata;
	OWN_FILTER struct filter filter = {0};
	unsigned int wanted = 1U << RECORDS_DROPS; /* if the call names none */
	int r;

	if (words_read(call, parameters, "records", RECORDS_KINDS, kind_word, &wanted) < 0)
		return -EINVAL;
	r = filter_read(&filter, control->sources, call, parameters);
	if (r == 0)
		r = stream_new(control, call, &filter, wanted,
			       json_is_true(json_object_get(parameters, "stack")));
	if (r < 0)
		return r;
	/* The first reply says that the stream has begun: from now on it reports every loss. */
	call_stream(call, json_object());
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

	if (call_check_parameters(call, parameters, table) < 0)
		return -EINVAL;
	if (control_no_data(control, call))
		return 0;
	return control_read(control, call, parameters, 0, begin);
}
