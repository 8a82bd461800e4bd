/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of the command line: tables of them, and one struct for all their values. */
#ifndef CLI_ASK_ARGUMENTS_H
#define CLI_ASK_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What was given; strings point into argv, NULL or -1 is not given. */
struct arguments {
	/* of all commands */
	const char *socket;
	int64_t timeout_ms;
	bool json;
	bool no_color;
	bool help;
	bool version;
	/* of some */
	int64_t measure_ms;
	const char *by;
	const char *reason;
	const char *device;
	const char *netns;
	int64_t top;
	int64_t limit;
	bool records;
	bool faults;
	bool stack;
	bool follow;
	int64_t over_ns;
	int64_t for_ns;
	const char *segment;
	bool samples;
	bool all;
	const char *pcap;
	const char *format;
	const char *output;
	int64_t follow_ms;
	int64_t interval_ms;
	int64_t count;
	/* what is no option; only commands that take one get one */
	const char *word;
	bool ended; /* "--" was met: what follows are no options */
};

enum argument_type {
	ARGUMENT_FLAG,	   /* bool */
	ARGUMENT_TEXT,	   /* const char * */
	ARGUMENT_WORD,	   /* const char *, one of `words` */
	ARGUMENT_NETNS,	   /* const char *, what netns_parse() takes */
	ARGUMENT_NUMBER,   /* int64_t */
	ARGUMENT_SECONDS,  /* int64_t in milliseconds; given as seconds, with a fraction or without
			    */
	ARGUMENT_DURATION, /* int64_t in nanoseconds; given with its unit: 5ms, 250us, 1.5s */
};

/* One option; a table of them ends with a row without a name. */
struct argument {
	const char *name;  /* without the dashes */
	char letter;	   /* of the short form, or 0 */
	const char *value; /* what the help calls its value */
	enum argument_type type;
	size_t offset; /* in struct arguments */
	int64_t min;   /* of numbers, of seconds in milliseconds, of durations in ns */
	int64_t max;
	const char *const *words; /* ends with NULL */
	const char *help;
};

struct arguments_error {
	char s[256];
};

/* The values when no option is given. */
void arguments_init(struct arguments *arguments);

/* The options that every command takes. */
extern const struct argument arguments_global[];

/*
 * Read options of arguments_global and of `table` (may be NULL) from argv[*next]
 * on, up to the first that is none, or behind "--"; *next is where that is.
 * `of` names the command for the error text, or is NULL.  0; or -EINVAL, and
 * *error says in a sentence what is wrong and what is near to it.
 */
int arguments_parse(struct arguments *arguments, const struct argument *table, const char *of,
		    int argc, char *const argv[], int *next, struct arguments_error *error);

/* " (did you mean NEAREST?)", or "" for NULL. */
struct arguments_error arguments_suggestion(const char *nearest);

/* Width of the left column of arguments_describe(). */
#define ARGUMENTS_HELP_COLUMN 28

/* "  --top N" of an option, as its help's left column. */
struct arguments_error arguments_describe(const struct argument *argument);

#endif
