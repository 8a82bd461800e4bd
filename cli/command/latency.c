/* SPDX-License-Identifier: GPL-2.0-or-later */
/* netflowctl latency: where packets waited, per device and segment. */
#include <errno.h>
#include <string.h>

#include "cli/ask/field.h"
#include "cli/ask/options.h"
#include "cli/command/command.h"
#include "cli/show/coverage.h"
#include "cli/show/groups.h"
#include "cli/show/segment.h"
#include "cli/terminal/table.h"
#include "common/array.h"
#include "common/segment_name.h"

#define METHOD "io.netflowd.GetLatency"
#define RECORDS_METHOD "io.netflowd.GetLatencyRecords"

static const char *const ways[] = {"dev", "segment", "cgroup", "process", NULL};

static const char *const about[] = {"rx_latency", "tx_latency", "devices", NULL};

static const struct argument arguments[] = {
	OPTION("by", WORD, by, .value = "FIELD", .words = ways,
	       .help = "group by dev, segment, cgroup or process (dev); cgroup and process: from records, not exact"),
	OPTION_DEVICE("show only this device"),
	OPTION_NETNS,
	{},
};

struct device_text {
	char s[64];
};

/* "eth0"; of a group "(other veth: 193)", with the number of devices for which it stands. */
static struct device_text device_of(const json_t *latency)
{
	const char *group = field_text_or(latency, "group", "other");
	uint64_t devices = field_count_or(latency, "devices", 0);
	const char *kind = strcmp(group, "other") ? group : "devices";
	struct device_text text;

	if (json_object_get(latency, "device"))
		snprintf(text.s, sizeof(text.s), "%s", field_text(latency, "device"));
	else if (devices)
		snprintf(text.s, sizeof(text.s), "(other %.16s: %s)", kind, units_count(devices).s);
	else
		snprintf(text.s, sizeof(text.s), "(other %.16s)", kind);
	return text;
}

static bool is_by(const struct arguments *given, const char *by)
{
	return given->by && !strcmp(given->by, by);
}

/* Whether the numbers come from latency records; otherwise from histograms. */
static bool by_records(const struct arguments *given)
{
	return is_by(given, "cgroup") || is_by(given, "process");
}

static void put_columns(struct table *table, const struct arguments *given)
{
	static const char *const numbers[] = {"count", "mean", "p50", "p90", "p99", "p99.9", "max"};

	if (by_records(given)) {
		table_column(table, TABLE_LEFT, given->by);
	} else if (!is_by(given, "segment")) {
		table_column(table, TABLE_LEFT, "device");
		table_column(table, TABLE_RIGHT, "netns");
	}
	table_column(table, TABLE_LEFT, "segment");
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		table_column(table, TABLE_RIGHT, numbers[i]);
}

static void put_latency(struct table *table, const json_t *latency, const struct arguments *given)
{
	static const char *const durations[] = {"p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns"};

	table_row(table);
	if (by_records(given)) {
		table_cell(table, PAGE_PLAIN, "%s", field_text(latency, given->by));
	} else if (!is_by(given, "segment")) {
		table_cell(table, PAGE_PLAIN, "%s", device_of(latency).s);
		table_cell(table, PAGE_PLAIN, "%s", field_units_number(latency, "netns").s);
	}
	table_cell(table, PAGE_PLAIN, "%s %s", field_text(latency, "direction"),
		   segment_name_text(field_text(latency, "segment")).s);
	table_cell(table, PAGE_PLAIN, "%s", field_units_count(latency, "count").s);
	table_cell(table, PAGE_PLAIN, "%s", field_units_duration_real(latency, "mean_ns").s);
	for (size_t i = 0; i < ARRAY_SIZE(durations); i++)
		table_cell(table, PAGE_PLAIN, "%s", field_units_duration(latency, durations[i]).s);
}

static int put_histograms(struct page *page, const json_t *latencies, bool segment)
{
	const json_t *latency;
	size_t i;

	json_array_foreach(latencies, i, latency)
	{
		OWN_BUCKETS struct buckets buckets = {};
		int r = segment_buckets(latency, &buckets);

		if (r)
			return r;
		page_end(page);
		page_line(page, PAGE_TITLE, "%s%s%s %s", segment ? "" : device_of(latency).s,
			  segment ? "" : " ", field_text(latency, "direction"),
			  segment_name_text(field_text(latency, "segment")).s);
		segment_put_histogram(page, &buckets);
	}
	return 0;
}

static int put_latencies(struct page *page, const json_t *latencies, const struct arguments *given)
{
	OWN_TABLE struct table *table = NULL;
	const json_t *latency;
	size_t i;
	int r = table_new(&table, page_term(page), 0);

	if (r)
		return r;
	put_columns(table, given);
	json_array_foreach(latencies, i, latency) put_latency(table, latency, given);
	r = table_put(table, page);
	if (r || by_records(given))
		return r;
	return put_histograms(page, latencies, is_by(given, "segment"));
}

static void put_nothing(const struct session *session, struct page *page, const json_t *reply)
{
	page_put(page, PAGE_PLAIN, "No latency was measured");
	session_put_selection(session, page);
	page_line(page, PAGE_PLAIN, " since %s.", field_date(reply, "since").s);
}

static void put_origin(const struct session *session, struct page *page, size_t records)
{
	if (records)
		page_put(page, PAGE_PLAIN, "From %s latency records", units_count(records).s);
	else
		page_put(page, PAGE_PLAIN, "No latency record");
	session_put_selection(session, page);
	page_line(
		page, PAGE_PLAIN, "%s",
		records ? ": slow packets and a random sample, so not exact; --by dev and --by segment are exact"
			: " is held.");
}

/* ---- the two ways ------------------------------------------------------------------------- */

/* `data`: the number of records that the latencies come from; NULL: from histograms. */
static enum report_status print(struct session *session, struct page *page, const json_t *reply,
				void *data)
{
	const json_t *latencies = json_object_get(reply, "latencies");
	const size_t *records = data;
	int r = 0;

	if (records)
		put_origin(session, page, *records);
	if (json_array_size(latencies))
		r = put_latencies(page, latencies, &session->arguments);
	else if (!records)
		put_nothing(session, page, reply);
	return coverage_print(session, page, r, about);
}

/* Turn a reply into one whose latencies are grouped by `by`, as --json prints it. */
static int regroup(json_t *reply, const char *by)
{
	const json_t *records = json_object_get(reply, "records");
	json_t *groups = NULL;
	int r = records ? groups_of_records(records, by, &groups)
			: groups_merge(json_object_get(reply, "latencies"), &groups);

	if (r)
		return r;
	if (json_object_set_new(reply, "latencies", groups) ||
	    json_object_set_new(reply, "by", json_string(by)) ||
	    json_object_set_new(reply, "exact", json_boolean(!records)))
		return -ENOMEM;
	json_object_del(reply, "records");
	return 0;
}

/* The daemon groups by device only; the other groups are made from its replies. */
static enum report_status show_grouped(struct session *session)
{
	const char *by = session->arguments.by;
	bool of_records = by_records(&session->arguments);
	json_t *parameters = session_selection(session);
	OWN_JSON json_t *reply = NULL;
	enum report_status status;
	size_t records;
	int r;

	if (of_records)
		json_object_set_new(parameters, "limit", json_integer(OPTION_COUNT_MAX));
	status = session_call(session, of_records ? RECORDS_METHOD : METHOD, parameters, 0, &reply);
	if (status)
		return status;
	records = json_array_size(json_object_get(reply, "records"));
	r = regroup(reply, by);
	if (r) {
		report("%s", strerror(-r));
		return REPORT_FAILED;
	}
	return session_output(session, reply, false, print, of_records ? &records : NULL);
}

static enum report_status run(struct session *session)
{
	if (session->arguments.by && strcmp(session->arguments.by, "dev"))
		return show_grouped(session);
	return session_show(session, METHOD, session_selection(session), 0, print, NULL);
}

const struct command command_latency = {
	.name = "latency",
	.summary = "show where packets waited: percentiles and histograms per device and segment",
	.arguments = arguments,
	.notes =
		"Count, mean and max are exact. Percentiles come from histograms and are at most 12.5 % off.\n"
		"With --by cgroup or --by process all numbers come from latency records: slow packets and a random sample.\n"
		"A segment is shown only where packets passed both of its ends.\n"
		"(other veth: 193) stands for 193 devices of this kind without histograms of their own; see the setting devices.memory.\n",
	.run = run,
};
