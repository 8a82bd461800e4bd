/* SPDX-License-Identifier: GPL-2.0-or-later */
/* MonitorAlerts: sends changes of alerts, as they happen, to each client that asked for them. */
#include <errno.h>
#include <stdlib.h>

#include "daemon/control/internal.h"

struct alert_stream {
	struct alert_stream *next, **link;
	struct call *call;
	uint64_t gap; /* events lost since the last reply */
};

static void stream_free(struct alert_stream *stream)
{
	*stream->link = stream->next;
	if (stream->next)
		stream->next->link = stream->link;
	free(stream);
}

static void stream_closed(void *userdata)
{
	stream_free(userdata);
}

void alert_streams_stop(struct control *control)
{
	while (control->alert_streams)
		stream_free(control->alert_streams);
}

static void stream_send(struct alert_stream *stream, json_t *event)
{
	json_t *gap = stream->gap ? json_integer((json_int_t)stream->gap) : NULL;
	json_t *reply = json_pack("{s:O, s:o*}", "event", event, "gap", gap);

	if (reply && call_stream(stream->call, reply) == 0)
		stream->gap = 0;
	else
		stream->gap++;
}

unsigned int alert_streams_send(struct control *control, json_t *event)
{
	struct alert_stream *next;
	unsigned int count = 0;

	/* A stream whose client turns out to be gone frees itself during the send. */
	for (struct alert_stream *stream = control->alert_streams; stream; stream = next) {
		next = stream->next;
		stream_send(stream, event);
		count++;
	}
	return count;
}

int method_monitor_alerts(struct call *call, json_t *parameters, void *userdata)
{
	static const struct parameter table[] = {{NULL, 0, 0}};
	struct control *control = userdata;
	struct alert_stream *stream;

	if (call_check_parameters(call, parameters, table) < 0)
		return -EINVAL;
	stream = calloc(1, sizeof(*stream));
	if (!stream)
		return -ENOMEM;
	stream->call = call;
	stream->link = &control->alert_streams;
	stream->next = control->alert_streams;
	if (stream->next)
		stream->next->link = &stream->next;
	control->alert_streams = stream;
	call_on_close(call, stream_closed, stream);
	/* The first reply says that the stream has begun: from now on it reports every loss. */
	call_stream(call, json_object());
	return 0;
}
