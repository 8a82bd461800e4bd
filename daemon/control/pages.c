/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/control/pages.h"

#include <errno.h>
#include <stdlib.h>

#include "common/json.h"
#include "common/time.h"
#include "daemon/control/internal.h"
#include "daemon/process/loop.h"

#define SLICE_NS UINT64_C(1000000)
/* How often to look whether a slow client has taken the last page. */
#define RETRY_NS UINT64_C(5000000)

struct pages {
	struct pages *next, **link;
	struct control *control;
	struct call *call;
	const struct pages_source *source;
	void *state;
	bool more;
	size_t left; /* rows that may follow */
	json_t *rows;
	bool ended; /* there are no more rows */
	struct loop_source *slice, *retry;
};

static void pages_free(struct pages *pages)
{
	loop_source_free(&pages->slice);
	loop_source_free(&pages->retry);
	json_decref(pages->rows);
	pages->source->free(pages->state);
	*pages->link = pages->next;
	if (pages->next)
		pages->next->link = pages->link;
	free(pages);
}

static void on_closed(void *userdata)
{
	pages_free(userdata);
}

void pages_stop(struct control *control)
{
	while (control->pages)
		pages_free(control->pages);
}

/* ---- sending ---------------------------------------------------------------- */

static int failed(struct call *call, json_t *parameters, void *userdata)
{
	(void)call;
	(void)parameters;
	return *(const int *)userdata;
}

static void fail(struct pages *pages, int error)
{
	struct call *call = pages->call;

	call_on_close(call, NULL, NULL);
	pages_free(pages);
	call_continue(call, failed, NULL, &error);
}

static json_t *take_page(struct pages *pages)
{
	OWN_JSON json_t *page = pages->source->head(pages->state);

	if (!page || json_object_set_new(page, pages->source->member, pages->rows)) {
		pages->rows = NULL;
		return NULL;
	}
	pages->rows = NULL;
	return json_incref(page);
}

/* Send the page; the last one ends the call.  Returns true if more pages follow. */
static bool send_page(struct pages *pages)
{
	struct call *call = pages->call;
	bool last = pages->ended || !pages->left || !pages->more;
	json_t *page = take_page(pages);
	int r;

	if (!page) {
		fail(pages, -ENOMEM);
		return false;
	}
	if (last) {
		call_on_close(call, NULL, NULL);
		pages_free(pages);
		call_reply(call, page);
		return false;
	}
	r = call_page(call, page);
	/* If the client is gone, on_closed() comes later. */
	if (r == 0 || r == -EPIPE)
		return true;
	fail(pages, r);
	return false;
}

/* ---- making rows -------------------------------------------------------------- */

static int add_row(struct pages *pages)
{
	json_t *row = NULL;
	int r = pages->source->next(pages->state, &row);

	if (r <= 0) {
		pages->ended = r == 0;
		return r;
	}
	if (!row)
		return 0;
	if (json_array_append_new(pages->rows, row))
		return -ENOMEM;
	pages->left--;
	return 0;
}

/* Returns 1 if the page is complete, 0 if the time is over, or a negative errno. */
static int make_rows(struct pages *pages)
{
	uint64_t deadline_ns = time_monotonic() + SLICE_NS;
	size_t most = pages->more ? PAGES_ROWS : PAGES_ROWS_MAX;

	if (!pages->rows)
		pages->rows = json_array();
	if (!pages->rows)
		return -ENOMEM;
	while (!pages->ended && pages->left && json_array_size(pages->rows) < most) {
		int r = add_row(pages);

		if (r < 0)
			return r;
		if (time_monotonic() >= deadline_ns)
			return 0;
	}
	return 1;
}

static int on_slice(void *userdata)
{
	struct pages *pages = userdata;
	int r;

	if (call_is_behind(pages->call))
		return loop_timer_restart(pages->retry, RETRY_NS);
	r = make_rows(pages);
	if (r < 0) {
		fail(pages, r);
		return 0;
	}
	if (r == 1 && !send_page(pages))
		return 0;
	return loop_source_set_enabled(pages->slice, true);
}

static int on_retry(void *userdata)
{
	const struct pages *pages = userdata;

	return loop_source_set_enabled(pages->slice, true);
}

/* ---- beginning ---------------------------------------------------------------- */

size_t pages_read_limit(struct call *call, json_t *parameters, size_t otherwise)
{
	return call_read_count(call, parameters, "limit",
			       call_wants_more(call) ? SIZE_MAX : otherwise);
}

static int add_sources(struct pages *pages)
{
	struct loop *loop = pages->control->parts.loop;
	int r = loop_add_defer(loop, &pages->slice, on_slice, pages);

	/* It is armed when it is needed. */
	if (r == 0)
		r = loop_add_timer(loop, &pages->retry, TIME_NS_PER_SECOND, 0, on_retry, pages);
	return r;
}

int pages_reply(struct control *control, struct call *call, const struct pages_source *source,
		void *state, size_t limit)
{
	struct pages *pages = calloc(1, sizeof(*pages));
	int r;

	if (!pages) {
		source->free(state);
		return -ENOMEM;
	}
	pages->control = control;
	pages->call = call;
	pages->source = source;
	pages->state = state;
	pages->more = call_wants_more(call);
	pages->left = limit;
	pages->link = &control->pages;
	pages->next = control->pages;
	if (pages->next)
		pages->next->link = &pages->next;
	control->pages = pages;
	r = add_sources(pages);
	if (r < 0)
		pages_free(pages);
	else
		call_on_close(call, on_closed, pages);
	return r;
}
