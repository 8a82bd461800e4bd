/* SPDX-License-Identifier: GPL-2.0-or-later */
/* netflowctl export: latency records as a file for other programs. */
#include <errno.h>
#include <string.h>

#include "cli/ask/options.h"
#include "cli/ask/stream.h"
#include "cli/command/command.h"
#include "cli/file/output.h"
#include "cli/file/trace.h"

#define METHOD "io.netflowd.GetLatencyRecords"
/* Enough for a time within a day in microseconds, with three digits for the nanoseconds. */
#define DIGITS 15

static const char *const formats[] = {"trace", NULL};

static const struct argument arguments[] = {
	OPTION("format", WORD, format, .value = "FORMAT", .words = formats,
	       .help = "file format; trace: for Perfetto and chrome://tracing (trace)"),
	OPTION("output", TEXT, output, .letter = 'o', .value = "FILE",
	       .help = "write to FILE (standard output)"),
	OPTION("follow", SECONDS, follow_ms, .value = "S", .min = 1, .max = 24 * 3600 * 1000,
	       .help = "export the records of the next S seconds, 0.001 to 86400, instead of those held"),
	OPTION_COUNT(
		limit,
		"export the newest N records, 1 to 1048576 (all held); with --follow stop after N"),
	OPTION_DEVICE("export only packets that crossed this device"),
	OPTION_NETNS,
	{},
};

static enum report_status out_of_memory(void)
{
	report("%s", strerror(ENOMEM));
	return REPORT_FAILED;
}

static enum report_status add(void *data, const json_t *record)
{
	/* -EINVAL: a record without times cannot be on a time axis; it is left out. */
	return trace_add(data, record) == -ENOMEM ? out_of_memory() : REPORT_FINE;
}

static enum report_status add_held(struct session *session, struct trace *trace)
{
	int64_t limit = session->arguments.limit;
	json_t *parameters = session_selection(session);
	OWN_JSON json_t *reply = NULL;
	enum report_status status;
	const json_t *record;
	size_t i;

	json_object_set_new(parameters, "limit",
			    json_integer(limit < 0 ? OPTION_COUNT_MAX : limit));
	status = session_call(session, METHOD, parameters, 0, &reply);
	json_array_foreach(json_object_get(reply, "records"), i, record)
	{
		status = add(trace, record);
		if (status)
			break;
	}
	return status;
}

static int write_json(const json_t *json, const char *path)
{
	OWN_OUTPUT struct output output = {};
	int r = output_open(&output, path, true);

	if (r)
		return r;
	if (json_dumpf(json, output.file, JSON_COMPACT | JSON_REAL_PRECISION(DIGITS)))
		return errno ? -errno : -EIO;
	fputc('\n', output.file);
	return output_close(&output);
}

static enum report_status write_trace(const struct session *session, struct trace *trace)
{
	const char *path = session->arguments.output ? session->arguments.output : "-";
	OWN_JSON json_t *json = NULL;
	int r = trace_json(trace, &json);

	if (r)
		return out_of_memory();
	if (!trace_records(trace))
		report("no latency record was selected: the trace is empty");
	r = write_json(json, path);
	if (!r)
		return REPORT_FINE;
	report("cannot write %s: %s", path, strerror(-r));
	return REPORT_FAILED;
}

static enum report_status run(struct session *session)
{
	int64_t follow_ms = session->arguments.follow_ms;
	OWN_TRACE struct trace *trace = NULL;
	struct stream follow = {
		.kind = "latency", .record = add, .duration_ms = follow_ms, .quiet = true};
	enum report_status status;

	if (trace_new(&trace))
		return out_of_memory();
	follow.data = trace;
	status = follow_ms < 0 ? add_held(session, trace)
			       : stream_follow(session, session_selection(session), &follow);
	return status ? status : write_trace(session, trace);
}

const struct command command_export = {
	.name = "export",
	.summary = "write latency records as a trace for Perfetto",
	.arguments = arguments,
	.word = "[EXPRESSION]",
	.words = true,
	.notes =
		"Each segment is a slice. A journey is on the track of the reader that received it, or of the CPU on which it ended.\n"
		"Journeys that overlap go to further tracks of the same name.\n"
		"EXPRESSION is a tcpdump filter that selects records, see pcap-filter(7).\n",
	.run = run,
};
