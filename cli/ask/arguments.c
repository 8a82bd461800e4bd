/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/ask/arguments.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ask/options.h"
#include "common/array.h"
#include "common/nearest.h"
#include "common/netns.h"
#include "common/time.h"
#include "common/value.h"
#include "common/when.h"

#define SOCKET_DEFAULT "/run/netflowd/io.netflowd"
#define TIMEOUT_DEFAULT_MS 10000

const struct argument arguments_global[] = {
	OPTION("socket", TEXT, socket, .value = "PATH",
	       .help = "path of the daemon's socket (" SOCKET_DEFAULT ")"),
	OPTION("timeout", SECONDS, timeout_ms, .value = "S", .min = 1, .max = 3600 * 1000,
	       .help = "wait at most S seconds for a reply, 0.001 to 3600 (10)"),
	OPTION_FLAG(json, "print the reply as one JSON object; with --follow one per line"),
	OPTION("no-color", FLAG, no_color,
	       .help = "print without colours, as with NO_COLOR in the environment"),
	OPTION("help", FLAG, help, .letter = 'h',
	       .help = "list the commands, or show the options of one"),
	OPTION_FLAG(version, "print the version and build ID of netflowctl"),
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
		.since_ns = -1,
		.until_ns = -1,
		.compare_ns = -1,
		.buffer_kib = -1,
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

/* A duration with its unit, or a number of seconds without one. */
static int read_milliseconds(const char *text, uint64_t most, uint64_t *ms)
{
	uint64_t ns;
	double seconds;

	if (value_real(text, &seconds) < 0) {
		int r = value_duration(text, most * 1000000, &ns);

		*ms = r < 0 ? 0 : (ns + 500000) / 1000000;
		return r;
	}
	if (seconds * 1000 > (double)most)
		return -EINVAL;
	*ms = (uint64_t)llround(seconds * 1000);
	return 0;
}

/* Whether `text` is a value of the option, within its limits. */
static bool read_value(const struct argument *argument, const char *text, int64_t *value)
{
	uint64_t most = (uint64_t)argument->max, number = 0;
	int64_t moment;
	int r = -EINVAL;

	if (argument->type == ARGUMENT_NUMBER)
		r = value_count(text, most, &number);
	else if (argument->type == ARGUMENT_SECONDS)
		r = read_milliseconds(text, most, &number);
	else if (argument->type == ARGUMENT_DURATION)
		r = value_duration(text, most, &number);
	else if (argument->type == ARGUMENT_MOMENT || argument->type == ARGUMENT_END) {
		r = when_parse(text, (int64_t)time_realtime(), &moment);
		number = r == 0 ? (uint64_t)moment : 0;
	}
	if (r < 0 || number < (uint64_t)argument->min || number > most)
		return false;
	*value = (int64_t)number;
	return true;
}

static int refuse_value(const struct argument *argument, const char *text,
			struct arguments_error *error)
{
	if (argument->type == ARGUMENT_SECONDS)
		return refuse(
			error,
			"--%s must be a number of seconds from %g to %g, such as 0.5 or 500ms, not '%.60s'",
			argument->name, (double)argument->min / 1000, (double)argument->max / 1000,
			text);
	if (argument->type == ARGUMENT_DURATION)
		return refuse(
			error,
			"--%s must be a duration from %s to %s with its unit, " VALUE_DURATION_FORMS
			", not '%.60s'",
			argument->name, value_duration_text((uint64_t)argument->min).s,
			value_duration_text((uint64_t)argument->max).s, text);
	if (argument->type == ARGUMENT_MOMENT || argument->type == ARGUMENT_END)
		return refuse(error, "--%s must be a time since 1970: " WHEN_FORMS ", not '%.60s'",
			      argument->name, text);
	return refuse(error, "--%s must be a number from %lld to %lld, not '%.60s'", argument->name,
		      (long long)argument->min, (long long)argument->max, text);
}

static int set_word(const struct argument *argument, const char *text, const char **value,
		    struct arguments_error *error)
{
	const char *nearest;
	char valid[128];

	if (value_word(argument->words, text, &nearest) >= 0) {
		*value = text;
		return 0;
	}
	value_words_text(argument->words, valid, sizeof(valid));
	return refuse(error, "--%s must be %s%s, not '%.60s'%s", argument->name, valid,
		      argument->type == ARGUMENT_WORDS ? ", or several with commas between" : "",
		      text, nearest_hint("", nearest).s);
}

static int set_words(const struct argument *argument, const char *text, const char **value,
		     struct arguments_error *error)
{
	const char *at = text;
	char word[64];

	do {
		size_t length = strcspn(at, ",");
		const char *one = word;
		int r;

		snprintf(word, sizeof(word), "%.*s", (int)length, at);
		r = set_word(argument, word, &one, error);
		if (r < 0)
			return r;
		at += length;
	} while (*at++);
	*value = text;
	return 0;
}

bool arguments_have_word(const char *list, const char *word)
{
	const char *at = list;

	do {
		size_t length = strcspn(at, ",");

		if (length == strlen(word) && !strncmp(at, word, length))
			return true;
		at += length;
	} while (*at++);
	return false;
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
	case ARGUMENT_WORDS:
		return set_words(argument, text, value, error);
	case ARGUMENT_NETNS:
		return set_netns(argument, text, value, error);
	case ARGUMENT_END:
		arguments->until = text;
		break;
	case ARGUMENT_NUMBER:
	case ARGUMENT_SECONDS:
	case ARGUMENT_DURATION:
	case ARGUMENT_MOMENT:
		break;
	}
	if (read_value(argument, text, value))
		return 0;
	return refuse_value(argument, text, error);
}

/*
 * The option of one table that has this name (of `len` bytes) or, if it is not 0,
 * this letter.  NULL if there is none; the search has then seen all names.
 */
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
	return refuse(error, "unknown option %.60s%s%s%s", given, of ? " of " : "", of ? of : "",
		      nearest_hint("--", nearest).s);
}

/* One option and its value; *next is the word after them. */
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
		return refuse(error, "--%s does not accept a value", argument->name);
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

void arguments_settle(struct arguments *arguments, int64_t now_ns)
{
	if (arguments->until && arguments->since_ns >= 0)
		when_parse_end(arguments->until, now_ns, arguments->since_ns, &arguments->until_ns);
}
