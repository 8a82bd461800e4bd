/* SPDX-License-Identifier: GPL-2.0-or-later */
/* netflowctl latency: where packets waited, per device and segment. */
#include <errno.h>
#include <string.h>

#include "cli/ask/field.h"
#include "cli/ask/options.h"
#include "cli/command/command.h"
#include "cli/show/coverage.h"
#include "cli/show/estimate.h"
#include "cli/show/groups.h"
#include "cli/show/ledger.h"
#include "cli/show/period.h"
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
	       .help = "group by dev, segment, cgroup or process; cgroup and process: from records, not exact"),
	OPTION_DEVICE("show only this device"),
	OPTION_NETNS,
	OPTION_PERIOD,
	OPTION_FLAG(all, "show every segment of every device, and every histogram"),
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

/* The columns that identify a row, before those of its segment and its numbers. */
enum columns {
	COLUMNS_SEGMENT, /* none */
	COLUMNS_DEVICE,	 /* device and netns */
	COLUMNS_GROUP,	 /* the group of --by */
};

/* Where counts are estimates, the table says how many packets they come from. */
static bool has_estimates(const json_t *latencies)
{
	const json_t *latency;
	size_t i;

	json_array_foreach(latencies, i, latency)
	{
		if (estimate_is(latency))
			return true;
	}
	return false;
}

static void put_columns(struct table *table, enum columns columns, const char *by, bool estimates)
{
	static const char *const numbers[] = {"count", "mean", "p50", "p90", "p99", "p99.9", "max"};

	if (columns == COLUMNS_GROUP) {
		table_column(table, TABLE_LEFT, by);
	} else if (columns == COLUMNS_DEVICE) {
		table_column(table, TABLE_LEFT, "device");
		table_column(table, TABLE_RIGHT, "netns");
	}
	table_column(table, TABLE_LEFT, "segment");
	if (columns == COLUMNS_DEVICE)
		table_column(table, TABLE_RIGHT, "packets");
	if (estimates)
		table_column(table, TABLE_RIGHT, "followed");
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		table_column(table, TABLE_RIGHT, numbers[i]);
}

static void put_latency(struct table *table, const json_t *latency, enum columns columns,
			const char *by, bool estimates)
{
	static const char *const durations[] = {"p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns"};

	table_row(table);
	if (columns == COLUMNS_GROUP) {
		table_cell(table, PAGE_PLAIN, "%s", field_text(latency, by));
	} else if (columns == COLUMNS_DEVICE) {
		table_cell(table, PAGE_PLAIN, "%s", device_of(latency).s);
		table_cell(table, PAGE_PLAIN, "%s", field_units_number(latency, "netns").s);
	}
	table_cell(table, PAGE_PLAIN, "%s %s", field_text(latency, "direction"),
		   segment_name_text(field_text(latency, "segment")).s);
	if (columns == COLUMNS_DEVICE)
		table_cell(table, PAGE_PLAIN, "%s", field_units_count(latency, "packets").s);
	if (estimates)
		table_cell(
			table, PAGE_PLAIN, "%s",
			field_units_count(latency, estimate_is(latency) ? "followed" : "count").s);
	table_cell(table, PAGE_PLAIN, "%s", estimate_count(latency).s);
	table_cell(table, PAGE_PLAIN, "%s", field_units_duration_real(latency, "mean_ns").s);
	for (size_t i = 0; i < ARRAY_SIZE(durations); i++)
		table_cell(table, PAGE_PLAIN, "%s", field_units_duration(latency, durations[i]).s);
}

static int put_table(struct page *page, const json_t *latencies, size_t most, enum columns columns,
		     const char *by)
{
	OWN_TABLE struct table *table = NULL;
	bool estimates = has_estimates(latencies);
	const json_t *latency;
	size_t i;
	int r = table_new(&table, page_term(page), 0);

	if (r)
		return r;
	put_columns(table, columns, by, estimates);
	json_array_foreach(latencies, i, latency)
	{
		if (i < most)
			put_latency(table, latency, columns, by, estimates);
	}
	r = table_put(table, page);
	if (!r)
		session_put_rest(page, i < most ? i : most, i);
	return r;
}

static int put_histogram(struct page *page, const json_t *latency, const char *of)
{
	OWN_BUCKETS struct buckets buckets = {};
	int r = segment_buckets(latency, &buckets);

	if (r)
		return r;
	page_end(page);
	page_line(page, PAGE_TITLE, "%s%s%s %s", of, of[0] ? " " : "",
		  field_text(latency, "direction"),
		  segment_name_text(field_text(latency, "segment")).s);
	segment_put_histogram(page, &buckets);
	return 0;
}

/* The total that most packets have; without a total the segment that most have. */
static const json_t *main_segment(const json_t *segments)
{
	const json_t *main = NULL, *segment;
	bool total = false;
	size_t i;

	json_array_foreach(segments, i, segment)
	{
		bool is_total = strstr(field_text(segment, "segment"), "_total");

		if (main && (is_total < total ||
			     (is_total == total && field_count_or(segment, "count", 0) <=
							   field_count_or(main, "count", 0))))
			continue;
		main = segment;
		total = is_total;
	}
	return main;
}

static int put_histograms(struct page *page, const json_t *latencies, bool devices)
{
	const json_t *latency;
	size_t i;

	json_array_foreach(latencies, i, latency)
	{
		int r = put_histogram(page, latency, devices ? device_of(latency).s : "");

		if (r)
			return r;
	}
	return 0;
}

/* All segments of the selected devices together, the worst devices, and one histogram. */
static int put_summary(struct page *page, const json_t *reply)
{
	const json_t *segments = json_object_get(reply, "segments");
	const json_t *worst = json_object_get(reply, "worst");
	uint64_t devices = field_count_or(reply, "devices", 0);
	int r;

	page_line(page, PAGE_TITLE, "all devices");
	r = put_table(page, segments, SIZE_MAX, COLUMNS_SEGMENT, NULL);
	if (!r && json_array_size(worst)) {
		page_end(page);
		page_line(page, PAGE_TITLE, "the %zu of %s devices with the highest p99 in total",
			  json_array_size(worst), units_count(devices).s);
		r = put_table(page, worst, SIZE_MAX, COLUMNS_DEVICE, NULL);
	}
	if (!r)
		r = put_histogram(page, main_segment(segments), "all devices");
	if (r)
		return r;
	page_end(page);
	page_line(
		page, PAGE_DIM,
		"--dev DEV and --netns N show the segments of single devices, --all those of every device, with all histograms.");
	return 0;
}

/* The segments of the selected devices, and one histogram. */
static int put_devices(struct page *page, const json_t *reply, bool all)
{
	const json_t *latencies = json_object_get(reply, "latencies");
	const json_t *main = main_segment(json_object_get(reply, "segments"));
	int r = put_table(page, latencies, all ? SIZE_MAX : OPTION_ROWS_SHOWN, COLUMNS_DEVICE,
			  NULL);

	if (r)
		return r;
	if (all)
		return put_histograms(page, latencies, true);
	r = put_histogram(page, main, "");
	page_end(page);
	page_line(page, PAGE_DIM, "--all shows the histogram of every row.");
	return r;
}

static void put_nothing(const struct session *session, struct page *page, const json_t *reply)
{
	page_put(page, PAGE_PLAIN, "No latency was measured");
	session_put_selection(session, page);
	period_put_since(page, reply);
	page_line(page, PAGE_PLAIN, ".");
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

/* `data`: the number of records that the groups come from. */
static enum report_status print_groups(struct session *session, struct page *page,
				       const json_t *reply, void *data)
{
	const json_t *groups = json_object_get(reply, "latencies");
	const struct arguments *given = &session->arguments;
	const size_t *records = data;
	int r = 0;

	put_origin(session, page, *records);
	if (json_array_size(groups))
		r = put_table(page, groups, given->all ? SIZE_MAX : OPTION_ROWS_SHOWN,
			      COLUMNS_GROUP, given->by);
	period_put(page, reply, about);
	return coverage_print(session, page, r, about);
}

static int put_segments(struct page *page, const json_t *segments, bool all)
{
	int r = put_table(page, segments, SIZE_MAX, COLUMNS_SEGMENT, NULL);

	if (r)
		return r;
	return all ? put_histograms(page, segments, false)
		   : put_histogram(page, main_segment(segments), "");
}

/* Whether the command shows devices; otherwise all of them together. */
static bool selects_devices(const struct arguments *given)
{
	return given->all || given->device || given->netns || is_by(given, "dev");
}

static void put_estimates(struct page *page, const json_t *segments)
{
	if (!has_estimates(segments))
		return;
	page_end(page);
	page_paragraph(
		page, PAGE_DIM, 0,
		"≈ is an estimate with its 95 %% interval: netflowd did not follow all packets to their end. \"packets\" is exact. Mean and percentiles are estimates too, and max is that of the followed packets.");
}

static int put_counted_table(struct page *page, const json_t *rows, bool all)
{
	static const char *const columns[] = {"netns", "received", "bytes", "sent", "bytes"};
	size_t most = all ? SIZE_MAX : OPTION_ROWS_SHOWN, i;
	OWN_TABLE struct table *table = NULL;
	const json_t *row;
	int r = table_new(&table, page_term(page), 0);

	if (r)
		return r;
	page_end(page);
	page_line(page, PAGE_TITLE, "packets that the kernel counted, exact");
	table_column(table, TABLE_LEFT, "device");
	for (i = 0; i < ARRAY_SIZE(columns); i++)
		table_column(table, TABLE_RIGHT, columns[i]);
	json_array_foreach(rows, i, row)
	{
		if (i >= most)
			break;
		table_row(table);
		table_cell(table, PAGE_PLAIN, "%s", device_of(row).s);
		table_cell(table, PAGE_PLAIN, "%s", field_units_number(row, "netns").s);
		table_cell(table, PAGE_PLAIN, "%s", field_units_count(row, "received").s);
		table_cell(table, PAGE_PLAIN, "%s", field_units_bytes(row, "received_bytes").s);
		table_cell(table, PAGE_PLAIN, "%s", field_units_count(row, "sent").s);
		table_cell(table, PAGE_PLAIN, "%s", field_units_bytes(row, "sent_bytes").s);
	}
	r = table_put(table, page);
	if (!r)
		session_put_rest(page, i, json_array_size(rows));
	return r;
}

/* What the kernel counted on each device, below the latencies. */
static int put_counted(struct page *page, const json_t *counted, bool all)
{
	const json_t *rows = json_object_get(counted, "rows");
	uint64_t uncounted = field_count_or(counted, "uncounted", 0);
	int r = json_array_size(rows) ? put_counted_table(page, rows, all) : 0;

	if (r || !uncounted)
		return r;
	page_end(page);
	page_paragraph(
		page, PAGE_DIM, 0,
		"Devices whose packets the kernel's counters do not show: %s. They were deleted, or no process is in their network namespace.",
		units_count(uncounted).s);
	return 0;
}

static void put_followed(struct page *page, const json_t *followed)
{
	const struct estimate_sentences text = estimate_unfollowed(followed);

	if (!text.s[0])
		return;
	page_end(page);
	page_paragraph(page, PAGE_WARN, 0, "%s", text.s);
}

static enum report_status print(struct session *session, struct page *page, const json_t *reply,
				void *data)
{
	const struct arguments *given = &session->arguments;
	const json_t *segments = json_object_get(reply, "segments");
	int r = 0;

	(void)data;
	if (!json_array_size(segments))
		put_nothing(session, page, reply);
	else if (is_by(given, "segment"))
		r = put_segments(page, segments, given->all);
	else if (selects_devices(given))
		r = put_devices(page, reply, given->all);
	else
		r = put_summary(page, reply);
	if (!r)
		r = put_counted(page, json_object_get(reply, "counted"), given->all);
	put_estimates(page, segments);
	put_followed(page, json_object_get(reply, "followed"));
	ledger_put_unseen(page, json_object_get(reply, "ledger"), 0);
	period_put(page, reply, about);
	return coverage_print(session, page, r, about);
}

/* Turn a reply into one whose latencies are grouped by `by`, as --json prints it. */
static int regroup(json_t *reply, const char *by)
{
	json_t *groups = NULL;
	int r = groups_of_records(json_object_get(reply, "records"), by, &groups);

	if (r)
		return r;
	if (json_object_set_new(reply, "latencies", groups) ||
	    json_object_set_new(reply, "by", json_string(by)) ||
	    json_object_set_new(reply, "exact", json_false()))
		return -ENOMEM;
	json_object_del(reply, "records");
	return 0;
}

/* The daemon does not group by cgroup and process: these groups are made from records. */
static enum report_status show_groups(struct session *session)
{
	OWN_JSON json_t *reply = NULL;
	json_t *parameters = session_selection(session);
	enum report_status status = session_add_period(session, parameters);
	size_t records;
	int r;

	if (status) {
		json_decref(parameters);
		return status;
	}
	status = session_call(session, RECORDS_METHOD, parameters, 0, &reply);
	if (status)
		return status;
	records = json_array_size(json_object_get(reply, "records"));
	r = regroup(reply, session->arguments.by);
	if (r) {
		report("%s", strerror(-r));
		return REPORT_FAILED;
	}
	return session_output(session, reply, false, print_groups, &records);
}

static enum report_status run(struct session *session)
{
	const struct arguments *given = &session->arguments;
	json_t *parameters;

	if (by_records(given))
		return show_groups(session);
	parameters = session_selection(session);
	/* With --by segment only the sums are shown, not the rows. */
	if (is_by(given, "segment") && !given->json)
		json_object_set_new(parameters, "limit", json_integer(1));
	if (given->all || is_by(given, "dev"))
		json_object_set_new(parameters, "all", json_true());
	return session_show(session, METHOD, parameters, 0, print, NULL);
}

const struct command command_latency = {
	.name = "latency",
	.summary = "show where packets waited: percentiles and histograms per device and segment",
	.arguments = arguments,
	.notes =
		"Without options it shows the segments of all devices together, the 10 devices with the highest p99, and one histogram. --dev, --netns, --by dev and --all show single devices; --json has the rows of single devices only with one of these.\n"
		"Count, mean and max are exact, unless the count is shown as ≈ with its 95 % interval: then netflowd followed a part of the packets, and max is that of this part. Percentiles come from histograms and are at most 12.5 % off.\n"
		"\"packets\" is what the kernel counted on the device, received for rx and sent for tx. It is exact, whatever netflowd followed; \"count\" is what passed both ends of the segment. Where it is an estimate, \"followed\" says of how many packets. Hardware counts packets on the wire, before GRO merges them.\n"
		"With --by cgroup or --by process all numbers come from latency records: slow packets and a random sample.\n"
		"A segment is shown only where packets passed both of its ends.\n"
		"(other veth: 193) stands for 193 devices of this kind without histograms of their own; see the setting devices.memory.\n",
	.run = run,
};
