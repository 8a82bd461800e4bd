/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/live/view.h"

#include "cli/ask/field.h"
#include "cli/show/coverage.h"
#include "common/array.h"

static int put_overview(struct view_state *state, struct page *page,
			const struct live_reading *reading, size_t *rows)
{
	*rows = 0;
	return frame_put(&state->frame, page, reading, state->interval_ms);
}

const struct view view_overview = {.name = "overview", .put = put_overview};

static const struct view *const views[VIEW_COUNT] = {
	[VIEW_OVERVIEW] = &view_overview, [VIEW_DROPS] = &view_drops,
	[VIEW_LATENCY] = &view_latency,	  [VIEW_NAPI] = &view_napi,
	[VIEW_LEDGER] = &view_ledger,
};

void view_done(struct view_state *state)
{
	frame_done(&state->frame);
}

void view_note(struct view_state *state, const struct live_reading *reading)
{
	summary_note(&state->frame.summary, reading);
	history_add(&state->history, reading);
}

void view_sort(struct view_state *state)
{
	const char *const *orders = views[state->shown]->orders;
	size_t *order = &state->order[state->shown];

	if (!orders)
		return;
	++*order;
	if (!orders[*order])
		*order = 0;
	state->scroll = 0;
}

/* Brackets mark the current view, because a terminal may show neither bold nor dim text. */
static void put_names(const struct view_state *state, struct page *page, const char *device)
{
	for (size_t i = 0; i < VIEW_COUNT; i++) {
		bool shown = i == state->shown && !state->help;

		page_put(page, shown ? PAGE_TITLE : PAGE_DIM, "%s%zu %s%s", shown ? "[" : " ",
			 i + 1, views[i]->name, shown ? "]" : " ");
	}
	if (device)
		page_put(page, PAGE_WARN, "  device %s only", device);
	if (state->paused)
		page_put(page, PAGE_BAD, "  paused");
	page_end(page);
}

static void put_help(struct page *page)
{
	static const struct {
		const char *keys;
		const char *action;
	} help[] = {
		{"1 to 5, Tab", "switch to another view"},
		{"s", "change the order of the rows"},
		{"up, down", "scroll the rows"},
		{"/", "show one device: type its name, then Enter; an empty name shows all"},
		{"space, p", "pause or resume"},
		{"h, ?", "show or hide this help"},
		{"q, Ctrl-C", "quit"},
	};

	page_end(page);
	for (size_t i = 0; i < ARRAY_SIZE(help); i++) {
		page_put(page, PAGE_TITLE, "  %s", help[i].keys);
		page_pad(page, 16, 2);
		page_line(page, PAGE_PLAIN, "%s", help[i].action);
	}
	page_end(page);
	page_paragraph(
		page, PAGE_PLAIN, 2, "  %s",
		"Rates and percentiles cover the last interval. If you choose a device, drops, latency and polls show that device only; the packets in the overview, the softirqs and the ledger always cover all devices.");
}

int view_put(struct view_state *state, struct page *page, const struct live_reading *reading,
	     const char *device)
{
	const struct view *view = views[state->shown];
	size_t rows = 0;
	int r;

	put_names(state, page, device);
	if (state->help) {
		put_help(page);
		return 0;
	}
	r = view->put(state, page, reading, &rows);
	/* A new reading may have fewer rows. */
	if (state->scroll && state->scroll >= rows)
		state->scroll = rows ? rows - 1 : 0;
	return r;
}

void view_put_keys(const struct view_state *state, struct page *page)
{
	const struct view *view = views[state->shown];

	page_put(page, PAGE_DIM, "q quit  h help  1-5 views");
	if (view->orders)
		page_put(page, PAGE_DIM, "  s sort: %s", view->orders[state->order[state->shown]]);
	page_put(page, PAGE_DIM, "  / device  space %s", state->paused ? "resume" : "pause");
}
