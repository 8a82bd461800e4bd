/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/ask/stream.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

#include "cli/ask/away.h"
#include "cli/ask/classes.h"
#include "cli/ask/field.h"
#include "cli/terminal/signals.h"
#include "common/time.h"
#include "common/units.h"

#define MONITOR "io.netflowd.Monitor"

static const char *method_of(const struct stream *stream)
{
	return stream->method ? stream->method : MONITOR;
}

/* One run of a stream, across all connections to the daemon. */
struct following {
	struct session *session;
	const struct stream *stream;
	json_t *parameters; /* of the call; not owned */
	int signals;
	int64_t deadline_ms; /* -1: none, or not begun */
	bool begun;
	int64_t records;
	uint64_t hidden; /* drops that --faults and --class hide */
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

/* The number of drops that --faults or --class hid, at the end of the stream. */
static enum report_status put_hidden(struct session *session, const struct stream *stream,
				     uint64_t hidden)
{
	struct note note = {.member = "hidden", .number = hidden, .style = PAGE_PLAIN};

	snprintf(note.text, sizeof(note.text), "%s drops of other classes hidden",
		 units_count(hidden).s);
	return put_note(session, stream, &note);
}

static bool hides(const struct session *session, const json_t *record)
{
	return !classes_take(&session->arguments, field_text_or(record, "class", "unknown"));
}

/* One reply of the stream has a gap, a record or both; the gap is older than the record. */
static enum report_status take_reply(struct following *following, const json_t *reply)
{
	const struct stream *stream = following->stream;
	const json_t *record = json_object_get(reply, stream->kind);
	enum report_status status = REPORT_FINE;
	uint64_t gap = field_count_or(reply, "gap", 0);

	if (gap)
		status = put_gap(following->session, stream, gap);
	if (status || !json_is_object(record))
		return status;
	if (hides(following->session, record)) {
		following->hidden++;
		return REPORT_FINE;
	}
	following->records++;
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

static void note_begin(struct following *following)
{
	int64_t duration_ms = following->stream->duration_ms;

	if (!following->begun && duration_ms >= 0)
		following->deadline_ms = time_monotonic_ms() + duration_ms;
	following->begun = true;
}

/* Sets *lost, and reports nothing, if a stream that had begun ends with its connection. */
static enum report_status read_replies(struct following *following, bool *lost)
{
	struct session *session = following->session;
	int64_t limit = session->arguments.limit;
	bool answered = false, continues = true;

	while (continues && (limit < 0 || following->records < limit)) {
		int64_t timeout_ms = answered ? VARLINK_FOREVER : session->arguments.timeout_ms;
		OWN_JSON json_t *reply = NULL;
		enum report_status status;
		int r;

		if (!time_left(following->deadline_ms, &timeout_ms))
			return REPORT_FINE;
		r = varlink_next(session->varlink, timeout_ms, &reply, &continues);
		if (r == -EINTR || (r == -ETIMEDOUT && answered))
			return REPORT_FINE;
		*lost = following->begun && away_is(r);
		if (*lost)
			return REPORT_FINE;
		if (r)
			return report_call(session->varlink, method_of(following->stream), r);
		note_begin(following);
		answered = true;
		status = take_reply(following, reply);
		if (status)
			return status;
	}
	if (continues)
		return REPORT_FINE;
	report("the daemon ended the stream; see its log");
	return REPORT_FAILED;
}

/* From the call to the end of the stream or of the connection. */
static enum report_status follow_once(struct following *following, bool *lost)
{
	struct session *session = following->session;
	const char *method = method_of(following->stream);
	int r;

	varlink_interrupt(session->varlink, following->signals);
	r = varlink_stream(session->varlink, method, json_incref(following->parameters),
			   session->arguments.timeout_ms);
	*lost = following->begun && away_is(r);
	if (*lost)
		return REPORT_FINE;
	return r ? report_call(session->varlink, method, r) : read_replies(following, lost);
}

/* Wait between two attempts; false if a signal or the deadline ends the stream. */
static bool pause_attempts(const struct following *following)
{
	struct pollfd signals = {.fd = following->signals, .events = POLLIN};
	int64_t pause_ms = AWAY_PAUSE_MS;

	return time_left(following->deadline_ms, &pause_ms) &&
	       poll(&signals, 1, (int)pause_ms) == 0;
}

/* Sets *again once a daemon answers; otherwise the stream has ended. */
static enum report_status wait_for_daemon(struct following *following, bool *again)
{
	struct away away;
	int r = -EAGAIN;

	*again = false;
	away_begin(&away, time_monotonic_ms());
	report("the daemon is away; waiting up to %d s for it", AWAY_MAX_MS / 1000);
	while (r == -EAGAIN) {
		int64_t wait_ms = 1000;

		if (!pause_attempts(following) || !time_left(following->deadline_ms, &wait_ms))
			return REPORT_FINE;
		r = away_try(following->session, &away, following->signals, wait_ms);
	}
	if (r == -EINTR)
		return REPORT_FINE;
	if (r)
		return away_report();
	report("the daemon was away for %s; records of this time may be missing",
	       units_duration((uint64_t)away_ms(&away) * 1000000).s);
	*again = true;
	return REPORT_FINE;
}

static enum report_status follow(struct following *following)
{
	enum report_status status;
	bool again;

	do {
		status = follow_once(following, &again);
		if (!status && again)
			status = wait_for_daemon(following, &again);
	} while (!status && again);
	return status;
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
	enum report_status status = session_add_period(session, call);
	struct following following = {.session = session, .stream = stream, .deadline_ms = -1};
	OWN_FD int signals = -1;
	int r;

	if (!status)
		status = session_connect(session);
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
	following.parameters = call;
	following.signals = signals;
	status = follow(&following);
	if (classes_are_all(&session->arguments) || status)
		return status;
	return put_hidden(session, stream, following.hidden);
}
