/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Type Explanation. */
#include "common/knowledge.h"

#include "daemon/json/internal.h"
#include "daemon/json/json.h"

/* Type DropCase. */
static json_t *case_to_json(const struct knowledge_case *c)
{
	struct fill f = fill_new();

	fill_text(&f, "conditions", c->conditions);
	fill_text(&f, "class", knowledge_class_name(c->class));
	if (c->kernel_reason)
		fill_text(&f, "kernel_reason", c->kernel_reason);
	if (c->reason)
		fill_text(&f, "reason", c->reason);
	if (c->tell[0])
		fill_text(&f, "tell", c->tell);
	return f.object;
}

json_t *json_knowledge(const struct knowledge *entry)
{
	struct fill f = fill_new();

	fill_text(&f, "name", entry->name);
	fill_text(&f, "kind", knowledge_kind_name(entry->kind));
	fill_text(&f, "subject", entry->subject);
	fill_text(&f, "class", knowledge_class_name(entry->class));
	fill_text(&f, "meaning", entry->meaning);
	fill_text(&f, "cause", entry->cause);
	fill_text(&f, "tell", entry->tell);
	fill_text(&f, "remedy", entry->remedy);
	if (entry->case_count) {
		json_t *cases = json_array();

		for (size_t i = 0; i < entry->case_count; i++)
			fill_append(&cases, case_to_json(&entry->cases[i]));
		fill_put(&f, "drops", cases);
	}
	return f.object;
}
