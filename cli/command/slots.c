/* SPDX-License-Identifier: GPL-2.0-or-later */
/* netflowctl slots: the ring slots that transmits take, and those that ride the rocket. */
#include <errno.h>
#include <string.h>

#include "cli/ask/field.h"
#include "cli/ask/follow.h"
#include "cli/ask/options.h"
#include "cli/command/command.h"
#include "cli/show/coverage.h"
#include "cli/show/held.h"
#include "cli/show/slot_layout.h"
#include "cli/show/slots_report.h"

#define METHOD "io.netflowd.GetSlots"
#define RECORDS_METHOD "io.netflowd.GetSlotsRecords"
#define ROWS_MAX 1000000
/* Packets that are drawn below the counters. */
#define WORST 3

static const char *const about[] = {"slots", NULL};

static const struct argument arguments[] = {
	OPTION_DEVICE("only the device of this name"),
	OPTION_NETNS,
	OPTION_FLAG(records,
		    "single packets near or above the limit instead of counters, newest last"),
	OPTION_FLAG(follow, "records as they happen, until Ctrl-C; with --json one a line"),
	OPTION_COUNT(limit, "the newest N records (100); with --follow end after N"),
	{},
};

static json_t *counters_parameters(const struct session *session)
{
	const struct arguments *given = &session->arguments;

	return session_parameters("device", session_text(given->device), "netns",
				  session_text(given->netns), NULL);
}

static json_t *records_parameters(const struct session *session, int64_t limit)
{
	const struct arguments *given = &session->arguments;

	return session_parameters(
		"device", session_text(given->device), "netns", session_text(given->netns),
		"filter", session_text(session->filter), "limit", session_number(limit), NULL);
}

/* ---- counters ------------------------------------------------------------ */

/* Whether it is worse: too big, more slots, newer. */
static bool is_worse(const json_t *record, const json_t *than)
{
	return !than || field_count_or(record, "slots", 0) >= field_count_or(than, "slots", 0);
}

/* The worst packets whose records are held, the worst first. */
static void put_worst(struct page *page, const json_t *records)
{
	const json_t *worst[WORST] = {NULL}, *record;
	struct field_time today = field_today();
	size_t i;

	json_array_foreach(records, i, record)
	{
		for (size_t j = 0; j < WORST; j++) {
			if (!is_worse(record, worst[j]))
				continue;
			memmove(&worst[j + 1], &worst[j], (WORST - 1 - j) * sizeof(worst[0]));
			worst[j] = record;
			break;
		}
	}
	if (!worst[0])
		return;
	page_end(page);
	page_line(page, PAGE_TITLE, "worst packets held");
	for (i = 0; i < WORST && worst[i]; i++)
		slot_layout_put(page, worst[i], today.s);
}

static int put_counters(struct page *page, const json_t *reply, const json_t *records)
{
	const json_t *devices = json_object_get(reply, "devices"), *device;
	struct field_time today = field_today();
	size_t i;
	int r = 0;

	if (!json_array_size(devices))
		slots_put_nothing(page, reply);
	json_array_foreach(devices, i, device)
	{
		if (i)
			page_end(page);
		if (!r)
			r = slots_put_device(page, device, field_count_or(reply, "limit", 0));
	}
	put_worst(page, records);
	json_array_foreach(devices, i, device)
	{
		slots_put_remedy(page, device, records);
	}
	slots_put_log(page, reply, today.s);
	return r;
}

static enum report_status show_counters(struct session *session)
{
	OWN_PAGE struct page *page = NULL;
	OWN_JSON json_t *reply = NULL, *held = NULL;
	enum report_status status, printed;
	int r;

	status = session_call(session, METHOD, counters_parameters(session), 0, &reply);
	if (status)
		return status;
	if (session->arguments.json)
		return session_print_json(reply, false);
	if (json_array_size(json_object_get(reply, "devices")))
		status = session_call(session, RECORDS_METHOD,
				      records_parameters(session, ROWS_MAX), 0, &held);
	if (status)
		return status;
	status = session_page(session, &page);
	if (status)
		return status;
	r = put_counters(page, reply, json_object_get(held, "records"));
	status = coverage_ask(session, page, about);
	printed = session_print(page, r);
	return status ? status : printed;
}

/* ---- records ------------------------------------------------------------- */

static const struct held held = {.method = RECORDS_METHOD,
				 .one = "packet near or above the limit",
				 .many = "packets near or above the limit",
				 .chosen = "such packets",
				 .about = about,
				 .put = slot_layout_put};

static enum report_status put_one(void *data, const json_t *record)
{
	return held_put_one(data, record, &held);
}

static enum report_status run(struct session *session)
{
	const struct arguments *given = &session->arguments;
	const struct follow follow = {
		.kind = "slots", .record = put_one, .data = session, .duration_ms = -1};

	if (given->limit >= 0 && !given->records && !given->follow && !session->filter) {
		report("--limit is for --records and --follow");
		return REPORT_USAGE;
	}
	if (given->follow)
		return follow_records(session, session_selection(session), &follow);
	if (given->records || session->filter)
		return held_show(session, records_parameters(session, given->limit), &held);
	return show_counters(session);
}

const struct command command_slots = {
	.name = "slots",
	.summary = "ring slots of transmits: what rides the rocket on Xen, and the remedy",
	.arguments = arguments,
	.word = "[EXPRESSION]",
	.words = true,
	.notes =
		"A transmit takes a slot for every page of 4096 bytes that it touches. xen-netfront has 18 for one\n"
		"(the setting slots.limit). What takes more \"rides the rocket\": it is linearized or dropped.\n"
		"In the drawing of a packet a | stands between pages, a # for 256 bytes that are in use.\n"
		"EXPRESSION selects records, it is one of tcpdump's, see pcap-filter(7).\n",
	.run = run,
};
