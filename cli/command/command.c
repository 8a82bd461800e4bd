/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/command/command.h"

#include <errno.h>
#include <string.h>

#include "common/time.h"

/* Append a word to an expression, with a blank between. */
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

/* Read the options and the other words of `command` up to the end of the line. */
static int parse_rest(struct session *session, const struct command *command, int argc,
		      char *const argv[], int *next, struct arguments_error *error)
{
	struct arguments *arguments = &session->arguments;

	for (;;) {
		int r = arguments_parse(arguments, command->arguments, command->name, argc, argv,
					next, error);

		if (r || *next == argc)
			return r;
		if (command->verbatim || (command->program && arguments->ended)) {
			session->words = argv + *next;
			session->word_count = (size_t)(argc - *next);
			return 0;
		}
		if (command->words) {
			r = add_word(&session->filter, argv[(*next)++]);
			if (r) {
				snprintf(error->s, sizeof(error->s), "%s", strerror(-r));
				return r;
			}
			continue;
		}
		if (command->pair && arguments->word && !arguments->second) {
			arguments->second = argv[(*next)++];
			continue;
		}
		if (!command->word || arguments->word) {
			snprintf(error->s, sizeof(error->s), "unexpected argument '%.60s' of %s",
				 argv[*next], command->name);
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
			return command_unknown(argv[next], nearest);
		next++;
		if (parse_rest(&session, command, argc, argv, &next, &error))
			return wrong_usage(&error, command);
	}
	arguments_settle(arguments, (int64_t)time_realtime());
	term_init(&session.term, !arguments->no_color);
	if (arguments->help)
		return command_show_help(&session, command);
	if (arguments->version)
		return command_version.run(&session);
	if (!command) {
		report("no command given; `netflowctl help` lists the commands");
		return REPORT_USAGE;
	}
	return command->run(&session);
}
