/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/show/held.h"

#include "cli/ask/field.h"
#include "cli/show/coverage.h"
#include "cli/show/ledger.h"
#include "cli/show/period.h"

static void put_ledger(struct page *page, const json_t *reply, const char *chosen)
{
	const json_t *ledger = json_object_get(reply, "ledger");

	if (field_count_or(ledger, "throttled", 0) || field_count_or(ledger, "ring_full", 0))
		page_line(
			page, PAGE_WARN,
			"%s %s chosen since the daemon started: %s recorded, %s throttled, %s lost because the ring was full",
			field_units_count(ledger, "chosen").s, chosen,
			field_units_count(ledger, "recorded").s,
			field_units_count(ledger, "throttled").s,
			field_units_count(ledger, "ring_full").s);
	ledger_put_unseen(page, ledger, 0);
}

static void put_all(const struct session *session, struct page *page, const json_t *reply,
		    const struct held *held)
{
	const json_t *records = json_object_get(reply, "records"), *record;
	uint64_t shown = json_array_size(records);
	struct field_time today = field_today();
	size_t i;

	if (shown)
		page_put(page, PAGE_PLAIN, "%s of %s %s", units_count(shown).s,
			 field_units_count(reply, "matched").s, held->many);
	else
		page_put(page, PAGE_PLAIN, "No record of a %s", held->one);
	session_put_selection(session, page);
	if (json_object_get(reply, "period")) {
		period_put_since(page, reply);
		page_line(page, PAGE_PLAIN, "%s", "");
	} else {
		page_line(page, PAGE_PLAIN, "; the daemon holds %s of at most %s records",
			  field_units_count(reply, "held").s,
			  field_units_count(reply, "capacity").s);
	}
	put_ledger(page, reply, held->chosen);
	json_array_foreach(records, i, record)
	{
		page_end(page);
		held->put(page, record, today.s);
	}
}

static enum report_status print_all(struct session *session, struct page *page, const json_t *reply,
				    void *data)
{
	const struct held *held = data;

	put_all(session, page, reply, held);
	period_put(page, reply, held->about);
	return coverage_print(session, page, 0, held->about);
}

enum report_status held_show(struct session *session, json_t *parameters, const struct held *held)
{
	return session_show(session, held->method, parameters, 0, print_all, (void *)held);
}

static enum report_status print_one(struct session *session, struct page *page,
				    const json_t *record, void *data)
{
	const struct held *held = data;

	(void)session;
	/* A stream can run past midnight, so the record's own day counts as today. */
	held->put(page, record, field_text(record, "time"));
	return session_print(page, 0);
}

enum report_status held_put_one(struct session *session, const json_t *record,
				const struct held *held)
{
	return session_output(session, record, true, print_one, (void *)held);
}
