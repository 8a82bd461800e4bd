/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Monitor: records as they happen, to each client that asked. */
#include "daemon/control/internal.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/control/filter.h"
#include "daemon/export/json.h"
#include "daemon/probe/backend.h"

struct stream {
	struct stream *next, **link;
	struct control *control;
	struct call *call;
	struct filter filter;
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

/* The record goes to this client or, when it reads too slowly, into its gap. */
static void stream_send(struct stream *stream, json_t *record)
{
	json_t *gap = stream->gap ? json_integer((json_int_t)stream->gap) : NULL;
	json_t *reply = json_pack("{s:O*, s:o*}", "drop", record, "gap", gap);

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
		if (!filter_takes(&stream->filter, record->reason, record->device, record->netns))
			continue;
		if (!json)
			json = json_drop_record(record, control->parts.names, control->parts.symbols);
		stream_send(stream, json);
	}
	json_decref(json);
}

int method_monitor(struct call *call, json_t *parameters, void *userdata)
{
	static const struct parameter table[] = {
		{"reason", PARAMETER_STRING, true}, {"device", PARAMETER_STRING, true},
		{"netns", PARAMETER_INT, true},	    {"stack", PARAMETER_BOOL, true},
		{NULL, 0, 0},
	};
	struct control *control = userdata;
	struct filter filter;
	struct stream *stream;

	if (call_check_parameters(call, parameters, table) < 0)
		return -EINVAL;
	if (control_no_data(control, call))
		return 0;
	if (filter_read(&filter, control, call, parameters) < 0)
		return -EINVAL;
	stream = calloc(1, sizeof(*stream));
	if (!stream)
		return -ENOMEM;
	stream->control = control;
	stream->call = call;
	stream->filter = filter;
	stream->stack = json_is_true(json_object_get(parameters, "stack"));
	stream->link = &control->streams;
	stream->next = control->streams;
	if (stream->next)
		stream->next->link = &stream->next;
	control->streams = stream;
	call_on_close(call, stream_closed, stream);
	set_stack(control);
	/* Tells the client that from here on it misses nothing unsaid. */
	call_stream(call, json_object());
	return 0;
}
