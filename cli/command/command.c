/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/command/command.h"

#include <errno.h>
#include <string.h>

#include "common/array.h"
#include "common/nearest.h"

static const struct command command_help;
static const struct command command_version;

static const struct command *const commands[] = {
	&command_status, &command_drops,  &command_latency, &command_slow,   &command_slots,
	&command_napi,	 &command_alerts, &command_top,	    &command_probes, &command_explain,
	&command_export, &command_help,	  &command_version,
};

#define SUMMARY_COLUMN 12

const struct command *command_find(const char *name, const char **nearest)
{
	struct nearest search;

	nearest_init(&search, name);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (!strcmp(commands[i]->name, name))
			return commands[i];
		nearest_consider(&search, commands[i]->name);
	}
	*nearest = search.best;
	return NULL;
}

static void put_options(struct page *page, const struct argument *table)
{
	for (; table && table->name; table++) {
		page_put(page, PAGE_PLAIN, "%s", arguments_describe(table).s);
		page_pad(page, ARGUMENTS_HELP_COLUMN, 2);
		page_line(page, PAGE_PLAIN, "%s", table->help);
	}
}

static void put_notes(struct page *page, const char *notes)
{
	page_end(page);
	while (*notes) {
		size_t len = strcspn(notes, "\n");

		page_line(page, PAGE_PLAIN, "%.*s", (int)len, notes);
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
	page_line(page, PAGE_PLAIN, "Usage: netflowctl COMMAND [OPTION]...");
	page_end(page);
	page_line(page, PAGE_TITLE, "Commands");
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		page_put(page, PAGE_PLAIN, "  %s", commands[i]->name);
		page_pad(page, SUMMARY_COLUMN, 2);
		page_line(page, PAGE_PLAIN, "%s", commands[i]->summary);
	}
	page_end(page);
	page_line(page, PAGE_TITLE, "Options of every command");
	put_options(page, arguments_global);
	page_end(page);
	page_line(page, PAGE_PLAIN,
		  "Exit status: 0 fine, 1 failed, 2 wrong usage, 3 no daemon reachable.");
}

/* The help of `command`, or of all for NULL. */
static enum report_status show_help(struct session *session, const struct command *command)
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

static enum report_status unknown_command(const char *name, const char *nearest)
{
	report("unknown command %.60s%s; `netflowctl help` lists them", name,
	       nearest_hint("", nearest).s);
	return REPORT_USAGE;
}

static enum report_status run_help(struct session *session)
{
	const char *word = session->arguments.word;
	const struct command *command;
	const char *nearest;

	if (!word)
		return show_help(session, NULL);
	command = command_find(word, &nearest);
	return command ? show_help(session, command) : unknown_command(word, nearest);
}

static const struct command command_help = {
	.name = "help",
	.summary = "what netflowctl can do, or what one command takes",
	.word = "[COMMAND]",
	.run = run_help,
};

static enum report_status print_version(struct session *session, struct page *page,
					const json_t *version, void *data)
{
	(void)session;
	(void)version;
	(void)data;
	page_line(page, PAGE_PLAIN, "netflowctl %s", NETFLOWD_VERSION);
	return session_print(page, 0);
}

static enum report_status run_version(struct session *session)
{
	OWN_JSON json_t *version =
		session_parameters("version", session_text(NETFLOWD_VERSION), NULL);

	return session_output(session, version, false, print_version, NULL);
}

static const struct command command_version = {
	.name = "version",
	.summary = "the version of netflowctl; the daemon's is in status",
	.run = run_version,
};

/* One more word of an expression. */
static int add_word(char **expression, const char *word)
{
	char *longer;

	if (asprintf(&longer, "%s%s%s", *expression ? *expression : "", *expression ? " " : "",
		     word) < 0)
		return -ENOMEM;
	free(*expression);
	*expression = longer;
	return 0;
}

/* Options, and the words that `command` may take, up to the end. */
static int parse_rest(struct session *session, const struct command *command, int argc,
		      char *const argv[], int *next, struct arguments_error *error)
{
	struct arguments *arguments = &session->arguments;

	for (;;) {
		int r = arguments_parse(arguments, command->arguments, command->name, argc, argv,
					next, error);

		if (r || *next == argc)
			return r;
		if (command->words) {
			r = add_word(&session->filter, argv[(*next)++]);
			if (r) {
				snprintf(error->s, sizeof(error->s), "%s", strerror(-r));
				return r;
			}
			continue;
		}
		if (!command->word || arguments->word) {
			snprintf(error->s, sizeof(error->s), "%s does not take '%.60s'",
				 command->name, argv[*next]);
			return -EINVAL;
		}
		arguments->word = argv[(*next)++];
	}
}

static enum report_status wrong_usage(const struct arguments_error *error,
				      const struct command *command)
{
	report("%s; see `netflowctl %s%s`", error->s, command ? command->name : "help",
	       command ? " --help" : "");
	return REPORT_USAGE;
}

int command_main(int argc, char *const argv[])
{
	OWN_SESSION struct session session = {};
	struct arguments *arguments = &session.arguments;
	const struct command *command = NULL;
	struct arguments_error error;
	const char *nearest;
	int next = 1;

	arguments_init(arguments);
	if (arguments_parse(arguments, NULL, NULL, argc, argv, &next, &error))
		return wrong_usage(&error, NULL);
	if (next < argc) {
		command = command_find(argv[next], &nearest);
		if (!command)
			return unknown_command(argv[next], nearest);
		next++;
		if (parse_rest(&session, command, argc, argv, &next, &error))
			return wrong_usage(&error, command);
	}
	term_init(&session.term, !arguments->no_color);
	if (arguments->help)
		return show_help(&session, command);
	if (arguments->version)
		return run_version(&session);
	if (!command) {
		report("which command? `netflowctl help` lists them");
		return REPORT_USAGE;
	}
	return command->run(&session);
}
