/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/export.h"

#include <errno.h>
#include <string.h>

#include "common/array.h"
#include "common/json.h"
#include "common/rows.h"
#include "common/varlink.h"

#define STATUS_METHOD "io.netflowd.GetStatus"
#define NO_DATA "io.netflowd.NoData"
#define NOT_COVERED "io.netflowd.NotCovered"
#define ALERTS_METHOD "io.netflowd.GetAlerts"
/* A page of a reply; the daemon sends as many as there are. */
#define LIMIT (1 << 20)

/* Rows of every export, of one with `all` or without it, of one about now or the past. */
enum when { ALWAYS, ONLY_ALL, ONLY_SUMMARY, ONLY_NOW, ONLY_PAST };

/* Which member of which reply has the rows of a type.  Rows of one method are next to each other. */
static const struct source {
	const char *type, *method, *member;
	enum when when;
} sources[] = {
	{"coverage", STATUS_METHOD, "coverage", ONLY_NOW},
	{"table", STATUS_METHOD, "tables", ONLY_NOW},
	{"drops", "io.netflowd.GetDrops", "rows", ALWAYS},
	{"latency", "io.netflowd.GetLatency", "segments", ALWAYS},
	{"latency", "io.netflowd.GetLatency", "worst", ONLY_SUMMARY},
	{"counted", "io.netflowd.GetLatency", "counted", ALWAYS},
	{"latency", "io.netflowd.GetLatency", "latencies", ONLY_ALL},
	{"cpu", "io.netflowd.GetNapi", "cpus", ALWAYS},
	{"napi", "io.netflowd.GetNapi", "napi", ALWAYS},
	{"slots", "io.netflowd.GetSlots", "devices", ALWAYS},
	{"alert", ALERTS_METHOD, "alerts", ONLY_NOW},
	{"event", ALERTS_METHOD, "events", ONLY_PAST},
};

struct export
{
	struct varlink *varlink;
	struct export_options *options;
	export_line line;
	void *userdata;
	json_t *host; /* its name; owned */
};

static bool is_past(const struct export *export)
{
	return export->options->since || export->options->until;
}

/* The head of a line, and the members of `row` behind it. */
static int put(const struct export *export, const char *type, json_t *time, json_t *row)
{
	OWN_JSON json_t *line = json_pack("{s:i, s:s, s:O, s:O}", "schema", EXPORT_SCHEMA, "type",
					  type, "time", time, "host", export->host);

	if (!line || json_object_update_missing(line, row) < 0)
		return -ENOMEM;
	return export->line(line, export->userdata);
}

static bool is_wanted(const struct export *export, const struct source *source)
{
	switch (source->when) {
	case ONLY_ALL:
		return export->options->all;
	case ONLY_SUMMARY:
		return !export->options->all;
	case ONLY_NOW:
		return !is_past(export);
	case ONLY_PAST:
		return is_past(export);
	default:
		return true;
	}
}

static int put_rows(const struct export *export, const struct source *source, const json_t *reply)
{
	json_t *time = json_object_get(reply, "time"), *row;
	size_t i;
	int r = 0;

	json_t *rows = json_object_get(reply, source->member);

	/* Rows with a time of their own. */
	if (json_is_object(rows)) {
		time = json_object_get(rows, "time");
		rows = json_object_get(rows, "rows");
	}
	json_array_foreach(rows, i, row)
	{
		/* An event has a time of its own. */
		json_t *own = source->when == ONLY_PAST ? json_object_get(row, "time") : NULL;

		r = put(export, source->type, own ? own : time, row);
		if (r)
			return r;
	}
	return r;
}

/* 1: there is no data. */
static int ask(const struct export *export, const char *method, json_t **reply)
{
	const struct export_options *options = export->options;
	bool now = !is_past(export), status = !strcmp(method, STATUS_METHOD);
	bool latency = options->all && strstr(method, "GetLatency");
	json_t *parameters = json_object();
	const char *error;
	const json_t *of;
	int r;

	if (rows_of(method) || (!now && !status))
		json_object_set_new(parameters, "limit", json_integer(LIMIT));
	if (latency)
		json_object_set_new(parameters, "all", json_true());
	if (options->since && !status)
		json_object_set_new(parameters, "since", json_string(options->since));
	if (options->until && !status)
		json_object_set_new(parameters, "until", json_string(options->until));
	r = rows_call(export->varlink, method, parameters, options->timeout_ms, reply);
	if (r != -EREMOTEIO)
		return r;
	error = varlink_error(export->varlink, &of);
	/* Events are deleted before counters, which were asked for first. */
	if (!strcmp(error, NO_DATA) ||
	    (!strcmp(error, NOT_COVERED) && !strcmp(method, ALERTS_METHOD)))
		return 1;
	return r;
}

/* The rows of the status are lines of their own. */
static int put_status(struct export *export, json_t *reply)
{
	OWN_JSON json_t *rest = json_copy(reply);
	const json_t *name = json_object_get(json_object_get(reply, "host"), "name");

	export->host = json_incref((json_t *)(uintptr_t)name);
	json_object_del(rest, "coverage");
	json_object_del(rest, "tables");
	/* In a line, `host` is its name. */
	json_object_set(rest, "system", json_object_get(reply, "host"));
	json_object_del(rest, "host");
	/* It is about now. */
	if (is_past(export))
		return 0;
	return put(export, "status", json_object_get(reply, "time"), rest);
}

/* The period that the rows of a method are about, and how many events of alerts there were. */
static int put_period(struct export *export, const char *type, const json_t *reply)
{
	OWN_JSON json_t *row = json_copy(json_object_get(reply, "period"));
	uint64_t events = json_array_size(json_object_get(reply, "events"));
	int64_t matched = json_integer_value(json_object_get(reply, "matched"));

	if (!row)
		return 0;
	json_object_set_new(row, "of", json_string(type));
	/* For how much of that time latency was followed. */
	json_object_set(row, "followed", json_object_get(reply, "followed"));
	if (json_object_get(reply, "events")) {
		json_object_set_new(row, "matched", json_integer(matched));
		if (matched > (int64_t)events)
			export->options->left_out = (uint64_t)matched - events;
	}
	return put(export, "period", json_object_get(reply, "time"), row);
}

/* The type of a method's rows; all of one method have the same, but for the first one's. */
static const char *last_type(size_t next)
{
	const char *method = sources[next].method;

	while (next + 1 < ARRAY_SIZE(sources) && !strcmp(sources[next + 1].method, method))
		next++;
	return sources[next].type;
}

static int put_method(struct export *export, size_t *next)
{
	const char *method = sources[*next].method;
	OWN_JSON json_t *reply = NULL;
	int r = ask(export, method, &reply);

	export->options->method = method;
	if (r == 0 && !strcmp(method, STATUS_METHOD))
		r = put_status(export, reply);
	else if (r == 0 && is_past(export))
		r = put_period(export, last_type(*next), reply);
	for (; *next < ARRAY_SIZE(sources) && !strcmp(sources[*next].method, method); ++*next)
		if (r == 0 && is_wanted(export, &sources[*next]))
			r = put_rows(export, &sources[*next], reply);
	return r == 1 ? 0 : r;
}

int export_lines(struct varlink *varlink, struct export_options *options, export_line line,
		 void *userdata)
{
	struct export export = {varlink, options, line, userdata, NULL};
	size_t next = 0;
	int r = 0;

	options->left_out = 0;
	while (r == 0 && next < ARRAY_SIZE(sources))
		r = put_method(&export, &next);
	json_decref(export.host);
	return r;
}

/* ---- one document --------------------------------------------------------------- */

static int add(json_t *line, void *userdata)
{
	json_t *document = userdata, *rows;
	OWN_JSON json_t *type = json_incref(json_object_get(line, "type"));

	/* Those of the first line: of the status, or of the first period. */
	if (!json_object_get(document, "time")) {
		json_object_set(document, "time", json_object_get(line, "time"));
		json_object_set(document, "host", json_object_get(line, "host"));
	}
	json_object_del(line, "schema");
	json_object_del(line, "type");
	json_object_del(line, "host");
	if (!strcmp(json_string_value(type), "status"))
		return json_object_set(document, "status", line) ? -ENOMEM : 0;
	rows = json_object_get(document, json_string_value(type));
	return json_array_append(rows, line) ? -ENOMEM : 0;
}

int export_document(struct varlink *varlink, struct export_options *options, json_t **document)
{
	OWN_JSON json_t *fresh = json_pack("{s:i}", "schema", EXPORT_SCHEMA);
	bool past = options->since || options->until;
	int r;

	if (past)
		json_object_set_new(fresh, "period", json_array());
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++)
		if (!json_object_get(fresh, sources[i].type) &&
		    sources[i].when != (past ? ONLY_NOW : ONLY_PAST))
			json_object_set_new(fresh, sources[i].type, json_array());
	r = export_lines(varlink, options, add, fresh);
	if (r == 0)
		*document = json_incref(fresh);
	return r;
}
