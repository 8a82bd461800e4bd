/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/show/coverage.h"

#include <string.h>

#include "cli/ask/field.h"

#define INDENT 2
#define GAP 2
/* The length of "unavailable", the longest state. */
#define STATE_WIDTH 11

static const char *reason_of(const json_t *row)
{
	return field_text_or(row, "reason", "the daemon gives no reason");
}

static bool same(const json_t *one, const json_t *other)
{
	return !strcmp(field_text(one, "state"), field_text(other, "state")) &&
	       !strcmp(reason_of(one), reason_of(other));
}

/* Whether a question is not full, and one of those that `about` selects. */
static bool worth_a_note(const json_t *row, const char *const *about)
{
	if (!strcmp(field_text(row, "state"), "full"))
		return false;
	for (; about && *about; about++)
		if (!strncmp(field_text(row, "question"), *about, strlen(*about)))
			return true;
	return !about;
}

/* The index of the first row with the state and reason of row `i`; it may be `i` itself. */
static size_t first_alike(const json_t *coverage, size_t i, const char *const *about)
{
	for (size_t j = 0; j < i; j++) {
		const json_t *row = json_array_get(coverage, j);

		if (worth_a_note(row, about) && same(row, json_array_get(coverage, i)))
			return j;
	}
	return i;
}

/* Put row `first` and all rows with its state and reason on one line. */
static void put_note(struct page *page, const json_t *coverage, size_t first,
		     const char *const *about)
{
	const json_t *row = json_array_get(coverage, first);
	size_t size, count = json_array_size(coverage);
	OWN_FREE char *names = NULL;
	FILE *out = open_memstream(&names, &size);

	if (!out)
		return;
	for (size_t i = first; i < count; i++) {
		const json_t *other = json_array_get(coverage, i);

		if (worth_a_note(other, about) && same(row, other))
			fprintf(out, "%s%s", i == first ? "" : ", ", field_text(other, "question"));
	}
	fclose(out);
	page_paragraph(page, PAGE_WARN, INDENT, "%s %s: %s", field_text(row, "state"),
		       names ? names : "", reason_of(row));
}

void coverage_put(struct page *page, const json_t *coverage, const char *const *about)
{
	size_t count = json_array_size(coverage);

	for (size_t i = 0; i < count; i++)
		if (worth_a_note(json_array_get(coverage, i), about) &&
		    first_alike(coverage, i, about) == i)
			put_note(page, coverage, i, about);
}

/* This is not a struct table, which cuts text on narrow terminals: a reason says what to do and must stay whole. */
void coverage_put_all(struct page *page, const json_t *coverage)
{
	size_t count = json_array_size(coverage), width = 0, column;

	for (size_t i = 0; i < count; i++) {
		size_t len = strlen(field_text(json_array_get(coverage, i), "question"));

		if (len > width)
			width = len;
	}
	column = INDENT + width + GAP + STATE_WIDTH + GAP;
	for (size_t i = 0; i < count; i++) {
		const json_t *row = json_array_get(coverage, i);
		const char *state = field_text(row, "state");
		bool full = !strcmp(state, "full");
		enum page_style bad = !strcmp(state, "degraded") ? PAGE_WARN : PAGE_BAD;
		size_t alike = first_alike(coverage, i, NULL);

		page_put(page, PAGE_PLAIN, "  %s", field_text(row, "question"));
		page_pad(page, INDENT + width + GAP, 0);
		page_put(page, full ? PAGE_GOOD : bad, "%s", state);
		page_pad(page, column, 0);
		if (full || alike == i)
			page_paragraph(page, PAGE_PLAIN, column, "%s", full ? "" : reason_of(row));
		else
			page_line(page, PAGE_PLAIN, "same reason as %s",
				  field_text(json_array_get(coverage, alike), "question"));
	}
}

/* Ask the daemon for its coverage, then do coverage_put().  A failure is reported. */
static enum report_status coverage_ask(struct session *session, struct page *page,
				       const char *const *about)
{
	OWN_JSON json_t *reply = NULL;
	enum report_status status = session_call(session, "io.netflowd.GetStatus", NULL, 0, &reply);

	if (!status)
		coverage_put(page, json_object_get(reply, "coverage"), about);
	return status;
}

enum report_status coverage_print(struct session *session, struct page *page, int put,
				  const char *const *about)
{
	const struct arguments *given = &session->arguments;
	bool past = given->since_ns >= 0 || given->until_ns >= 0;
	enum report_status asked = past ? REPORT_FINE : coverage_ask(session, page, about);
	enum report_status printed = session_print(page, put);

	return asked ? asked : printed;
}
