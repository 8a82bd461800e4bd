/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The commands.  Each is a constant in a file of its own; the table in
 * command.c lists them in the order of the help.
 */
#ifndef CLI_COMMAND_COMMAND_H
#define CLI_COMMAND_COMMAND_H

#include "cli/ask/session.h"

struct command {
	const char *name;
	const char *summary;		  /* one line */
	const struct argument *arguments; /* besides arguments_global; may be NULL */
	const char
		*word; /* what the help calls its one argument that is no option; NULL takes none */
	bool words;    /* takes any number of them: a tcpdump expression, session->filter */
	const char *notes; /* the end of its help, lines ended by newlines; may be NULL */
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
extern const struct command command_export;
extern const struct command command_top;
extern const struct command command_help;
extern const struct command command_version;

/* All of them, NULL at the end. */
extern const struct command *const commands[];

/* The command of that name; or NULL, and the nearest one's name (or NULL) in *nearest. */
const struct command *command_find(const char *name, const char **nearest);

/* Report that there is no command of that name; `nearest` may be NULL. */
enum report_status command_unknown(const char *name, const char *nearest);

/* Show the help of `command`; NULL: of netflowctl. */
enum report_status command_show_help(struct session *session, const struct command *command);

/* Everything behind main(): an exit status of enum report_status. */
int command_main(int argc, char *const argv[]);

#endif
