/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/follow.h"
#include "cli/field.h"
#include "cli/records.h"
#include "cli/signals.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#define METHOD "io.netflowd.Monitor"

static enum report_status print_gap(struct session *session, uint64_t gap)
{
	OWN_PAGE struct page *page = NULL;
	OWN_JSON json_t *json = NULL;
	enum report_status status;

	if (session->arguments.json) {
		json = session_parameters("gap", session_number((int64_t)gap), NULL);
		return session_print_json(json, true);
	}
	status = session_page(session, &page);
	if (status)
		return status;
	page_line(page, PAGE_WARN, "gap: %s records lost here, read too slowly",
		  units_count(gap).s);
	return session_print(page, 0);
}

static enum report_status print_drop(struct session *session, struct records_widths *widths,
				     const json_t *drop)
{
	OWN_PAGE struct page *page = NULL;
	enum report_status status;

	if (session->arguments.json)
		return session_print_json(drop, true);
	status = session_page(session, &page);
	if (status)
		return status;
	/* days may change while it runs: a record's own day counts as today */
	records_put(page, widths, drop, field_text(drop, "time"), session->arguments.stack);
	return session_print(page, 0);
}

/* What one answer of the stream holds; its gap lies before its record. */
static enum report_status print_answer(struct session *session, struct records_widths *widths,
				       const json_t *answer, int64_t *printed)
{
	const json_t *drop = json_object_get(answer, "drop");
	enum report_status status = REPORT_FINE;
	uint64_t gap = field_count_or(answer, "gap", 0);

	if (gap)
		status = print_gap(session, gap);
	if (status || !json_is_object(drop))
		return status;
	++*printed;
	return print_drop(session, widths, drop);
}

static enum report_status follow(struct session *session)
{
	int64_t limit = session->arguments.limit;
	struct records_widths widths = {};
	bool begun = false, continues = true;
	int64_t printed = 0;

	while (continues && (limit < 0 || printed < limit)) {
		OWN_JSON json_t *answer = NULL;
		enum report_status status;
		int ret = varlink_next(session->varlink,
				       begun ? VARLINK_FOREVER : session->arguments.timeout_ms,
				       &answer, &continues);

		if (ret == -EINTR)
			return REPORT_FINE;
		if (ret)
			return report_call(session->varlink, METHOD, ret);
		begun = true;
		status = print_answer(session, &widths, answer, &printed);
		if (status)
			return status;
	}
	if (continues)
		return REPORT_FINE;
	report("the daemon ended the stream");
	return REPORT_FAILED;
}

enum report_status follow_drops(struct session *session)
{
	json_t *parameters = session_selection(session);
	enum report_status status;
	OWN_FD int signals = -1;
	int ret;

	if (session->arguments.stack && json_object_set_new(parameters, "stack", json_true())) {
		json_decref(parameters);
		parameters = NULL;
	}
	status = session_connect(session);
	if (status || !parameters) {
		json_decref(parameters);
		return status ? status : REPORT_FAILED;
	}
	signals = signals_open(SIGINT, SIGTERM, SIGHUP, 0);
	if (signals < 0) {
		json_decref(parameters);
		report("signals cannot be read: %s", strerror(-signals));
		return REPORT_FAILED;
	}
	varlink_interrupt(session->varlink, signals);
	ret = varlink_stream(session->varlink, METHOD, parameters, session->arguments.timeout_ms);
	if (ret)
		return report_call(session->varlink, METHOD, ret);
	return follow(session);
}
