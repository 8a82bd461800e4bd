/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The completeness of the daemon's view of the host, and its cost. */
#include "cli/live/view.h"
#include "cli/show/coverage.h"
#include "cli/show/kernel_tables.h"
#include "cli/show/ledger.h"

static int put(struct view_state *state, struct page *page, const struct live_reading *reading,
	       size_t *rows)
{
	const json_t *status = reading->status;

	*rows = 0;
	summary_put(&state->frame.summary, page, reading, state->interval_ms);
	page_end(page);
	ledger_put(page, status);
	page_end(page);
	coverage_put_all(page, json_object_get(status, "coverage"));
	page_end(page);
	return kernel_tables_put(page, json_object_get(status, "tables"));
}

const struct view view_ledger = {.name = "ledger & cost", .put = put};
