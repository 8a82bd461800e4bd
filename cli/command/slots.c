/* SPDX-License-Identifier: GPL-2.0-or-later */
/* netflowctl slots: the ring slots that transmits need, and the packets that ride the rocket. */
#include <errno.h>
#include <string.h>

#include "cli/ask/field.h"
#include "cli/ask/options.h"
#include "cli/ask/stream.h"
#include "cli/command/command.h"
#include "cli/show/coverage.h"
#include "cli/show/held.h"
#include "cli/show/period.h"
#include "cli/show/slot_layout.h"
#include "cli/show/slots_report.h"

#define METHOD "io.netflowd.GetSlots"
#define RECORDS_METHOD "io.netflowd.GetSlotsRecords"
/* Packets to draw below the counters. */
#define WORST 3
/* Devices that are shown without --all. */
#define DEVICES_SHOWN 8

static const char *const about[] = {"slots", NULL};

static const struct argument arguments[] = {
	OPTION_DEVICE("show only transmits of this device"),
	OPTION_NETNS,
	OPTION_FLAG(records,
		    "show single packets near or above the limit instead of counters, newest last"),
	OPTION_FOLLOW("records"),
	OPTION_LIMIT,
	OPTION_PERIOD,
	OPTION_FLAG(all, "show all devices; without it the first 8, and how many more there are"),
	{},
};

static json_t *counters_parameters(const struct session *session)
{
	const struct arguments *given = &session->arguments;

	return session_parameters(
		"device", session_text(given->device), "netns", session_text(given->netns), "limit",
		given->all || given->json ? NULL : json_integer(DEVICES_SHOWN), NULL);
}

static json_t *records_parameters(const struct session *session, bool all)
{
	const struct arguments *given = &session->arguments;

	return session_parameters("device", session_text(given->device), "netns",
				  session_text(given->netns), "filter",
				  session_text(session->filter), "limit",
				  all ? NULL : session_records_limit(session), NULL);
}

/* ---- counters ------------------------------------------------------------ */

/* More slots are worse; of two packets with the same number the newer one, which comes later. */
static bool is_worse(const json_t *record, const json_t *than)
{
	return !than || field_count_or(record, "slots", 0) >= field_count_or(than, "slots", 0);
}

/* The worst of the packets whose records the daemon holds, the worst first. */
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
	session_put_rest(page, json_array_size(devices),
			 field_count_or(reply, "matched", json_array_size(devices)));
	put_worst(page, records);
	json_array_foreach(devices, i, device)
	{
		slots_put_remedy(page, device, records);
	}
	slots_put_log(page, reply, today.s);
	return r;
}

static enum report_status print_counters(struct session *session, struct page *page,
					 const json_t *reply, void *data)
{
	OWN_JSON json_t *held = NULL;
	enum report_status status = REPORT_FINE;
	int r;

	(void)data;
	if (json_array_size(json_object_get(reply, "devices"))) {
		json_t *parameters = records_parameters(session, true);

		session_add_period(session, parameters);
		status = session_call(session, RECORDS_METHOD, parameters, 0, &held);
	}
	if (status)
		return status;
	r = put_counters(page, reply, json_object_get(held, "records"));
	period_put(page, reply, about);
	return coverage_print(session, page, r, about);
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
	const struct stream follow = {
		.kind = "slots", .record = put_one, .data = session, .duration_ms = -1};

	if (given->limit >= 0 && !given->records && !given->follow && !session->filter) {
		report("--limit is for records; use it with --records, --follow or an expression");
		return REPORT_USAGE;
	}
	if (given->follow)
		return stream_follow(session, session_selection(session), &follow);
	if (given->records || session->filter)
		return held_show(session, records_parameters(session, false), &held);
	return session_show(session, METHOD, counters_parameters(session), 0, print_counters, NULL);
}

const struct command command_slots = {
	.name = "slots",
	.summary = "show the ring slots that transmits need on Xen, overflows and the remedy",
	.arguments = arguments,
	.word = "[EXPRESSION]",
	.words = true,
	.notes =
		"A transmit needs a slot for every page of 4096 bytes that it touches; xen-netfront has at most 18 for one packet (setting slots.limit).\n"
		"A packet that needs more \"rides the rocket\": the driver linearizes or drops it.\n"
		"In the drawing of a packet, | separates pages, # is up to 256 bytes in use, and . is 256 bytes not in use.\n"
		"EXPRESSION is a tcpdump filter that selects records, see pcap-filter(7).\n",
	.run = run,
};
