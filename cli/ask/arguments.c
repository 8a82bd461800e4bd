/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/ask/arguments.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/nearest.h"
#include "common/netns.h"

#define SOCKET_DEFAULT "/run/netflowd/io.netflowd"
#define TIMEOUT_DEFAULT_MS 10000

const struct argument arguments_global[] = {
	{.name = "socket",
	 .value = "PATH",
	 .type = ARGUMENT_TEXT,
	 .offset = offsetof(struct arguments, socket),
	 .help = "where the daemon listens (" SOCKET_DEFAULT ")"},
	{.name = "timeout",
	 .value = "S",
	 .type = ARGUMENT_SECONDS,
	 .offset = offsetof(struct arguments, timeout_ms),
	 .min = 1,
	 .max = 3600 * 1000,
	 .help = "wait so many seconds for an answer (10)"},
	{.name = "json",
	 .type = ARGUMENT_FLAG,
	 .offset = offsetof(struct arguments, json),
	 .help = "print the answer as one JSON object"},
	{.name = "no-color",
	 .type = ARGUMENT_FLAG,
	 .offset = offsetof(struct arguments, no_color),
	 .help = "no colours on a terminal (as NO_COLOR in the environment)"},
	{.name = "help",
	 .letter = 'h',
	 .type = ARGUMENT_FLAG,
	 .offset = offsetof(struct arguments, help),
	 .help = "what a command does and takes"},
	{.name = "version",
	 .type = ARGUMENT_FLAG,
	 .offset = offsetof(struct arguments, version),
	 .help = "the version of netflowctl"},
	{},
};

void arguments_init(struct arguments *arguments)
{
	*arguments = (struct arguments){
		.socket = SOCKET_DEFAULT,
		.timeout_ms = TIMEOUT_DEFAULT_MS,
		.measure_ms = -1,
		.top = -1,
		.limit = -1,
		.interval_ms = -1,
		.count = -1,
		.over_ns = -1,
		.for_ns = -1,
		.follow_ms = -1,
	};
}

__attribute__((format(printf, 2, 3))) static int refuse(struct arguments_error *error,
							const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(error->s, sizeof(error->s), format, list);
	va_end(list);
	return -EINVAL;
}

struct arguments_error arguments_suggestion(const char *nearest)
{
	struct arguments_error text = {};

	if (nearest)
		snprintf(text.s, sizeof(text.s), " (did you mean %s?)", nearest);
	return text;
}

struct arguments_error arguments_describe(const struct argument *argument)
{
	struct arguments_error text;
	char letter[8] = "";

	if (argument->letter)
		snprintf(letter, sizeof(letter), "-%c, ", argument->letter);
	snprintf(text.s, sizeof(text.s), "  %s--%s%s%s", letter, argument->name,
		 argument->value ? " " : "", argument->value ? argument->value : "");
	return text;
}

/* Decimal digits only; false for anything else. */
static bool read_number(const char *text, int64_t *value)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*value = strtoll(text, &end, 10);
	return !*end && !errno;
}

static bool read_milliseconds(const char *text, int64_t *value)
{
	double seconds;
	char *end;

	if (strspn(text, "0123456789.") != strlen(text) || !*text)
		return false;
	seconds = strtod(text, &end);
	if (*end || !(seconds < 1e9))
		return false;
	*value = llround(seconds * 1000);
	return true;
}

/* A number and its unit, as in 5ms; at most about 31 years. */
static bool read_duration(const char *text, int64_t *value)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"ns", 1},	 {"us", 1e3},	{"µs", 1e3},   {"ms", 1e6},
		     {"s", 1e9}, {"min", 60e9}, {"h", 3600e9}, {"d", 86400e9}};
	double number;
	char *end;

	if (!strspn(text, "0123456789."))
		return false;
	number = strtod(text, &end);
	end += strspn(end, " ");
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (strcmp(end, units[i].name) || !(number * units[i].ns < 1e18))
			continue;
		*value = llround(number * units[i].ns);
		return true;
	}
	return false;
}

static int set_number(const struct argument *argument, const char *text, int64_t *value,
		      struct arguments_error *error)
{
	int64_t number;

	if (read_number(text, &number) && number >= argument->min && number <= argument->max) {
		*value = number;
		return 0;
	}
	return refuse(error, "--%s takes a number from %lld to %lld, not '%.60s'", argument->name,
		      (long long)argument->min, (long long)argument->max, text);
}

static int set_seconds(const struct argument *argument, const char *text, int64_t *value,
		       struct arguments_error *error)
{
	int64_t ms;

	if (read_milliseconds(text, &ms) && ms >= argument->min && ms <= argument->max) {
		*value = ms;
		return 0;
	}
	return refuse(error, "--%s takes seconds from %g to %g, not '%.60s'", argument->name,
		      (double)argument->min / 1000, (double)argument->max / 1000, text);
}

static int set_duration(const struct argument *argument, const char *text, int64_t *value,
			struct arguments_error *error)
{
	int64_t ns;

	if (read_duration(text, &ns) && ns >= argument->min && ns <= argument->max) {
		*value = ns;
		return 0;
	}
	return refuse(
		error,
		"--%s takes a duration with its unit, such as 5ms, 250us or 1.5s, not '%.60s'",
		argument->name, text);
}

static int set_word(const struct argument *argument, const char *text, const char **value,
		    struct arguments_error *error)
{
	struct nearest search;
	char valid[128] = "";
	size_t used = 0;

	nearest_init(&search, text);
	for (const char *const *word = argument->words; *word; word++) {
		if (!strcmp(*word, text)) {
			*value = text;
			return 0;
		}
		nearest_consider(&search, *word);
		if (used < sizeof(valid))
			used += (size_t)snprintf(valid + used, sizeof(valid) - used, "%s%s",
						 used ? ", " : "", *word);
	}
	return refuse(error, "--%s knows no '%.60s'%s; it takes %s", argument->name, text,
		      arguments_suggestion(search.best).s, valid);
}

/* Whether a name exists is for the daemon to say. */
static int set_netns(const struct argument *argument, const char *text, const char **value,
		     struct arguments_error *error)
{
	uint32_t inode;

	if (netns_parse(text, &inode) < 0)
		return refuse(error, "--%s must be " NETNS_FORMS ", not '%.60s'", argument->name,
			      text);
	*value = text;
	return 0;
}

static int set_value(const struct argument *argument, struct arguments *arguments, const char *text,
		     struct arguments_error *error)
{
	void *value = (char *)arguments + argument->offset;

	switch (argument->type) {
	case ARGUMENT_FLAG:
		*(bool *)value = true;
		return 0;
	case ARGUMENT_TEXT:
		if (!*text)
			return refuse(error, "--%s needs a value: --%s %s", argument->name,
				      argument->name, argument->value);
		*(const char **)value = text;
		return 0;
	case ARGUMENT_WORD:
		return set_word(argument, text, value, error);
	case ARGUMENT_NETNS:
		return set_netns(argument, text, value, error);
	case ARGUMENT_NUMBER:
		return set_number(argument, text, value, error);
	case ARGUMENT_SECONDS:
		return set_seconds(argument, text, value, error);
	case ARGUMENT_DURATION:
		return set_duration(argument, text, value, error);
	}
	return -EINVAL;
}

/* The option of that name (of `len` bytes) or letter in one table, and what is near to it. */
static const struct argument *find(const struct argument *table, const char *name, size_t len,
				   char letter, struct nearest *search)
{
	for (; table && table->name; table++) {
		if (letter ? table->letter == letter
			   : strlen(table->name) == len && !strncmp(table->name, name, len))
			return table;
		nearest_consider(search, table->name);
	}
	return NULL;
}

static int unknown(const char *given, const char *of, const char *nearest,
		   struct arguments_error *error)
{
	return refuse(error, "unknown option %.60s%s%s%s%s%s", given, of ? " of " : "",
		      of ? of : "", nearest ? " (did you mean --" : "", nearest ? nearest : "",
		      nearest ? "?)" : "");
}

/* One option and its value; *next moves behind them. */
static int parse_one(struct arguments *arguments, const struct argument *table, const char *of,
		     int argc, char *const argv[], int *next, struct arguments_error *error)
{
	const char *given = argv[*next];
	bool is_long = given[1] == '-';
	char letter = is_long ? '\0' : given[1];
	const char *name = is_long ? given + 2 : "";
	const char *equals = is_long ? strchr(name, '=') : NULL;
	size_t len = equals ? (size_t)(equals - name) : strlen(name);
	const char *value = equals ? equals + 1 : NULL;
	const struct argument *argument;
	struct nearest search;
	char word[64];

	snprintf(word, sizeof(word), "%.*s", (int)(len < sizeof(word) ? len : sizeof(word)), name);
	nearest_init(&search, word);
	argument = find(arguments_global, name, len, letter, &search);
	if (!argument)
		argument = find(table, name, len, letter, &search);
	if (!argument || (!is_long && given[2]))
		return unknown(given, of, is_long ? search.best : NULL, error);
	++*next;
	if (argument->type == ARGUMENT_FLAG && value)
		return refuse(error, "--%s takes no value", argument->name);
	if (argument->type != ARGUMENT_FLAG && !value) {
		if (*next == argc)
			return refuse(error, "--%s needs a value: --%s %s", argument->name,
				      argument->name, argument->value);
		value = argv[(*next)++];
	}
	return set_value(argument, arguments, value, error);
}

int arguments_parse(struct arguments *arguments, const struct argument *table, const char *of,
		    int argc, char *const argv[], int *next, struct arguments_error *error)
{
	while (!arguments->ended && *next < argc && argv[*next][0] == '-' && argv[*next][1]) {
		int r;

		if (!strcmp(argv[*next], "--")) {
			++*next;
			arguments->ended = true;
			return 0;
		}
		r = parse_one(arguments, table, of, argc, argv, next, error);
		if (r)
			return r;
	}
	return 0;
}
