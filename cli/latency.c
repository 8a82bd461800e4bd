/* SPDX-License-Identifier: GPL-2.0-or-later */
/* netflowctl latency: where packets waited, per device and segment. */
#include "cli/command.h"
#include "cli/coverage.h"
#include "cli/field.h"
#include "cli/segment.h"
#include "cli/table.h"

#define METHOD "io.netflowd.GetLatency"

static const char *const about[] = {"rx_latency", "tx_latency", "devices", NULL};

static const struct argument arguments[] = {
	{.name = "dev",
	 .value = "D",
	 .type = ARGUMENT_TEXT,
	 .offset = offsetof(struct arguments, device),
	 .help = "only the device of this name"},
	{.name = "netns",
	 .value = "N",
	 .type = ARGUMENT_NUMBER,
	 .offset = offsetof(struct arguments, netns),
	 .min = 1,
	 .max = UINT32_MAX,
	 .help = "only the network namespace of this inode number"},
	{},
};

static const char *device_of(const json_t *latency)
{
	return field_text_or(latency, "device", "(others)");
}

static void put_columns(struct table *table)
{
	static const char *const numbers[] = {"count", "mean", "p50", "p90", "p99", "p99.9", "max"};

	table_column(table, TABLE_LEFT, "device");
	table_column(table, TABLE_RIGHT, "netns");
	table_column(table, TABLE_LEFT, "segment");
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		table_column(table, TABLE_RIGHT, numbers[i]);
}

static void put_latency(struct table *table, const json_t *latency)
{
	static const char *const durations[] = {"p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns"};

	table_row(table);
	table_cell(table, PAGE_PLAIN, "%s", device_of(latency));
	table_cell(table, PAGE_PLAIN, "%s", field_units_number(latency, "netns").s);
	table_cell(table, PAGE_PLAIN, "%s %s", field_text(latency, "direction"),
		   field_text(latency, "segment"));
	table_cell(table, PAGE_PLAIN, "%s", field_units_count(latency, "count").s);
	table_cell(table, PAGE_PLAIN, "%s", field_units_duration_real(latency, "mean_ns").s);
	for (size_t i = 0; i < sizeof(durations) / sizeof(durations[0]); i++)
		table_cell(table, PAGE_PLAIN, "%s", field_units_duration(latency, durations[i]).s);
}

static int put_histograms(struct page *page, const json_t *latencies)
{
	const json_t *latency;
	size_t i;

	json_array_foreach(latencies, i, latency)
	{
		OWN_BUCKETS struct buckets buckets = {};
		int ret = segment_buckets(latency, &buckets);

		if (ret)
			return ret;
		page_end(page);
		page_line(page, PAGE_TITLE, "%s %s %s", device_of(latency),
			  field_text(latency, "direction"), field_text(latency, "segment"));
		segment_put_histogram(page, &buckets);
	}
	return 0;
}

static int put_latencies(struct page *page, const json_t *reply)
{
	const json_t *latencies = json_object_get(reply, "latencies");
	OWN_TABLE struct table *table = NULL;
	const json_t *latency;
	size_t i;
	int ret = table_new(&table, page_term(page), 0);

	if (ret)
		return ret;
	put_columns(table);
	json_array_foreach(latencies, i, latency) put_latency(table, latency);
	ret = table_put(table, page);
	return ret ? ret : put_histograms(page, latencies);
}

static void put_nothing(struct page *page, const json_t *reply, const struct arguments *given)
{
	page_put(page, PAGE_PLAIN, "No packet was timed");
	if (given->device)
		page_put(page, PAGE_PLAIN, " on %s", given->device);
	if (given->netns >= 0)
		page_put(page, PAGE_PLAIN, " in network namespace %lld", (long long)given->netns);
	page_line(page, PAGE_PLAIN, " since %s.", field_date(reply, "since").s);
}

static enum report_status run(struct session *session)
{
	const struct arguments *given = &session->arguments;
	OWN_PAGE struct page *page = NULL;
	OWN_JSON json_t *reply = NULL;
	enum report_status status, printed;
	int ret = 0;

	status = session_call(session, METHOD, session_selection(session), 0, &reply);
	if (status)
		return status;
	if (given->json)
		return session_print_json(reply, false);
	status = session_page(session, &page);
	if (status)
		return status;
	if (json_array_size(json_object_get(reply, "latencies")))
		ret = put_latencies(page, reply);
	else
		put_nothing(page, reply, given);
	status = coverage_ask(session, page, about);
	printed = session_print(page, ret);
	return status ? status : printed;
}

const struct command command_latency = {
	.name = "latency",
	.summary = "where packets waited, per device and segment",
	.arguments = arguments,
	.notes =
		"Count, mean and max are exact. Percentiles come from a histogram and are at most\n"
		"12.5 % off. A segment is only shown where packets passed both of its ends.\n",
	.run = run,
};
