/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/ask/names.h"

#include <dirent.h>
#include <stdio.h>

#include "cli/ask/field.h"
#include "cli/ask/session.h"
#include "common/time.h"

/* A reading that began this long ago still has the names: a key that is pressed again costs the daemon nothing. */
#define READING_MAX_AGE_MS 10000

struct visitor {
	names_visitor *visit;
	void *data;
};

typedef void row_visitor(const struct visitor *to, const json_t *row);

static int64_t left_ms(const struct names_source *source)
{
	int64_t left = source->deadline_ms - time_monotonic_ms();

	return left > 0 ? left : 0;
}

/* Visit the rows in the member `rows` of each reply of a method.  `parameters` is stolen. */
static void each_row(const struct names_source *source, const char *method, json_t *parameters,
		     const char *rows, row_visitor *visit_row, const struct visitor *to)
{
	OWN_VARLINK struct varlink *varlink = NULL;
	bool continues = true;

	if (varlink_connect(&varlink, source->socket, left_ms(source)) < 0) {
		json_decref(parameters);
		return;
	}
	if (varlink_stream(varlink, method, parameters, left_ms(source)) < 0)
		return;
	while (continues && left_ms(source)) {
		OWN_JSON json_t *reply = NULL;
		const json_t *row;
		size_t i;

		if (varlink_next(varlink, left_ms(source), &reply, &continues) < 0)
			return;
		json_array_foreach(json_object_get(reply, rows), i, row) visit_row(to, row);
	}
}

/* What a directory contains, as names. */
static void each_entry(const char *path, const char *about, const struct visitor *to)
{
	DIR *directory = opendir(path);
	const struct dirent *entry;

	if (!directory)
		return;
	while ((entry = readdir(directory)))
		if (entry->d_name[0] != '.')
			to->visit(to->data, entry->d_name, about);
	closedir(directory);
}

/* The rows of GetDrops, joined by one field. */
static void each_drop(const struct names_source *source, const char *by, row_visitor *visit_row,
		      const struct visitor *to)
{
	each_row(source, "io.netflowd.GetDrops",
		 session_parameters("by", session_text(by), "max_age_ms",
				    session_number(READING_MAX_AGE_MS), NULL),
		 "rows", visit_row, to);
}

/* ---- what a row names -------------------------------------------------------------------- */

static void device_of(const struct visitor *to, const json_t *row)
{
	const char *device = field_text_or(row, "device", NULL);

	if (device)
		to->visit(to->data, device, "device");
}

static void reason_of(const struct visitor *to, const json_t *row)
{
	const char *reason = field_text_or(row, "reason", NULL);

	if (reason)
		to->visit(to->data, reason, field_text_or(row, "class", "reason"));
}

static void netns_of(const struct visitor *to, const json_t *row)
{
	uint64_t inode;
	char text[24];

	if (!field_count(row, "netns", &inode))
		return;
	snprintf(text, sizeof(text), "%llu", (unsigned long long)inode);
	to->visit(to->data, text, "inode number");
}

static void rule_of(const struct visitor *to, const json_t *row)
{
	const char *name = field_text_or(row, "name", NULL);

	if (name)
		to->visit(to->data, name, field_text_or(row, "state", "rule"));
}

static void incident_of(const struct visitor *to, const json_t *row)
{
	char about[96];

	snprintf(about, sizeof(about), "%.32s %.60s", field_date(row, "time").s,
		 field_text_or(row, "rule", ""));
	to->visit(to->data, field_units_number(row, "id").s, about);
}

/* ---- the names --------------------------------------------------------------------------- */

void names_devices(const struct names_source *source, names_visitor *visit, void *data)
{
	const struct visitor to = {visit, data};

	each_entry("/sys/class/net", "device", &to);
	each_drop(source, "dev", device_of, &to);
	each_row(source, "io.netflowd.GetLatency",
		 session_parameters("all", json_true(), "max_age_ms",
				    session_number(READING_MAX_AGE_MS), NULL),
		 "latencies", device_of, &to);
}

void names_reasons(const struct names_source *source, names_visitor *visit, void *data)
{
	const struct visitor to = {visit, data};

	each_drop(source, "reason", reason_of, &to);
}

void names_netns(const struct names_source *source, names_visitor *visit, void *data)
{
	const struct visitor to = {visit, data};

	visit(data, "host", "the namespace of init");
	each_entry("/run/netns", "name of ip netns", &to);
	each_drop(source, "netns", netns_of, &to);
}

void names_rules(const struct names_source *source, names_visitor *visit, void *data)
{
	const struct visitor to = {visit, data};

	each_row(source, "io.netflowd.GetAlerts", NULL, "alerts", rule_of, &to);
}

void names_incidents(const struct names_source *source, names_visitor *visit, void *data)
{
	const struct visitor to = {visit, data};

	each_row(source, "io.netflowd.GetIncidents", NULL, "incidents", incident_of, &to);
}
