/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of the command line: tables of them, and one struct for all their values. */
#ifndef CLI_ASK_ARGUMENTS_H
#define CLI_ASK_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The values of a command line.  Strings point into argv; NULL or -1: not given. */
struct arguments {
	/* Options of every command. */
	const char *socket;
	int64_t timeout_ms;
	bool json;
	bool no_color;
	bool help;
	bool version;
	/* Options of single commands; _ms and _ns are the units. */
	int64_t measure_ms;
	const char *by;
	const char *reason;
	const char *device;
	const char *netns;
	int64_t top;
	int64_t limit;
	bool records;
	bool faults;
	const char *classes; /* with commas between */
	bool stack;
	bool follow;
	int64_t over_ns;
	int64_t for_ns;
	const char *segment;
	bool samples;
	bool all;
	const char *pcap;
	const char *format;
	const char *html;
	const char *output;
	int64_t follow_ms;
	int64_t interval_ms;
	int64_t count;
	int64_t since_ns, until_ns; /* since 1970 */
	const char *until;	    /* until_ns as it was typed */
	int64_t compare_ns;
	int64_t buffer_kib;
	const char *exclude;
	/* The argument that is not an option; commands without one refuse it. */
	const char *word;
	const char *second; /* of a command with two of them */
	bool ended;	    /* "--" was read: no option follows */
};

enum argument_type {
	ARGUMENT_FLAG,	   /* bool; the option has no value */
	ARGUMENT_TEXT,	   /* const char *, not empty */
	ARGUMENT_WORD,	   /* const char *, one of `words` */
	ARGUMENT_WORDS,	   /* const char *, one or more of `words`, with commas between */
	ARGUMENT_NETNS,	   /* const char *, what netns_parse() takes */
	ARGUMENT_NUMBER,   /* int64_t, a whole number */
	ARGUMENT_SECONDS,  /* int64_t in ms; typed as seconds, 0.5, or with a unit, 500ms */
	ARGUMENT_DURATION, /* int64_t in ns; typed with its unit: 5ms, 1.5s, 1h30m */
	ARGUMENT_MOMENT,   /* int64_t in ns since 1970; typed as common/when.h says */
	ARGUMENT_END, /* the same for `until_ns`: a time of day is the first one after `since_ns` */
};

/* One option; a table of them ends with a row without a name. */
struct argument {
	const char *name;  /* without the dashes */
	char letter;	   /* its short form, -h; 0: it has none */
	const char *value; /* the name of its value in the help; NULL for a flag */
	enum argument_type type;
	size_t offset; /* in struct arguments */
	int64_t min;   /* the least and the greatest value, in the unit of the type */
	int64_t max;
	const char *const *words; /* NULL at the end */
	const char *help;	  /* one line that can be read alone */
};

struct arguments_error {
	char s[256];
};

/* Every value as if no option was given. */
void arguments_init(struct arguments *arguments);

/* The options that every command takes. */
extern const struct argument arguments_global[];

/*
 * Read options of arguments_global and of `table` (may be NULL), starting with
 * argv[*next].  *next is then the first word that is not an option, or the word
 * after "--".  `of` is the command's name for the error text, or NULL.  0; or
 * -EINVAL with the error and the nearest valid name in *error.
 */
int arguments_parse(struct arguments *arguments, const struct argument *table, const char *of,
		    int argc, char *const argv[], int *next, struct arguments_error *error);

/* Whether a word is in a list with commas between. */
bool arguments_have_word(const char *list, const char *word);

/* After all options: take the time of day that ends a period as the first one after its begin. */
void arguments_settle(struct arguments *arguments, int64_t now_ns);

/* Where the help text of an option begins, after arguments_describe(). */
#define ARGUMENTS_HELP_COLUMN 28

/* An option as the help shows it: "  -o, --output FILE". */
struct arguments_error arguments_describe(const struct argument *argument);

#endif
