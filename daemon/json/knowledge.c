/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Type Explanation. */
#include "common/knowledge.h"

#include "daemon/json/internal.h"
#include "daemon/json/json.h"

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
	return f.object;
}
