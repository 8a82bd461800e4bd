/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/live/summary.h"

#include <stdarg.h>

#include "cli/ask/field.h"
#include "cli/live/rate.h"
#include "cli/show/ledger.h"
#include "cli/terminal/text.h"
#include "common/cleanup.h"

#define NAME_COLUMN 11
#define PART_GAP " · "

void summary_done(struct summary *summary)
{
	json_decref(summary->measured);
	summary->measured = NULL;
}

void summary_note(struct summary *summary, const struct live_reading *reading)
{
	json_t *cost = json_object_get(reading->status, "cost");

	if (!json_is_number(json_object_get(cost, "programs_cpu_percent")))
		return;
	json_decref(summary->measured);
	summary->measured = json_incref(cost);
}

/* ---- lines of parts ------------------------------------------------------ */

static void put_name(struct page *page, const char *name)
{
	page_put(page, PAGE_TITLE, "%s", name);
	page_pad(page, NAME_COLUMN, 1);
}

/* Put the next part of a line; it goes on another line if this one is full. */
__attribute__((format(printf, 3, 4))) static void put_part(struct page *page, enum page_style style,
							   const char *format, ...)
{
	const struct term *term = page_term(page);
	OWN_FREE char *text = NULL;
	size_t column = page_column(page);
	va_list list;

	va_start(list, format);
	text = text_format(term->utf8, format, list);
	va_end(list);
	if (!text)
		return;
	if (column > NAME_COLUMN) {
		if (term->columns &&
		    column + text_width(PART_GAP) + text_width(text) > term->columns) {
			page_end(page);
			page_pad(page, NAME_COLUMN, 0);
		} else {
			page_put(page, PAGE_DIM, "%s", PART_GAP);
		}
	}
	page_put(page, style, "%s", text);
}

/* ---- the lines ----------------------------------------------------------- */

static void put_header(struct page *page, const json_t *status, int64_t interval_ms)
{
	const json_t *daemon = json_object_get(status, "daemon");
	const json_t *host = json_object_get(status, "host");
	struct field_time time = field_time(status, "time", field_text(status, "time"));

	put_name(page, "netflowd");
	put_part(page, PAGE_PLAIN, "%s", field_text(host, "name"));
	put_part(page, PAGE_PLAIN, "%.8s", time.s);
	put_part(page, PAGE_PLAIN, "up %s", field_units_duration(daemon, "uptime_ns").s);
	put_part(page, PAGE_PLAIN, "every %g s", (double)interval_ms / 1000);
	put_part(page, PAGE_DIM, "Linux %s", field_text(host, "kernel"));
	page_end(page);
}

static void put_packets(struct page *page, const struct live_reading *reading)
{
	static const char *const words[READING_PACKETS_COUNT] = {
		[READING_RECEIVED] = "received",       [READING_DELIVERED] = "delivered",
		[READING_TRANSMITTED] = "transmitted", [READING_DROPPED] = "dropped",
		[READING_FAULTS] = "faults",
	};

	/* Where netflowd saw a part: an estimate, and the least. */
	static const char *const marks[READING_PACKETS_COUNT] = {
		[READING_DELIVERED] = "≈ ",
		[READING_TRANSMITTED] = "≥ ",
	};

	put_name(page, "packets");
	for (size_t i = 0; i < READING_PACKETS_COUNT; i++) {
		double per_second = reading->packets_per_second[i];
		bool bad = i == READING_FAULTS && per_second > 0;

		/* All rates have one width, so that the line always breaks at the same part. */
		put_part(page, bad ? PAGE_BAD : PAGE_PLAIN, "%s %s%-8s", words[i],
			 marks[i] && !reading->whole && per_second >= 0 ? marks[i] : "",
			 rate_text(per_second).s);
	}
	if (reading->unseen_percent > 0)
		put_part(page, PAGE_WARN, "not followed %s of received",
			 units_percent(reading->unseen_percent).s);
	page_end(page);
}

static void put_cost(const struct summary *summary, struct page *page, const json_t *status)
{
	const json_t *cost = json_object_get(status, "cost");

	put_name(page, "cost");
	put_part(page, PAGE_PLAIN, "daemon %s CPU",
		 field_units_percent(cost, "daemon_cpu_now_percent").s);
	put_part(page, PAGE_PLAIN, "programs %s CPU",
		 field_units_percent(summary->measured, "programs_cpu_percent").s);
	put_part(page, PAGE_PLAIN, "memory %s", field_units_bytes(cost, "memory_bytes").s);
	page_end(page);
}

/* Journeys whose end netflowd did not see. */
static struct units_text lost_text(const json_t *inflight)
{
	uint64_t overwritten, invalidated;

	if (!field_count(inflight, "overwritten", &overwritten) ||
	    !field_count(inflight, "invalidated", &invalidated))
		return units_unknown();
	return units_count(overwritten + invalidated);
}

static void put_ledger(struct page *page, const json_t *status)
{
	const json_t *drops = json_object_get(status, "drops");
	const json_t *inflight = json_object_get(status, "inflight");
	struct ledger_verdict verdict = ledger_verdict(status);

	put_name(page, "ledger");
	put_part(page, verdict.style, "%s", verdict.text);
	put_part(page, PAGE_PLAIN, "in flight %s", field_units_count(inflight, "in_flight").s);
	put_part(page, PAGE_PLAIN, "journeys lost %s", lost_text(inflight).s);
	put_part(page, PAGE_PLAIN, "records throttled %s", field_units_count(drops, "throttled").s);
	if (field_count_or(drops, "ring_full", 0))
		put_part(page, PAGE_WARN, "ring full %s", field_units_count(drops, "ring_full").s);
	if (field_count_or(drops, "missed", 0) + field_count_or(inflight, "missed", 0))
		put_part(page, PAGE_WARN, "not seen %s drops, %s program runs",
			 field_units_count(drops, "missed").s,
			 field_units_count(inflight, "missed").s);
	page_end(page);
}

void summary_put(const struct summary *summary, struct page *page,
		 const struct live_reading *reading, int64_t interval_ms)
{
	put_header(page, reading->status, interval_ms);
	put_packets(page, reading);
	put_cost(summary, page, reading->status);
	put_ledger(page, reading->status);
}
