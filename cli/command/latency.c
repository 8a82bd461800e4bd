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
#define RECORDS_MAX 1000000

static const char *const ways[] = {"dev", "segment", "cgroup", "process", NULL};

static const char *const about[] = {"rx_latency", "tx_latency", "devices", NULL};

static const struct argument arguments[] = {
	{.name = "by",
	 .value = "WHAT",
	 .type = ARGUMENT_WORD,
	 .offset = offsetof(struct arguments, by),
	 .words = ways,
	 .help = "dev, segment (exact), cgroup or process (from records) (dev)"},
	OPTION_DEVICE("only the device of this name"),
	OPTION_NETNS,
	{},
};

static const char *device_of(const json_t *latency)
{
	return field_text_or(latency, "device", "(others)");
}

static bool is_by(const struct arguments *given, const char *by)
{
	return given->by && !strcmp(given->by, by);
}

/* Out of records, not out of histograms. */
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
		table_cell(table, PAGE_PLAIN, "%s", device_of(latency));
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
		page_line(page, PAGE_TITLE, "%s%s%s %s", segment ? "" : device_of(latency),
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
	page_put(page, PAGE_PLAIN, "No packet was timed");
	session_put_selection(session, page);
	page_line(page, PAGE_PLAIN, " since %s.", field_date(reply, "since").s);
}

static void put_origin(const struct session *session, struct page *page, const json_t *reply)
{
	uint64_t records = json_array_size(json_object_get(reply, "records"));

	page_put(page, PAGE_PLAIN, "%s", records ? "Out of " : "No latency record is held");
	if (records)
		page_put(page, PAGE_PLAIN, "%s latency records", units_count(records).s);
	session_put_selection(session, page);
	page_line(
		page, PAGE_PLAIN, "%s",
		records ? ", slow ones and a random sample of the others: not exact; histograms are, see --by dev or segment"
			: ".");
}

/* ---- the two ways ------------------------------------------------------------------------- */

/* `reply` with `member` in the place of what it was made of, for --json. */
static enum report_status print_json(json_t *reply, const char *by, json_t *latencies)
{
	if (json_object_set(reply, "latencies", latencies) ||
	    json_object_set_new(reply, "by", json_string(by))) {
		report("%s", strerror(ENOMEM));
		return REPORT_FAILED;
	}
	json_object_set_new(reply, "exact", json_boolean(!json_object_get(reply, "records")));
	json_object_del(reply, "records");
	return session_print_json(reply, false);
}

static enum report_status finish(struct session *session, struct page *page, int r)
{
	enum report_status status = coverage_ask(session, page, about);
	enum report_status printed = session_print(page, r);

	return status ? status : printed;
}

static enum report_status by_histograms(struct session *session)
{
	const struct arguments *given = &session->arguments;
	OWN_JSON json_t *reply = NULL;
	OWN_JSON json_t *merged = NULL;
	OWN_PAGE struct page *page = NULL;
	enum report_status status;
	const json_t *latencies;
	int r = 0;

	status = session_call(session, METHOD, session_selection(session), 0, &reply);
	if (status)
		return status;
	latencies = json_object_get(reply, "latencies");
	if (is_by(given, "segment")) {
		r = groups_merge(latencies, &merged);
		latencies = merged;
	}
	if (given->json)
		return merged ? print_json(reply, given->by, merged)
			      : session_print_json(reply, false);
	status = session_page(session, &page);
	if (status)
		return status;
	if (!r && json_array_size(latencies))
		r = put_latencies(page, latencies, given);
	else if (!r)
		put_nothing(session, page, reply);
	return finish(session, page, r);
}

static enum report_status by_held_records(struct session *session)
{
	const struct arguments *given = &session->arguments;
	OWN_JSON json_t *reply = NULL;
	OWN_JSON json_t *groups = NULL;
	OWN_PAGE struct page *page = NULL;
	json_t *parameters = session_selection(session);
	enum report_status status;
	int r;

	json_object_set_new(parameters, "limit", json_integer(RECORDS_MAX));
	status = session_call(session, RECORDS_METHOD, parameters, 0, &reply);
	if (status)
		return status;
	r = groups_of_records(json_object_get(reply, "records"), given->by, &groups);
	if (!r && given->json)
		return print_json(reply, given->by, groups);
	status = session_page(session, &page);
	if (status)
		return status;
	put_origin(session, page, reply);
	if (!r && json_array_size(groups))
		r = put_latencies(page, groups, given);
	return finish(session, page, r);
}

static enum report_status run(struct session *session)
{
	return by_records(&session->arguments) ? by_held_records(session) : by_histograms(session);
}

const struct command command_latency = {
	.name = "latency",
	.summary = "where packets waited, per device and segment",
	.arguments = arguments,
	.notes =
		"Count, mean and max are exact. Percentiles come from a histogram and are at most\n"
		"12.5 % off; by cgroup or process they are those of the records. A segment is only shown where packets passed both of its ends.\n",
	.run = run,
};
