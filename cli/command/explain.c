/* SPDX-License-Identifier: GPL-2.0-or-later */
/* netflowctl explain: what a name means, and what to do.  The texts are part of the program. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/ask/field.h"
#include "cli/command/command.h"
#include "cli/terminal/table.h"
#include "common/array.h"
#include "common/knowledge.h"
#include "common/nearest.h"

#define COLUMN 10

/* The texts of an entry in the order of the page; the titles also name the members in JSON. */
static const struct {
	const char *title;
	size_t offset;
} texts[] = {
	{"meaning", offsetof(struct knowledge, meaning)},
	{"cause", offsetof(struct knowledge, cause)},
	{"tell", offsetof(struct knowledge, tell)},
	{"remedy", offsetof(struct knowledge, remedy)},
};

static const char *text_of(const struct knowledge *entry, size_t i)
{
	return *(const char *const *)((const char *)entry + texts[i].offset);
}

static enum page_style class_style(enum knowledge_class class)
{
	return class == KNOWLEDGE_FAULT ? PAGE_BAD : PAGE_PLAIN;
}

/* ---- for people ---------------------------------------------------------------------------- */

static void put_text(struct page *page, const char *title, const char *text)
{
	page_put(page, PAGE_TITLE, "%s", title);
	page_advice(page, COLUMN, text);
}

/* "listen, full: TCP_LISTEN_OVERFLOW, fault. How to tell." */
static void put_case(struct page *page, const struct knowledge_case *c)
{
	const char *and = c->kernel_reason && c->conditions[0] ? ", " : "";
	char text[512];

	snprintf(text, sizeof(text), "%s%s%s%s%s, %s%s%s", c->kernel_reason ? c->kernel_reason : "",
		 and, c->conditions, c->kernel_reason || c->conditions[0] ? ": " : "",
		 c->reason ? c->reason : "no reason", knowledge_class_name(c->class),
		 c->tell[0] ? ". " : "", c->tell);
	page_advice(page, COLUMN, text);
}

static void put_entry(struct page *page, const struct knowledge *entry)
{
	page_put(page, PAGE_TITLE, "%s", entry->name);
	page_put(page, PAGE_PLAIN, ": %s", knowledge_kind_name(entry->kind));
	if (strcmp(entry->subject, "core"))
		page_put(page, PAGE_PLAIN, " of %s", entry->subject);
	page_put(page, PAGE_PLAIN, ", ");
	page_line(page, class_style(entry->class), "%s", knowledge_class_name(entry->class));
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		put_text(page, texts[i].title, text_of(entry, i));
	for (size_t i = 0; i < entry->case_count; i++) {
		page_put(page, PAGE_TITLE, "%s", i ? "" : "drops");
		put_case(page, &entry->cases[i]);
	}
}

static void put_found(struct page *page, const char *name)
{
	const struct knowledge *entry;
	bool first = true;

	for (size_t i = 0; (entry = knowledge_at(i)); i++) {
		if (!knowledge_meant(entry, name))
			continue;
		if (!first)
			page_end(page);
		first = false;
		put_entry(page, entry);
	}
}

static int put_names(struct page *page)
{
	OWN_TABLE struct table *table = NULL;
	const struct knowledge *entry;
	int r = table_new(&table, page_term(page), 0);

	if (r)
		return r;
	table_column(table, TABLE_LEFT, "name");
	table_column(table, TABLE_LEFT, "kind");
	table_column(table, TABLE_LEFT, "about");
	table_column(table, TABLE_LEFT, "class");
	for (size_t i = 0; (entry = knowledge_at(i)); i++) {
		table_row(table);
		table_cell(table, PAGE_PLAIN, "%s", entry->name);
		table_cell(table, PAGE_PLAIN, "%s", knowledge_kind_name(entry->kind));
		table_cell(table, PAGE_PLAIN, "%s", entry->subject);
		table_cell(table, class_style(entry->class), "%s",
			   knowledge_class_name(entry->class));
	}
	return table_put(table, page);
}

/* ---- as JSON ------------------------------------------------------------------------------- */

static json_t *cases_to_json(const struct knowledge *entry)
{
	json_t *list = json_array();

	for (size_t i = 0; i < entry->case_count; i++) {
		const struct knowledge_case *c = &entry->cases[i];
		json_t *object =
			session_parameters("conditions", session_text(c->conditions), "class",
					   session_text(knowledge_class_name(c->class)), NULL);

		if (c->kernel_reason)
			json_object_set_new(object, "kernel_reason",
					    session_text(c->kernel_reason));
		if (c->reason)
			json_object_set_new(object, "reason", session_text(c->reason));
		if (c->tell[0])
			json_object_set_new(object, "tell", session_text(c->tell));
		json_array_append_new(list, object);
	}
	return list;
}

static json_t *entry_to_json(const struct knowledge *entry)
{
	json_t *object = session_parameters("name", session_text(entry->name), "kind",
					    session_text(knowledge_kind_name(entry->kind)),
					    "subject", session_text(entry->subject), "class",
					    session_text(knowledge_class_name(entry->class)), NULL);

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		json_object_set_new(object, texts[i].title, session_text(text_of(entry, i)));
	if (entry->case_count)
		json_object_set_new(object, "drops", cases_to_json(entry));
	return object;
}

/* What io.netflowd.Explain would reply; NULL: about all names. */
static json_t *reply_about(const char *name)
{
	json_t *found = json_array();
	const struct knowledge *entry;

	for (size_t i = 0; (entry = knowledge_at(i)); i++)
		if (!name || knowledge_meant(entry, name))
			json_array_append_new(found, entry_to_json(entry));
	return session_parameters("explanations", found, NULL);
}

/* ---- the command --------------------------------------------------------------------------- */

static bool known(const char *name)
{
	const struct knowledge *entry;

	for (size_t i = 0; (entry = knowledge_at(i)); i++)
		if (knowledge_meant(entry, name))
			return true;
	return false;
}

static enum report_status print(struct session *session, struct page *page, const json_t *reply,
				void *data)
{
	const char *name = session->arguments.word;
	int r = 0;

	(void)reply;
	(void)data;
	if (name)
		put_found(page, name);
	else
		r = put_names(page);
	return session_print(page, r);
}

static enum report_status run(struct session *session)
{
	const char *name = session->arguments.word;
	OWN_JSON json_t *reply = NULL;

	if (name && !known(name)) {
		report("no entry for %.80s%s; `netflowctl explain` lists all names", name,
		       nearest_hint("", knowledge_nearest(name)).s);
		return REPORT_USAGE;
	}
	reply = reply_about(name);
	return session_output(session, reply, false, print, NULL);
}

const struct command command_explain = {
	.name = "explain",
	.summary =
		"explain a drop reason, kernel function, segment, alert or metric: meaning, cause, remedy",
	.word = "[NAME]",
	.notes =
		"Without NAME, it lists all names.\n"
		"A fault is something broken or too small for its load; a policy is something that the administrator configured; benign is a protocol at work, or traffic that this host did not ask for. unknown can be any of them.\n"
		"The drops of a function are the cases in which it drops a packet: the conditions, the reason that netflowd infers from them, and its class. With ! before it, a condition must not hold.\n"
		"explain works without a daemon. In a command, replace the words in capitals.\n",
	.run = run,
};
