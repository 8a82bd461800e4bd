/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of netflowd's command line: parser, help and man page derive from the rows of one table. */
#ifndef DAEMON_OPTIONS_H
#define DAEMON_OPTIONS_H

#include <stddef.h>
#include <stdio.h>

enum option_id {
	OPTION_CONFIG,
	OPTION_SET,
	OPTION_PRINT_CONFIG,
	OPTION_PRINT_DEFAULT_CONFIG,
	OPTION_CHECK_CONFIG,
	OPTION_RUNTIME_DIR,
	OPTION_REPLAY,
	OPTION_RECORD,
	OPTION_BUFFER,
	OPTION_EXCLUDE,
	OPTION_HELP_ALERTS,
	OPTION_HELP_METRICS,
	OPTION_HELP_CAPABILITIES,
	OPTION_VERSION,
	OPTION_HELP,
	OPTION_COUNT,
};

struct option_row {
	const char *name;  /* without the dashes */
	const char *value; /* the name of its value in the help; NULL: it has none */
	const char *help;  /* understandable without the other lines */
};

/* Indexed by enum option_id, in the order of the help. */
extern const struct option_row option_table[OPTION_COUNT];

#define OPTIONS_ERROR_MAX 512

/*
 * Read the option argv[*next]; *id is its index and *value its value, NULL without one; *next is then the word after
 * both.  Returns 0; or -EINVAL, and `error` (OPTIONS_ERROR_MAX bytes) says what is wrong and names the nearest option.
 */
int options_next(int argc, char *const argv[], int *next, enum option_id *id, const char **value,
		 char *error);

/* One option per row: its name and value, its meaning. */
void options_help(FILE *to);

#endif
