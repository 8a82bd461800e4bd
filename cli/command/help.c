/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The commands help and version, and the help that --help shows. */
#include <string.h>

#include "cli/ask/field.h"
#include "cli/command/command.h"
#include "common/build_id.h"
#include "common/version.h"

#define SUMMARY_COLUMN 12

static void put_options(struct page *page, const struct argument *table)
{
	for (; table && table->name; table++) {
		page_put(page, PAGE_PLAIN, "%s", arguments_describe(table).s);
		page_pad(page, ARGUMENTS_HELP_COLUMN, 2);
		page_paragraph(page, PAGE_PLAIN, ARGUMENTS_HELP_COLUMN, "%s", table->help);
	}
}

static void put_notes(struct page *page, const char *notes)
{
	page_end(page);
	while (*notes) {
		size_t len = strcspn(notes, "\n");

		page_paragraph(page, PAGE_PLAIN, 0, "%.*s", (int)len, notes);
		notes += len + (notes[len] == '\n');
	}
}

static void put_command_help(struct page *page, const struct command *command)
{
	page_line(page, PAGE_PLAIN, "netflowctl %s%s%s: %s", command->name,
		  command->word ? " " : "", command->word ? command->word : "", command->summary);
	if (command->arguments) {
		page_end(page);
		page_line(page, PAGE_TITLE, "Options");
		put_options(page, command->arguments);
	}
	page_end(page);
	page_line(page, PAGE_TITLE, "Options of every command");
	put_options(page, arguments_global);
	if (command->notes)
		put_notes(page, command->notes);
}

static void put_help(struct page *page)
{
	page_line(page, PAGE_PLAIN,
		  "netflowctl asks netflowd where packets died and where they waited.");
	page_end(page);
	page_line(page, PAGE_PLAIN, "Usage: netflowctl COMMAND [OPTION]... [ARGUMENT]...");
	page_end(page);
	page_line(page, PAGE_TITLE, "Commands");
	for (const struct command *const *command = commands; *command; command++) {
		page_put(page, PAGE_PLAIN, "  %s", (*command)->name);
		page_pad(page, SUMMARY_COLUMN, 2);
		page_line(page, PAGE_PLAIN, "%s", (*command)->summary);
	}
	page_end(page);
	page_line(page, PAGE_TITLE, "Options of every command");
	put_options(page, arguments_global);
	page_end(page);
	page_line(page, PAGE_PLAIN,
		  "Exit status: 0 success, 1 failure, 2 wrong usage, 3 daemon not reachable.");
}

enum report_status command_show_help(struct session *session, const struct command *command)
{
	OWN_PAGE struct page *page = NULL;
	enum report_status status = session_page(session, &page);

	if (status)
		return status;
	if (command)
		put_command_help(page, command);
	else
		put_help(page);
	return session_print(page, 0);
}

static enum report_status run_help(struct session *session)
{
	const char *word = session->arguments.word;
	const struct command *command;
	const char *nearest;

	if (!word)
		return command_show_help(session, NULL);
	command = command_find(word, &nearest);
	return command ? command_show_help(session, command) : command_unknown(word, nearest);
}

const struct command command_help = {
	.name = "help",
	.summary = "list the commands, or show the options of one",
	.word = "[COMMAND]",
	.run = run_help,
};

static enum report_status print_version(struct session *session, struct page *page,
					const json_t *version, void *data)
{
	const char *id = field_text_or(version, "build_id", NULL);

	(void)session;
	(void)data;
	page_line(page, PAGE_PLAIN, "netflowctl %s%s%s%s", field_text(version, "version"),
		  id ? " (build " : "", id ? id : "", id ? ")" : "");
	return session_print(page, 0);
}

static enum report_status run_version(struct session *session)
{
	struct build_id id = build_id();
	OWN_JSON json_t *version =
		session_parameters("version", session_text(NETFLOWD_VERSION), "build_id",
				   session_text(id.s[0] ? id.s : NULL), NULL);

	return session_output(session, version, false, print_version, NULL);
}

const struct command command_version = {
	.name = "version",
	.summary = "print the version and build ID of netflowctl; status shows the daemon's",
	.run = run_version,
};
