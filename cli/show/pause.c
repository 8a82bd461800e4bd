/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/show/pause.h"

#include <string.h>

#include "cli/ask/field.h"

#define INDENT 2

static void put_source(struct page *page, const json_t *source)
{
	const char *file = field_text_or(source, "file", NULL);
	const char *wrong = field_text_or(source, "wrong", NULL);
	bool ends = json_object_get(source, "until");

	page_put(page, PAGE_PLAIN, "  ");
	page_paragraph(page, wrong ? PAGE_BAD : PAGE_PLAIN, INDENT,
		       "by %s (%s) since %s, until %s%s%s%s", file ? file : "netflowctl pause",
		       field_text(source, "level"), field_date(source, "since").s,
		       ends   ? field_date(source, "until").s
		       : file ? "the file is removed"
			      : "netflowctl resume",
		       file ? "; to end it, remove the file" : "", wrong ? "; " : "",
		       wrong ? wrong : "");
}

void pause_put(struct page *page, const json_t *paused)
{
	const json_t *sources = json_object_get(paused, "sources"), *source;
	size_t i;

	if (!paused)
		return;
	page_line(
		page, PAGE_WARN, "%s",
		!strcmp(field_text(paused, "level"), "all")
			? "PAUSED: netflowd counts nothing"
			: "PAUSED: netflowd follows no packets; drops and ring slots are counted");
	json_array_foreach(sources, i, source) put_source(page, source);
}
