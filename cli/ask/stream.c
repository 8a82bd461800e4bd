/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/ask/stream.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "cli/ask/field.h"
#include "cli/terminal/signals.h"
#include "common/time.h"

#define MONITOR "io.netflowd.Monitor"

static const char *method_of(const struct stream *stream)
{
	return stream->method ? stream->method : MONITOR;
}

struct taken {
	int64_t records;
	uint64_t hidden; /* drops that --faults hides */
};

/* A number about the stream itself, among its records. */
struct note {
	const char *member; /* its name in JSON */
	uint64_t number;
	enum page_style style;
	char text[128];
};

static enum report_status print_note(struct session *session, struct page *page, const json_t *json,
				     void *data)
{
	const struct note *note = data;

	(void)session;
	(void)json;
	page_line(page, note->style, "%s", note->text);
	return session_print(page, 0);
}

static enum report_status put_note(struct session *session, const struct stream *stream,
				   struct note *note)
{
	OWN_JSON json_t *json = NULL;

	if (stream->quiet) {
		report("%s", note->text);
		return REPORT_FINE;
	}
	json = session_parameters(note->member, session_number((int64_t)note->number), NULL);
	return session_output(session, json, true, print_note, note);
}

static enum report_status put_gap(struct session *session, const struct stream *stream,
				  uint64_t gap)
{
	struct note note = {.member = "gap", .number = gap, .style = PAGE_WARN};

	snprintf(note.text, sizeof(note.text),
		 "gap: %s records lost, because netflowctl read too slowly", units_count(gap).s);
	return put_note(session, stream, &note);
}

/* The number of drops that --faults hid, at the end of the stream. */
static enum report_status put_hidden(struct session *session, const struct stream *stream,
				     uint64_t hidden)
{
	struct note note = {.member = "hidden", .number = hidden, .style = PAGE_PLAIN};

	snprintf(note.text, sizeof(note.text), "%s drops of class policy or benign hidden",
		 units_count(hidden).s);
	return put_note(session, stream, &note);
}

/* A drop without a class, because its reason is not known, is never hidden. */
static bool hides(const struct session *session, const json_t *record)
{
	const char *class = field_text_or(record, "class", "fault");

	return session->arguments.faults && strcmp(class, "fault");
}

/* One reply of the stream has a gap, a record or both; the gap is older than the record. */
static enum report_status take_reply(struct session *session, const struct stream *stream,
				     const json_t *reply, struct taken *taken)
{
	const json_t *record = json_object_get(reply, stream->kind);
	enum report_status status = REPORT_FINE;
	uint64_t gap = field_count_or(reply, "gap", 0);

	if (gap)
		status = put_gap(session, stream, gap);
	if (status || !json_is_object(record))
		return status;
	if (hides(session, record)) {
		taken->hidden++;
		return REPORT_FINE;
	}
	taken->records++;
	return stream->record(stream->data, record);
}

/* Shorten *timeout_ms so that it ends by the deadline (-1: none); false after the deadline. */
static bool time_left(int64_t deadline_ms, int64_t *timeout_ms)
{
	int64_t left;

	if (deadline_ms < 0)
		return true;
	left = deadline_ms - time_monotonic_ms();
	if (*timeout_ms < 0 || left < *timeout_ms)
		*timeout_ms = left;
	return left > 0;
}

static enum report_status read_stream(struct session *session, const struct stream *stream,
				      struct taken *taken)
{
	int64_t limit = session->arguments.limit;
	int64_t deadline_ms = -1;
	bool begun = false, continues = true;

	while (continues && (limit < 0 || taken->records < limit)) {
		int64_t timeout_ms = begun ? VARLINK_FOREVER : session->arguments.timeout_ms;
		OWN_JSON json_t *reply = NULL;
		enum report_status status;
		int r;

		if (!time_left(deadline_ms, &timeout_ms))
			return REPORT_FINE;
		r = varlink_next(session->varlink, timeout_ms, &reply, &continues);
		if (r == -EINTR || (r == -ETIMEDOUT && begun))
			return REPORT_FINE;
		if (r)
			return report_call(session->varlink, method_of(stream), r);
		if (!begun && stream->duration_ms >= 0)
			deadline_ms = time_monotonic_ms() + stream->duration_ms;
		begun = true;
		status = take_reply(session, stream, reply, taken);
		if (status)
			return status;
	}
	if (continues)
		return REPORT_FINE;
	report("the daemon ended the stream; see its log");
	return REPORT_FAILED;
}

/* Name the kind of records to Monitor; other methods have only one. */
static int add_kind(json_t *parameters, const struct stream *stream)
{
	const char *kind = strcmp(stream->kind, "drop") ? stream->kind : "drops";

	if (!parameters)
		return -ENOMEM;
	if (stream->method)
		return 0;
	return json_object_set_new(parameters, "records", json_pack("[s]", kind)) ? -ENOMEM : 0;
}

enum report_status stream_follow(struct session *session, json_t *parameters,
				 const struct stream *stream)
{
	OWN_JSON json_t *call = parameters;
	enum report_status status = session_connect(session);
	struct taken taken = {};
	OWN_FD int signals = -1;
	int r;

	if (status)
		return status;
	r = add_kind(call, stream);
	if (r) {
		report("%s", strerror(-r));
		return REPORT_FAILED;
	}
	signals = signals_open(SIGINT, SIGTERM, SIGHUP, 0);
	if (signals < 0) {
		report("cannot read signals: %s", strerror(-signals));
		return REPORT_FAILED;
	}
	varlink_interrupt(session->varlink, signals);
	r = varlink_stream(session->varlink, method_of(stream), TAKE_PTR(call),
			   session->arguments.timeout_ms);
	if (r)
		return report_call(session->varlink, method_of(stream), r);
	status = read_stream(session, stream, &taken);
	if (!session->arguments.faults || status)
		return status;
	return put_hidden(session, stream, taken.hidden);
}
