/* SPDX-License-Identifier: GPL-2.0-or-later */
/* netflowctl slow: single packets and where their time went. */
#include "cli/command.h"
#include "cli/coverage.h"
#include "cli/field.h"
#include "cli/follow.h"
#include "cli/options.h"
#include "cli/packets.h"
#include "cli/timeline.h"

#include <errno.h>
#include <string.h>

#define METHOD "io.netflowd.GetLatencyRecords"
/* Longer than any duration that histograms tell apart. */
#define OVER_MAX_NS (3600LL * 1000000000)

static const char *const about[] = {"rx_latency", "tx_latency", NULL};

static const struct argument arguments[] = {
	{.name = "over",
	 .value = "TIME",
	 .type = ARGUMENT_DURATION,
	 .offset = offsetof(struct arguments, over_ns),
	 .max = OVER_MAX_NS,
	 .help = "of any packets those that took longer, in all or in the --segment"},
	{.name = "segment",
	 .value = "S",
	 .type = ARGUMENT_TEXT,
	 .offset = offsetof(struct arguments, segment),
	 .help = "only those that have this segment, such as 'receive->copy'"},
	OPTION_DEVICE("only those that crossed the device of this name"),
	OPTION_NETNS,
	OPTION_FLAG(samples, "packets that were drawn at random instead of slow ones"),
	OPTION_FLAG(all, "both"),
	OPTION_FLAG(follow, "as they happen, until Ctrl-C; with --json one a line"),
	OPTION_COUNT(limit, "the newest N records (100); with --follow end after N"),
	OPTION_PCAP("them"),
	{},
};

/* The segment with its arrow, however it was typed. */
static json_t *segment_parameter(const char *given)
{
	const char *dash = given ? strstr(given, "->") : NULL;
	OWN_FREE char *text = NULL;

	if (!dash)
		return session_text(given);
	if (asprintf(&text, "%.*s→%s", (int)(dash - given), given, dash + 2) < 0)
		return NULL;
	return session_text(text);
}

/* With a bound of one's own the daemon's thresholds do not matter. */
static json_t *slow_parameter(const struct arguments *given)
{
	if (given->samples)
		return json_false();
	return given->all || given->over_ns >= 0 ? NULL : json_true();
}

static json_t *parameters_of(const struct session *session)
{
	const struct arguments *given = &session->arguments;

	return session_parameters("over_ns", session_number(given->over_ns), "segment",
				  segment_parameter(given->segment), "device",
				  session_text(given->device), "netns",
				  session_number(given->netns), "filter",
				  session_text(session->filter), "slow", slow_parameter(given),
				  "limit", session_number(given->follow ? -1 : given->limit), NULL);
}

static const char *kind_of(const struct arguments *given, bool many)
{
	if (given->samples)
		return many ? "samples" : "sample";
	if (given->all || given->over_ns >= 0)
		return many ? "paths" : "path";
	return many ? "slow paths" : "slow path";
}

static void put_ledger(struct page *page, const json_t *reply)
{
	const json_t *ledger = json_object_get(reply, "ledger");

	if (field_count_or(ledger, "throttled", 0) || field_count_or(ledger, "ring_full", 0))
		page_line(page, PAGE_WARN,
			  "of %s paths chosen since the daemon's start %s were recorded, %s "
			  "throttled, %s lost to a full ring",
			  field_units_count(ledger, "chosen").s,
			  field_units_count(ledger, "recorded").s,
			  field_units_count(ledger, "throttled").s,
			  field_units_count(ledger, "ring_full").s);
}

static void put_held(const struct session *session, struct page *page, const json_t *reply)
{
	const json_t *records = json_object_get(reply, "records"), *record;
	uint64_t shown = json_array_size(records);
	struct field_time today = field_today();
	size_t i;

	if (shown)
		page_put(page, PAGE_PLAIN, "%s of %s %s", units_count(shown).s,
			 field_units_count(reply, "matched").s, kind_of(&session->arguments, true));
	else
		page_put(page, PAGE_PLAIN, "No record of a %s",
			 kind_of(&session->arguments, false));
	session_put_selection(session, page);
	page_line(page, PAGE_PLAIN, "; the daemon holds %s of at most %s records",
		  field_units_count(reply, "held").s, field_units_count(reply, "capacity").s);
	put_ledger(page, reply);
	json_array_foreach(records, i, record)
	{
		page_end(page);
		timeline_put(page, record, today.s);
	}
}

static enum report_status put_one(void *data, const json_t *record)
{
	struct session *session = data;
	OWN_PAGE struct page *page = NULL;
	enum report_status status;

	if (session->arguments.json)
		return session_print_json(record, true);
	status = session_page(session, &page);
	if (status)
		return status;
	/* days may change while it runs: a record's own day counts as today */
	timeline_put(page, record, field_text(record, "time"));
	return session_print(page, 0);
}

static enum report_status show_held(struct session *session)
{
	OWN_PAGE struct page *page = NULL;
	OWN_JSON json_t *reply = NULL;
	enum report_status status, printed;

	status = session_call(session, METHOD, parameters_of(session), 0, &reply);
	if (status)
		return status;
	if (session->arguments.json)
		return session_print_json(reply, false);
	status = session_page(session, &page);
	if (status)
		return status;
	put_held(session, page, reply);
	status = coverage_ask(session, page, about);
	printed = session_print(page, 0);
	return status ? status : printed;
}

static enum report_status run(struct session *session)
{
	const struct arguments *given = &session->arguments;
	const struct follow follow = {
		.kind = "latency", .record = put_one, .data = session, .duration_ms = -1};

	if (given->samples && given->all) {
		report("--samples and --all do not go together");
		return REPORT_USAGE;
	}
	if (given->pcap && given->json) {
		report("--pcap writes packets; it does not go with --json");
		return REPORT_USAGE;
	}
	if (given->pcap)
		return packets_write(session, "latency", METHOD, parameters_of(session));
	if (given->follow)
		return follow_records(session, parameters_of(session), &follow);
	return show_held(session);
}

const struct command command_slow = {
	.name = "slow",
	.summary = "packets that took long, and at which stage",
	.arguments = arguments,
	.word = "[EXPRESSION]",
	.words = true,
	.notes = "EXPRESSION is one of tcpdump's, see pcap-filter(7): tcp port 443 and net "
		 "10.0.0.0/8.\n"
		 "Each stage stands with the time since the first one, then that since the one "
		 "before\n"
		 "and its share of the total; * marks where most of it went. Totals may only be "
		 "compared\n"
		 "where no stage is missing.\n",
	.run = run,
};
