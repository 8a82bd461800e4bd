/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "cli/ask/field.h"
#include "cli/report/sections.h"
#include "cli/show/drop_lines.h"
#include "common/knowledge.h"

/* Causes that are explained. */
#define CAUSES 5

/* Faults come first: policy and benign drops are often the most, and seldom the problem. */
static bool is_fault(const struct model_reason *reason)
{
	return !strcmp(field_text(reason->row, "class"), "fault");
}

static void put_texts(struct html *html, const struct knowledge *entry)
{
	html_markup(html, "<h4>Meaning</h4>\n");
	html_advice(html, entry->meaning);
	html_markup(html, "<h4>Cause</h4>\n");
	html_advice(html, entry->cause);
	html_markup(html, "<h4>How to distinguish the causes</h4>\n");
	html_advice(html, entry->tell);
	html_markup(html, "<h4>Remedy</h4>\n");
	html_advice(html, entry->remedy);
}

static void put_cause(struct html *html, const struct model *model,
		      const struct model_reason *reason)
{
	OWN_FREE char *name = drop_lines_reason(reason->row);
	const char *known = field_text_or(reason->row, "reason", NULL);
	const struct knowledge *entry = known ? knowledge_reason(known) : NULL;

	html_title(html, "%s: %s packets (%s), %s", name ? name : "?",
		   units_count(reason->packets).s,
		   units_share(reason->packets, field_count_or(model->drops, "packets", 0)).s,
		   field_text_or(reason->row, "class", "unknown"));
	if (entry)
		put_texts(html, entry);
	else
		html_paragraph(
			html, HTML_DIM,
			"netflowctl has no explanation of this reason; the location in the kernel is the clue.");
}

void section_causes(struct html *html, const struct model *model)
{
	size_t shown = 0;

	if (!model->reason_count)
		return;
	html_section(html, "causes", "Top causes");
	for (int faults = 1; faults >= 0; faults--)
		for (size_t i = 0; i < model->reason_count && shown < CAUSES; i++) {
			if (is_fault(&model->reasons[i]) != faults)
				continue;
			put_cause(html, model, &model->reasons[i]);
			shown++;
		}
	if (shown < model->reason_count)
		html_paragraph(
			html, HTML_DIM,
			"%zu more reasons have drops; `netflowctl explain REASON` explains each.",
			model->reason_count - shown);
	html_section_end(html);
}
