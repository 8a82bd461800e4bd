/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The commands: a constant each, in a file of its own, and their table in commands.c. */
#ifndef CLI_COMMAND_COMMAND_H
#define CLI_COMMAND_COMMAND_H

#include "cli/ask/session.h"

struct command {
	const char *name;
	const char *summary;		  /* one line, beginning with a verb */
	const struct argument *arguments; /* besides arguments_global; may be NULL */
	const char *word; /* its argument that is not an option, as the help names it; or NULL */
	bool pair;	  /* it has two such arguments; the other one becomes arguments.second */
	bool words; /* the argument may be any number of words, which become session->filter */
	bool verbatim; /* all words after it, also those like options behind "--", become session->words */
	bool program; /* the words after "--" are a program and its arguments, and become session->words */
	const char *notes; /* the end of its help: a paragraph per line, \n at the end; or NULL */
	enum report_status (*run)(struct session *session);
};

extern const struct command command_status;
extern const struct command command_probes;
extern const struct command command_drops;
extern const struct command command_latency;
extern const struct command command_slow;
extern const struct command command_slots;
extern const struct command command_napi;
extern const struct command command_explain;
extern const struct command command_alerts;
extern const struct command command_incidents;
extern const struct command command_export;
extern const struct command command_report;
extern const struct command command_top;
extern const struct command command_record;
extern const struct command command_replay;
extern const struct command command_diff;
extern const struct command command_pause;
extern const struct command command_resume;
extern const struct command command_reload;
extern const struct command command_complete;
extern const struct command command_help;
extern const struct command command_version;

/* All commands in the order of the help, NULL at the end. */
extern const struct command *const commands[];

/* The command of this name.  NULL: none; *nearest is then the nearest name, or NULL. */
const struct command *command_find(const char *name, const char **nearest);

/* Report that there is no command of this name; `nearest` may be NULL. */
enum report_status command_unknown(const char *name, const char *nearest);

/* Show the help of `command`; NULL: of netflowctl. */
enum report_status command_show_help(struct session *session, const struct command *command);

/* The whole program after main(): parses the line and runs a command.  The exit status. */
int command_main(int argc, char *const argv[]);

#endif
