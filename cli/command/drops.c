/* SPDX-License-Identifier: GPL-2.0-or-later */
/* netflowctl drops: dropped packets as counters, as records, or as they happen. */
#include <errno.h>
#include <string.h>

#include "cli/ask/classes.h"
#include "cli/ask/covered.h"
#include "cli/ask/field.h"
#include "cli/ask/options.h"
#include "cli/ask/stream.h"
#include "cli/command/command.h"
#include "cli/diff/compare.h"
#include "cli/file/pcap_option.h"
#include "cli/show/coverage.h"
#include "cli/show/drop_lines.h"
#include "cli/show/elsewhere.h"
#include "cli/show/period.h"
#include "cli/terminal/table.h"
#include "common/array.h"
#include "common/units.h"

#define COUNTERS_METHOD "io.netflowd.GetDrops"
#define RECORDS_METHOD "io.netflowd.GetDropRecords"

static const char *const fields[] = {"reason", "location", "dev",  "proto",
				     "netns",  "cgroup",   "flow", NULL};

static const char *const about[] = {"drop", NULL};

static const struct argument arguments[] = {
	OPTION("by", WORDS, by, .value = "FIELD", .words = fields,
	       .help = "group by reason, location, dev, proto, netns, cgroup, several of these with commas between, or flow (by all but flow); flow: from records, not exact"),
	OPTION("reason", TEXT, reason, .value = "REASON",
	       .help = "show only drops with this reason, a name or a number"),
	OPTION_DEVICE("show only drops on this device"),
	OPTION_NETNS,
	OPTION_COUNT(top, "show only the first N rows, 1 to 1048576 (40)"),
	OPTION_ALL,
	OPTION_PERIOD,
	OPTION("compare", DURATION, compare_ns, .value = "TIME", .min = 1000000000,
	       .max = 365LL * 86400 * 1000000000,
	       .help = "with --since, show what is new or has grown compared with the TIME before it, such as 24h"),
	OPTION_FLAG(faults, "show only drops of class fault, and print how many others are hidden"),
	OPTION("class", WORDS, classes, .value = "CLASS", .words = classes_names,
	       .help = "show only drops of these classes: fault, unknown, policy, benign, or several with commas between"),
	OPTION_FLAG(records, "show single packets instead of counters, newest last"),
	OPTION_FOLLOW("records"),
	OPTION_FLAG(stack,
		    "show records with kernel stacks, captured only while --follow --stack runs"),
	OPTION_LIMIT,
	OPTION_PCAP,
	{},
};

/* ---- counters ---------------------------------------------------------------------------- */

/* A column that identifies the drops which a row counts. */
struct key_column {
	const char *by; /* the word of --by that groups by this column */
	const char *title;
	const char *member;
	bool alone; /* shown only with that word */
	/* The text of the cell; NULL: that of the member, and "-" if the row lacks it. */
	const char *(*text)(const json_t *row);
};

/* The cgroup of a row: the container, otherwise the unit, otherwise the path. */
static const char *owner_text(const json_t *row)
{
	const json_t *owner = json_object_get(row, "owner");
	const char *text = field_text_or(owner, "container", NULL);

	if (!text)
		text = field_text_or(owner, "unit", NULL);
	return text ? text : field_text_or(owner, "cgroup", NULL);
}

/* Why a row lacks fields, or that its cgroup is not a socket's. */
static const char *note_text(const json_t *row)
{
	if (field_true(row, "gone"))
		return "gone";
	if (field_true(row, "unkeyed"))
		return "no key";
	if (field_true(row, "coarse"))
		return "coarse";
	return field_true(json_object_get(row, "owner"), "by_netns") ? "by netns" : NULL;
}

/* What the baseline says about the row's cause. */
static const char *mark_text(const json_t *row)
{
	return field_text_or(json_object_get(row, "baseline"), "mark", NULL);
}

static const struct key_column key_columns[] = {
	{"mark", "mark", "baseline", false, mark_text},
	{"reason", "reason", "reason", false, NULL},
	{"class", "class", "class", false, NULL},
	{"location", "location", "location", false, NULL},
	{"dev", "device", "device", false, NULL},
	{"netns", "netns", "netns", false, NULL},
	{"proto", "protocol", "protocol", false, NULL},
	{"cgroup", "cgroup", "cgroup_id", true, owner_text},
	{"flow", "flow", "flow", true, NULL},
	{"note", "note", "note", false, note_text},
};

/* With --by, only its columns and those that a row has: a device has its netns. */
static bool has_column(const struct key_column *column, const json_t *rows, const char *by)
{
	const json_t *row;
	size_t i;

	if (by && arguments_have_word(by, column->by))
		return true;
	if (!by && !column->alone && !column->text)
		return true;
	json_array_foreach(rows, i, row)
	{
		const json_t *member = json_object_get(row, column->member);

		if (member && !json_is_null(member) && !column->alone)
			return true;
		if (column->text == note_text && note_text(row))
			return true;
	}
	return false;
}

static enum page_style mark_style(const char *text, const struct key_column *column)
{
	if (column->text != mark_text)
		return PAGE_PLAIN;
	if (!strcmp(text, "new"))
		return PAGE_BAD;
	return !strcmp(text, "grown") ? PAGE_WARN : PAGE_PLAIN;
}

static void put_key(struct table *table, const struct key_column *column, const json_t *row)
{
	OWN_FREE char *reason = NULL;
	const char *text = column->text ? column->text(row) : NULL;
	uint64_t number;

	if (text) {
		table_cell(table, mark_style(text, column), "%s", text);
	} else if (!strcmp(column->member, "reason")) {
		reason = drop_lines_reason(row);
		table_cell(table, PAGE_PLAIN, "%s", reason ? reason : "?");
	} else if (!strcmp(column->member, "class")) {
		const char *class = field_text(row, "class");
		enum page_style style = !strcmp(class, "fault")	    ? PAGE_BAD
					: !strcmp(class, "unknown") ? PAGE_WARN
								    : PAGE_PLAIN;

		table_cell(table, style, "%s", class);
	} else if (field_count(row, column->member, &number)) {
		table_cell(table, PAGE_PLAIN, "%llu", (unsigned long long)number);
	} else {
		table_cell(table, PAGE_PLAIN, "%s", field_text(row, column->member));
	}
}

/* Whether an skb of these drops was several packets on the wire: GSO or GRO. */
static bool has_segments(const json_t *object)
{
	uint64_t packets = field_count_or(object, "packets", 0);

	return field_count_or(object, "segments", packets) != packets;
}

/* Trace events do not show how long a dropped packet was. */
static bool has_bytes(const json_t *object)
{
	return json_object_get(object, "bytes");
}

static void put_row(struct table *table, const json_t *row, const bool *shown, const json_t *reply)
{
	table_row(table);
	table_cell(table, PAGE_PLAIN, "%s", field_units_count(row, "packets").s);
	if (has_segments(reply))
		table_cell(table, PAGE_PLAIN, "%s", field_units_count(row, "segments").s);
	table_cell(
		table, PAGE_PLAIN, "%s",
		units_share(field_count_or(row, "packets", 0), field_count_or(reply, "packets", 0))
			.s);
	if (has_bytes(reply))
		table_cell(table, PAGE_PLAIN, "%s", field_units_bytes(row, "bytes").s);
	for (size_t c = 0; c < ARRAY_SIZE(key_columns); c++)
		if (shown[c])
			put_key(table, &key_columns[c], row);
	table_cell(table, PAGE_PLAIN, "%s",
		   field_time(row, "last", field_text_or(reply, "time", NULL)).s);
}

static int put_rows(struct page *page, const json_t *reply, const char *by)
{
	const json_t *rows = json_object_get(reply, "rows");
	bool shown[ARRAY_SIZE(key_columns)];
	OWN_TABLE struct table *table = NULL;
	const json_t *row;
	size_t i;
	int r = table_new(&table, page_term(page), 0);

	if (r)
		return r;
	table_column(table, TABLE_RIGHT, "packets");
	if (has_segments(reply))
		table_column(table, TABLE_RIGHT, "segments");
	table_column(table, TABLE_RIGHT, "share");
	if (has_bytes(reply))
		table_column(table, TABLE_RIGHT, "bytes");
	for (size_t c = 0; c < ARRAY_SIZE(key_columns); c++) {
		shown[c] = has_column(&key_columns[c], rows, by);
		if (shown[c])
			table_column(table, TABLE_LEFT, key_columns[c].title);
	}
	table_column(table, TABLE_LEFT, "last");
	json_array_foreach(rows, i, row) put_row(table, row, shown, reply);
	return table_put(table, page);
}

/* How many records --faults and --class hid; nothing without them. */
static void put_hidden(struct page *page, const json_t *reply)
{
	uint64_t hidden;

	if (field_count(reply, "hidden", &hidden))
		page_put(page, PAGE_PLAIN, "; %s records of other classes hidden",
			 units_count(hidden).s);
}

/* "fault 1, benign 20": the packets of each class that is shown, or that is hidden. */
static void put_classes(const struct session *session, struct page *page, const json_t *reply,
			bool hidden)
{
	const json_t *classes = json_object_get(reply, "classes");
	const char *before = hidden ? "; hidden: " : "; ";

	for (const char *const *name = classes_names; *name; name++) {
		uint64_t packets = field_count_or(classes, *name, 0);

		if (!packets || classes_take(&session->arguments, *name) == hidden)
			continue;
		page_put(page, PAGE_PLAIN, "%s", before);
		page_put(page, strcmp(*name, "fault") ? PAGE_PLAIN : PAGE_BAD, "%s %s", *name,
			 units_count(packets).s);
		before = ", ";
	}
}

/* skbs that were no packets have a line of their own. */
static void put_messages(struct page *page, const json_t *reply)
{
	uint64_t messages = field_count_or(reply, "messages", 0);

	if (messages == 1)
		page_line(
			page, PAGE_PLAIN,
			"The kernel also freed a message (AF_UNIX, netlink or such). It is not a packet.");
	else if (messages)
		page_line(
			page, PAGE_PLAIN,
			"The kernel also freed %s messages (AF_UNIX, netlink and such). They are not packets.",
			units_count(messages).s);
}

/* Where the evidence leaves several reasons, the function's entry says how to distinguish them. */
static void put_candidates(struct page *page, const json_t *rows)
{
	OWN_JSON json_t *named = json_object();
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		const char *function = field_text_or(row, "function", NULL);

		if (!function || !json_object_get(row, "candidates") ||
		    json_object_get(named, function))
			continue;
		if (!json_object_size(named))
			page_put(page, PAGE_PLAIN, "How to distinguish several reasons: ");
		page_put(page, PAGE_PLAIN, "%s`netflowctl explain %s`",
			 json_object_size(named) ? ", " : "", function);
		json_object_set_new(named, function, json_true());
	}
	if (json_object_size(named))
		page_line(page, PAGE_PLAIN, ".");
}

/* The drops that the selection cannot find any more; nothing without --dev and --netns. */
static void put_folded(struct page *page, const json_t *reply)
{
	const char *renamed = field_text_or(reply, "renamed", NULL);
	uint64_t folded = field_count_or(reply, "folded", 0);

	if (renamed)
		page_put(page, PAGE_PLAIN, "; the device has another name now: %s", renamed);
	if (folded)
		page_put(
			page, PAGE_WARN,
			"; of %s more the device or namespace is no longer known, or was another one of that name",
			units_count(folded).s);
}

/* Why no row has a mark, if there is too little history. */
static void put_baseline(struct page *page, const json_t *reply)
{
	const char *reason = field_text_or(json_object_get(reply, "baseline"), "reason", NULL);

	if (reason)
		page_line(page, PAGE_PLAIN, "Nothing is marked as new, grown or background: %s.",
			  reason);
}

/* Counters know no flows. */
static bool counts_records(const struct session *session)
{
	return session->arguments.by && !strcmp(session->arguments.by, "flow");
}

static void put_counters_summary(const struct session *session, struct page *page,
				 const json_t *reply)
{
	uint64_t rows = json_array_size(json_object_get(reply, "rows"));
	uint64_t matched = field_count_or(reply, "matched", rows);

	page_put(page, PAGE_PLAIN, "%s packets", field_units_count(reply, "packets").s);
	if (has_bytes(reply))
		page_put(page, PAGE_PLAIN, " (%s)", field_units_bytes(reply, "bytes").s);
	page_put(page, PAGE_PLAIN, " dropped");
	session_put_selection(session, page);
	period_put_since(page, reply);
	put_classes(session, page, reply, false);
	put_classes(session, page, reply, true);
	put_folded(page, reply);
	if (counts_records(session))
		page_put(page, PAGE_WARN, "; counted from the records still held, so not exact");
	if (rows < matched)
		page_put(page, PAGE_PLAIN, "; %s of %s rows", units_count(rows).s,
			 units_count(matched).s);
	page_end(page);
}

static void put_no_drops(const struct session *session, struct page *page, const json_t *reply)
{
	bool none = period_is_whole(reply, "drops") &&
		    !json_array_size(json_object_get(json_object_get(reply, "elsewhere"), "rows"));

	page_put(page, PAGE_PLAIN, "%s",
		 none ? "No packet was dropped" : "netflowd counted no dropped packet");
	session_put_selection(session, page);
	period_put_since(page, reply);
	if (counts_records(session))
		page_put(page, PAGE_PLAIN, ", counted from the records still held");
	put_classes(session, page, reply, true);
	put_folded(page, reply);
	page_line(page, PAGE_PLAIN, ".");
	put_messages(page, reply);
}

static int put_counters(const struct session *session, struct page *page, const json_t *reply)
{
	const json_t *rows = json_object_get(reply, "rows");
	int r;

	put_counters_summary(session, page, reply);
	r = put_rows(page, reply, session->arguments.by);
	if (session->arguments.top < 0)
		session_put_rest(page, json_array_size(rows), field_count_or(reply, "matched", 0));
	put_candidates(page, rows);
	put_messages(page, reply);
	put_baseline(page, reply);
	return r;
}

static enum report_status print_counters(struct session *session, struct page *page,
					 const json_t *reply, void *data)
{
	bool all = session->arguments.all, leads = elsewhere_leads(reply);
	int r = leads ? elsewhere_put(page, reply, ELSEWHERE_FAULTS, all) : 0;

	(void)data;
	if (!json_array_size(json_object_get(reply, "rows")))
		put_no_drops(session, page, reply);
	else if (!r)
		r = put_counters(session, page, reply);
	if (!r)
		r = elsewhere_put(page, reply, leads ? ELSEWHERE_OTHERS : ELSEWHERE_ALL, all);
	period_put(page, reply, about);
	return coverage_print(session, page, r, about);
}

/* ---- records ----------------------------------------------------------------------------- */

static void put_record_lines(struct page *page, const json_t *records, bool stack)
{
	struct drop_lines_widths widths = {};
	struct field_time today = field_today();
	const json_t *record;
	bool stacks = false;
	size_t i;

	json_array_foreach(records, i, record) drop_lines_measure(&widths, record, today.s);
	json_array_foreach(records, i, record) stacks |=
		drop_lines_put(page, &widths, record, today.s, stack);
	if (stack && !stacks)
		page_line(
			page, PAGE_WARN,
			"None of these records has a stack: netflowd captures stacks only while `drops --follow --stack` runs.");
}

static void put_records_summary(const struct session *session, struct page *page,
				const json_t *reply, uint64_t shown)
{
	if (shown)
		page_put(page, PAGE_PLAIN, "%s of %s records", units_count(shown).s,
			 field_units_count(reply, "matched").s);
	else
		page_put(page, PAGE_PLAIN, "No drop record");
	session_put_selection(session, page);
	if (json_object_get(reply, "period"))
		period_put_since(page, reply);
	else
		page_put(page, PAGE_PLAIN, "%s; the daemon holds %s of at most %s records",
			 shown ? "" : " is held", field_units_count(reply, "held").s,
			 field_units_count(reply, "capacity").s);
	put_hidden(page, reply);
	page_line(page, PAGE_PLAIN, "%s", shown ? "" : ".");
}

static enum report_status print_records(struct session *session, struct page *page,
					const json_t *reply, void *data)
{
	const json_t *records = json_object_get(reply, "records");
	uint64_t shown = json_array_size(records);

	(void)data;
	put_records_summary(session, page, reply, shown);
	if (shown)
		put_record_lines(page, records, session->arguments.stack);
	period_put(page, reply, about);
	return coverage_print(session, page, 0, about);
}

/* ---- the command ------------------------------------------------------------------------- */

/* Whether only records can answer: counters know nothing about single packets. */
static bool wants_records(const struct session *session)
{
	const struct arguments *given = &session->arguments;

	return given->records || given->stack || given->pcap || session->filter;
}

/* Why the options cannot be used together; NULL if they can. */
static const char *contradiction(const struct session *session)
{
	const struct arguments *given = &session->arguments;
	bool records = wants_records(session) || given->follow;

	if (given->compare_ns >= 0 && given->since_ns < 0)
		return "--compare needs --since: `netflowctl drops --since 1h --compare 24h`";
	if (given->compare_ns >= 0 && records)
		return "--compare is for counters; it cannot be used with --records, --follow, --stack, --pcap or an expression";
	if (records && given->by)
		return "--by groups counters; it cannot be used with --records, --follow, --stack, --pcap or an expression";
	if (given->by && arguments_have_word(given->by, "flow") && strchr(given->by, ','))
		return "--by flow is of records; it cannot be joined with other fields";
	if (given->pcap && (given->json || given->stack))
		return "--pcap writes packets; it cannot be used with --json or --stack";
	if (records && given->top >= 0)
		return "--top is for counters; use --limit for records";
	if (!records && given->limit >= 0)
		return "--limit is for records; use --top for counters";
	return NULL;
}

static json_t *counters_parameters(const struct session *session)
{
	const struct arguments *given = &session->arguments;

	return session_parameters(
		"by", session_text(given->by), "reason", session_text(given->reason), "device",
		session_text(given->device), "netns", session_text(given->netns), "classes",
		classes_parameter(given), "top", session_number(given->top), "limit",
		given->top >= 0 ? NULL : session_rows_limit(session), NULL);
}

static json_t *records_parameters(const struct session *session)
{
	const struct arguments *given = &session->arguments;

	return session_parameters(
		"reason", session_text(given->reason), "device", session_text(given->device),
		"netns", session_text(given->netns), "classes", classes_parameter(given), "filter",
		session_text(session->filter), "limit", session_records_limit(session), NULL);
}

/* ---- two periods ------------------------------------------------------------------------- */

static enum report_status print_compared(struct session *session, struct page *page,
					 const json_t *compared, void *data)
{
	size_t rows = json_array_size(json_object_get(compared, "rows"));
	size_t most = session->arguments.all ? SIZE_MAX : OPTION_ROWS_SHOWN;
	const json_t *before = json_object_get(compared, "before");
	int r = 0;

	(void)data;
	if (rows)
		r = compare_put(page, compared, most);
	else
		page_line(
			page, PAGE_PLAIN,
			"No drops are new, or significantly more frequent (1.5 times or more) than in the %s before.",
			units_duration((uint64_t)session->arguments.compare_ns).s);
	session_put_rest(page, rows < most ? rows : most, rows);
	period_put(page, compared, about);
	if (!covered_whole(before))
		period_put_covered(page, before, "compared with history that");
	return coverage_print(session, page, r, about);
}

/* All rows of a period: the replies are compared, not shown. */
static enum report_status period_parameters(const struct session *session, json_t **parameters)
{
	*parameters = counters_parameters(session);
	json_object_del(*parameters, "limit");
	json_object_del(*parameters, "top");
	return session_add_period(session, *parameters);
}

static enum report_status ask_now(struct session *session, json_t **now)
{
	OWN_JSON json_t *parameters = NULL;
	enum report_status status = period_parameters(session, &parameters);

	return status ? status
		      : session_call(session, COUNTERS_METHOD, TAKE_PTR(parameters), 0, now);
}

/* The time before `now`.  It ends where the buckets of that begin, so that none is in both. */
static enum report_status ask_before(struct session *session, const json_t *now, json_t **before)
{
	OWN_JSON json_t *parameters = NULL;
	const struct arguments given = session->arguments;
	int64_t since = given.since_ns, compare = given.compare_ns;
	enum report_status status;
	uint64_t from;

	if (field_epoch(json_object_get(now, "period"), "from", &from) && (int64_t)from < since)
		since = (int64_t)from;
	session->arguments.since_ns = since > compare ? since - compare : 0;
	session->arguments.until_ns = since;
	status = period_parameters(session, &parameters);
	session->arguments = given;
	return status ? status
		      : session_call_past(session, COUNTERS_METHOD, TAKE_PTR(parameters), before);
}

/* Without enough of it, everything would be new. */
static enum report_status refuse_comparison(const json_t *now, const json_t *before,
					    uint64_t compare_ns)
{
	uint64_t covered = field_count_or(json_object_get(before, "period"), "asked_covered_ns", 0);

	report("not enough history to compare: %s of %s; it begins at %s",
	       covered ? units_duration(covered).s : "nothing", units_duration(compare_ns).s,
	       field_date(json_object_get(now, "period"), "begins").s);
	return REPORT_FAILED;
}

static enum report_status compare_periods(struct session *session)
{
	OWN_JSON json_t *now = NULL, *before = NULL, *compared = NULL;
	enum report_status status = ask_now(session, &now);

	if (!status)
		status = ask_before(session, now, &before);
	if (status)
		return status;
	if (!compare_has_enough(before))
		return refuse_comparison(now, before, (uint64_t)session->arguments.compare_ns);
	compared = compare_drops(now, before);
	if (!compared) {
		report("%s", strerror(ENOMEM));
		return REPORT_FAILED;
	}
	return session_output(session, compared, false, print_compared, NULL);
}

/* ---- as they happen ---------------------------------------------------------------------- */

struct following {
	struct session *session;
	struct drop_lines_widths widths;
};

static enum report_status print_followed(struct session *session, struct page *page,
					 const json_t *drop, void *data)
{
	struct following *following = data;

	/* A stream can run past midnight, so the record's own day counts as today. */
	drop_lines_put(page, &following->widths, drop, field_text(drop, "time"),
		       session->arguments.stack);
	return session_print(page, 0);
}

static enum report_status put_followed(void *data, const json_t *drop)
{
	struct following *following = data;

	return session_output(following->session, drop, true, print_followed, following);
}

static enum report_status follow_drops(struct session *session)
{
	struct following following = {.session = session};
	const struct stream follow = {
		.kind = "drop", .record = put_followed, .data = &following, .duration_ms = -1};
	json_t *parameters = session_selection(session);

	if (session->arguments.stack && json_object_set_new(parameters, "stack", json_true())) {
		json_decref(parameters);
		parameters = NULL;
	}
	return stream_follow(session, parameters, &follow);
}

static enum report_status write_packets(struct session *session)
{
	return pcap_option_write(session, "drop", RECORDS_METHOD,
				 session->arguments.follow ? session_selection(session)
							   : records_parameters(session));
}

static enum report_status run(struct session *session)
{
	const struct arguments *given = &session->arguments;
	const char *wrong = contradiction(session);

	if (wrong) {
		report("%s", wrong);
		return REPORT_USAGE;
	}
	if (given->pcap)
		return write_packets(session);
	if (given->follow)
		return follow_drops(session);
	if (given->compare_ns >= 0)
		return compare_periods(session);
	if (wants_records(session))
		return session_show(session, RECORDS_METHOD, records_parameters(session), 0,
				    print_records, NULL);
	return session_show(session, COUNTERS_METHOD, counters_parameters(session), 0,
			    print_counters, NULL);
}

const struct command command_drops = {
	.name = "drops",
	.summary = "show why and where packets were dropped",
	.arguments = arguments,
	.word = "[EXPRESSION]",
	.words = true,
	.notes =
		"EXPRESSION is a tcpdump filter that selects records, see pcap-filter(7).\n"
		"Faults come first, then drops of class unknown, policy and benign. What only the kernel counted comes last, unless one of its faults has more packets than every fault above. With --by, too, drops of different classes are different rows.\n"
		"Counters are exact, except with --by flow. A table shows the first 40 rows; --all or --top N shows more, and --json prints all.\n"
		"A reason with (inferred) is netflowd's conclusion from the function that dropped the packet and from what the packet and its socket were then: the kernel gave none, or a coarser one. Several reasons are what the evidence leaves; `netflowctl explain FUNCTION` says how to distinguish them.\n"
		"Packets are skbs, as the kernel counts; segments are the packets on the wire that they were (GSO, GRO).\n"
		"The mark compares the last hour of a cause with what was normal on this host about a day ago: new, grown, recurring or background.\n"
		"Rows with the note gone are sums of keys that folded (setting drops.keys): idle ones, and those of namespaces that no longer exist. An answer about the past has at most 8,192 rows, and the rest is in such rows, too.\n"
		"Records are limited per cause (setting records.rate), so that a flood of one cause does not hide another.\n"
		"In a record, a task in parentheses only happened to run on the CPU and had nothing to do with the packet.\n",
	.run = run,
};
