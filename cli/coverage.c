/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/coverage.h"
#include "cli/field.h"

#include <string.h>

static bool is_about(const char *question, const char *const *about)
{
	if (!about)
		return true;
	for (; *about; about++)
		if (!strncmp(question, *about, strlen(*about)))
			return true;
	return false;
}

size_t coverage_put(struct page *page, const json_t *coverage, const char *const *about)
{
	size_t found = 0, i;
	const json_t *row;

	json_array_foreach(coverage, i, row)
	{
		const char *state = field_text(row, "state");

		if (!strcmp(state, "full") || !is_about(field_text(row, "question"), about))
			continue;
		page_line(page, PAGE_WARN, "%s is %s: %s", field_text(row, "question"), state,
			  field_text_or(row, "reason", "the daemon gives no reason"));
		found++;
	}
	return found;
}

enum report_status coverage_ask(struct session *session, struct page *page,
				const char *const *about)
{
	OWN_JSON json_t *reply = NULL;
	enum report_status status = session_call(session, "io.netflowd.GetStatus", NULL, 0, &reply);

	if (!status)
		coverage_put(page, json_object_get(reply, "coverage"), about);
	return status;
}
