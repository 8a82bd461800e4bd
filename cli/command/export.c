/* SPDX-License-Identifier: GPL-2.0-or-later */
/* netflowctl export: latency records, or all counters and alerts, as a file for other programs. */
#include "common/export.h"

#include <errno.h>
#include <string.h>

#include "cli/ask/options.h"
#include "cli/ask/stream.h"
#include "cli/command/command.h"
#include "cli/file/output.h"
#include "cli/file/trace.h"
#include "common/units.h"

#define METHOD "io.netflowd.GetLatencyRecords"
/* Enough for a time within a day in microseconds, with three digits for the nanoseconds. */
#define DIGITS 15

static const char *const formats[] = {"trace", "json", "ndjson", NULL};

static const struct argument arguments[] = {
	OPTION("format", WORD, format, .value = "FORMAT", .words = formats,
	       .help = "trace: latency records for Perfetto; json, ndjson: counters and alerts (trace)"),
	OPTION("output", TEXT, output, .letter = 'o', .value = "FILE",
	       .help = "write to FILE (standard output)"),
	OPTION("follow", SECONDS, follow_ms, .value = "S", .min = 1, .max = 24 * 3600 * 1000,
	       .help = "export the records of the next S seconds, 0.001 to 86400, instead of those held"),
	OPTION_COUNT(
		limit,
		"export the newest N records, 1 to 1048576 (all held); with --follow stop after N"),
	OPTION_DEVICE("export only packets that crossed this device"),
	OPTION_NETNS,
	OPTION_FLAG(all,
		    "with json and ndjson: latency of every device, not only of the worst ones"),
	OPTION_PERIOD,
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
	enum report_status status = session_add_period(session, parameters);
	const json_t *record;
	size_t i;

	if (status) {
		json_decref(parameters);
		return status;
	}
	json_object_set_new(parameters, "limit",
			    json_integer(limit < 0 ? OPTION_COUNT_MAX : limit));
	status = session_call(session, METHOD, parameters, 0, &reply);
	json_array_foreach(json_object_get(reply, "records"), i, record)
	{
		status = add(trace, record);
		if (status)
			break;
	}
	if (!status)
		session_report_rest(session, reply);
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

static enum report_status run_trace(struct session *session)
{
	int64_t follow_ms = session->arguments.follow_ms;
	OWN_TRACE struct trace *trace = NULL;
	struct stream follow = {
		.kind = "latency", .record = add, .duration_ms = follow_ms, .quiet = true};
	enum report_status status, written;

	if (trace_new(&trace))
		return out_of_memory();
	follow.data = trace;
	if (follow_ms < 0) {
		status = add_held(session, trace);
		return status ? status : write_trace(session, trace);
	}
	status = stream_follow(session, session_selection(session), &follow);
	/* If the daemon went away for good, the records until then are still worth a file. */
	if (status && (status != REPORT_UNREACHABLE || !trace_records(trace)))
		return status;
	written = write_trace(session, trace);
	return status ? status : written;
}

/* ---- counters and alerts -------------------------------------------------------- */

static int put_line(json_t *line, void *userdata)
{
	FILE *file = userdata;

	if (json_dumpf(line, file, JSON_COMPACT | JSON_REAL_PRECISION(DIGITS)) < 0 ||
	    fputc('\n', file) == EOF)
		return -EIO;
	return 0;
}

static enum report_status cannot_write(const char *path, int error)
{
	report("cannot write %s: %s", path, strerror(-error));
	return REPORT_FAILED;
}

static enum report_status write_lines(const struct session *session, struct export_options *options,
				      const char *path)
{
	OWN_OUTPUT struct output output = {};
	int r = output_open(&output, path, true);

	if (r)
		return cannot_write(path, r);
	r = export_lines(session->varlink, options, put_line, output.file);
	if (r && r != -EIO)
		return report_call(session->varlink, options->method, r);
	if (!r)
		r = output_close(&output);
	return r ? cannot_write(path, r) : REPORT_FINE;
}

static enum report_status write_document(const struct session *session,
					 struct export_options *options, const char *path)
{
	OWN_JSON json_t *document = NULL;
	int r = export_document(session->varlink, options, &document);

	if (r)
		return report_call(session->varlink, options->method, r);
	r = write_json(document, path);
	return r ? cannot_write(path, r) : REPORT_FINE;
}

static enum report_status write_counters(struct session *session, bool lines, const char *path)
{
	OWN_JSON json_t *period = json_object();
	enum report_status status = session_add_period(session, period);
	struct export_options options = {
		.timeout_ms = session->arguments.timeout_ms,
		.all = session->arguments.all,
		.since = json_string_value(json_object_get(period, "since")),
		.until = json_string_value(json_object_get(period, "until")),
	};

	if (status)
		return status;
	status = lines ? write_lines(session, &options, path)
		       : write_document(session, &options, path);
	if (!status && options.left_out)
		report("%s older alert events were left out; export a shorter time with --since and --until",
		       units_count(options.left_out).s);
	return status;
}

/* Options and words that select records have no meaning for counters. */
static enum report_status check_counters(const struct session *session)
{
	const struct arguments *given = &session->arguments;
	const char *wrong = NULL;

	if (session->filter)
		wrong = "an expression";
	else if (given->follow_ms >= 0)
		wrong = "--follow";
	else if (given->limit >= 0)
		wrong = "--limit";
	else if (given->device)
		wrong = "--dev";
	else if (given->netns)
		wrong = "--netns";
	if (!wrong)
		return REPORT_FINE;
	report("%s selects latency records; --format %s has none", wrong, given->format);
	return REPORT_USAGE;
}

static enum report_status run(struct session *session)
{
	const char *format = session->arguments.format, *path = session->arguments.output;
	enum report_status status;

	if (!format || !strcmp(format, "trace"))
		return run_trace(session);
	status = check_counters(session);
	if (!status)
		status = session_connect(session);
	if (status)
		return status;
	path = path ? path : "-";
	return write_counters(session, !strcmp(format, "ndjson"), path);
}

const struct command command_export = {
	.name = "export",
	.summary = "write a trace for Perfetto, or all counters and alerts as JSON",
	.arguments = arguments,
	.word = "[EXPRESSION]",
	.words = true,
	.notes =
		"Each segment is a slice. A journey is on the track of the reader that received it, or of the CPU on which it ended.\n"
		"Journeys that overlap go to further tracks of the same name.\n"
		"EXPRESSION is a tcpdump filter that selects records, see pcap-filter(7).\n"
		"json is one object, ndjson one object per line; both have a version, schema. With --since or --until they have what was counted in that time, and the alerts that fired.\n",
	.run = run,
};
