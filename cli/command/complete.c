/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * netflowctl complete: what can stand at the end of a command line.  The completions of bash and zsh ask this command,
 * so they know every command, option and value from the same tables as the parser.
 *
 * One line for each candidate: the word, a tab, what it is.  An empty word with "file" after the tab: names of files.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ask/names.h"
#include "cli/ask/options.h"
#include "cli/command/command.h"
#include "common/array.h"
#include "common/knowledge.h"
#include "common/time.h"

/* How long a person waits for the names that the daemon knows. */
#define PATIENCE_MS 500

struct candidate {
	char *word;
	char *about;
};

struct complete {
	struct names_source source;
	const char *current; /* the word that is completed */
	const char *value;   /* the part of it behind "--option=", otherwise all of it */
	struct candidate *candidates;
	size_t count, room;
};

/* ---- candidates -------------------------------------------------------------------------- */

/*
 * Names of the kernel can contain any bytes.  Shells differ in how they quote blanks and control characters, so a word
 * that has them is left out.
 */
static bool fits(const char *word)
{
	for (const unsigned char *u = (const unsigned char *)word; *u; u++)
		if (*u <= ' ' || *u == 0x7f)
			return false;
	return *word;
}

/* Add a word that begins as the value does; a word for which there is no memory is left out. */
static void add(void *data, const char *word, const char *about)
{
	struct complete *to = data;
	struct candidate *candidate;
	int before = (int)(to->value - to->current);

	if (strncmp(word, to->value, strlen(to->value)) != 0 || !fits(word) ||
	    ARRAY_GROW(to->candidates, to->count, to->room) < 0)
		return;
	candidate = &to->candidates[to->count];
	if (asprintf(&candidate->word, "%.*s%s", before, to->current, word) < 0)
		return;
	candidate->about = strdup(about);
	if (candidate->about)
		to->count++;
	else
		free(candidate->word);
}

static int by_word(const void *a, const void *b)
{
	const struct candidate *left = a, *right = b;

	return strcmp(left->word, right->word);
}

static void print_candidates(struct complete *from)
{
	if (from->count)
		qsort(from->candidates, from->count, sizeof(from->candidates[0]), by_word);
	for (size_t i = 0; i < from->count; i++)
		if (!i || by_word(&from->candidates[i - 1], &from->candidates[i]))
			printf("%s\t%s\n", from->candidates[i].word, from->candidates[i].about);
}

static void free_candidates(struct complete *from)
{
	for (size_t i = 0; i < from->count; i++) {
		free(from->candidates[i].word);
		free(from->candidates[i].about);
	}
	free(from->candidates);
}

/* ---- values by the name that the help has for them --------------------------------------- */

static void complete_commands(struct complete *to)
{
	for (const struct command *const *command = commands; *command; command++)
		add(to, (*command)->name, (*command)->summary);
}

/* Entries of one kind of the knowledge; KNOWLEDGE_KINDS: of all kinds. */
static void complete_knowledge(struct complete *to, enum knowledge_kind kind)
{
	const struct knowledge *entry;

	for (size_t i = 0; (entry = knowledge_at(i)); i++)
		if (kind == KNOWLEDGE_KINDS || entry->kind == kind)
			add(to, entry->name,
			    kind == KNOWLEDGE_KINDS ? knowledge_kind_name(entry->kind)
						    : knowledge_class_name(entry->class));
}

static void complete_names(struct complete *to)
{
	complete_knowledge(to, KNOWLEDGE_KINDS);
}

static void complete_segments(struct complete *to)
{
	complete_knowledge(to, KNOWLEDGE_SEGMENT);
}

/* The reasons that occurred; if none of them fits, all that are known. */
static void complete_reasons(struct complete *to)
{
	names_reasons(&to->source, add, to);
	if (!to->count)
		complete_knowledge(to, KNOWLEDGE_REASON);
}

static void complete_devices(struct complete *to)
{
	names_devices(&to->source, add, to);
}

static void complete_rules(struct complete *to)
{
	names_rules(&to->source, add, to);
}

static void complete_incidents(struct complete *to)
{
	names_incidents(&to->source, add, to);
}

/* Some of the forms that common/when.h takes; one with a blank would need quotes. */
static void complete_moments(struct complete *to)
{
	static const struct {
		const char *word;
		const char *about;
	} moments[] = {
		{"5m", "five minutes ago"},
		{"15m", "a quarter of an hour ago"},
		{"1h", "an hour ago"},
		{"24h", "this time yesterday"},
		{"7d", "a week ago"},
		{"today", "the last midnight"},
		{"yesterday", "the midnight before that"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(moments); i++)
		add(to, moments[i].word, moments[i].about);
}

static void complete_files(struct complete *to)
{
	(void)to;
	printf("\tfile\n");
}

static const struct {
	const char *value;
	void (*complete)(struct complete *to);
} completers[] = {
	{"COMMAND", complete_commands}, {"NAME", complete_names},  {"SEGMENT", complete_segments},
	{"REASON", complete_reasons},	{"DEV", complete_devices}, {"RULE", complete_rules},
	{"FILE", complete_files},	{"PATH", complete_files},  {"ID", complete_incidents},
};

/* Complete a value that the help calls `name` (of `len` bytes). */
static void complete_value(struct complete *to, const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(completers); i++)
		if (strlen(completers[i].value) == len && !strncmp(completers[i].value, name, len))
			completers[i].complete(to);
}

/* ---- options ----------------------------------------------------------------------------- */

static const struct argument *find_option(const struct argument *table, const char *word)
{
	size_t len = strcspn(word, "=");

	for (; table && table->name; table++) {
		bool is_long = word[1] == '-' && strlen(table->name) == len - 2 &&
			       !strncmp(table->name, word + 2, len - 2);

		if (is_long || (table->letter && word[1] == table->letter && !word[2]))
			return table;
	}
	return NULL;
}

static void complete_options(struct complete *to, const struct argument *table)
{
	char word[64];

	for (; table && table->name; table++) {
		snprintf(word, sizeof(word), "--%s", table->name);
		add(to, word, table->help);
	}
}

/* The last of the words that commas separate. */
static void complete_words(struct complete *to, const struct argument *option)
{
	const char *comma = strrchr(to->value, ',');

	if (comma)
		to->value = comma + 1;
	for (const char *const *word = option->words; *word; word++)
		add(to, *word, option->value);
}

static void complete_argument(struct complete *to, const struct argument *option)
{
	if (option->type == ARGUMENT_NETNS)
		names_netns(&to->source, add, to);
	else if (option->type == ARGUMENT_MOMENT || option->type == ARGUMENT_END)
		complete_moments(to);
	else if (option->type == ARGUMENT_WORDS)
		complete_words(to, option);
	else if (option->type == ARGUMENT_WORD)
		for (const char *const *word = option->words; *word; word++)
			add(to, *word, option->value);
	else if (option->value)
		complete_value(to, option->value, strlen(option->value));
}

/* ---- the line ---------------------------------------------------------------------------- */

/* What the words before the current one say. */
struct line {
	const struct command *command;
	const struct argument *pending; /* the option whose value comes next */
	size_t others;			/* words of the command that are not options */
	bool ended;			/* "--" was read: no option follows */
	bool unknown;			/* there is no such command */
};

static const struct argument *option_of(const struct line *line, const char *word)
{
	const struct argument *option = find_option(arguments_global, word);

	return option || !line->command ? option : find_option(line->command->arguments, word);
}

/* The daemon that the line is about is the one to ask. */
static void note_value(struct complete *to, const struct argument *option, const char *value)
{
	if (!strcmp(option->name, "socket") && *value)
		to->source.socket = value;
}

static void read_option(struct complete *to, struct line *line, const char *word)
{
	const struct argument *option = option_of(line, word);
	const char *equals = strchr(word, '=');

	if (!option || option->type == ARGUMENT_FLAG)
		return;
	if (equals)
		note_value(to, option, equals + 1);
	else
		line->pending = option;
}

static void read_word(struct complete *to, struct line *line, const char *word)
{
	const char *nearest;

	if (line->pending) {
		note_value(to, line->pending, word);
		line->pending = NULL;
	} else if (!line->ended && !strcmp(word, "--")) {
		line->ended = true;
	} else if (!line->ended && word[0] == '-' && word[1]) {
		read_option(to, line, word);
	} else if (line->command) {
		line->others++;
	} else {
		line->command = command_find(word, &nearest);
		line->unknown = !line->command;
	}
}

/*
 * "[test|silence|unsilence RULE]": the n-th word is a word in small letters, one of several with bars between them, or
 * the name of a value.
 */
static void complete_other(struct complete *to, const char *form, size_t n)
{
	size_t len;

	form += strspn(form, "[ ");
	for (; n && *form; n--) {
		form += strcspn(form, " ]");
		form += strspn(form, " ]");
	}
	len = strcspn(form, " ]");
	if (!islower((unsigned char)*form)) {
		complete_value(to, form, len);
		return;
	}
	while (len) {
		size_t word = strcspn(form, "| ]");
		OWN_FREE char *copy = strndup(form, word);

		if (copy)
			add(to, copy, "");
		word += word < len;
		form += word;
		len -= word;
	}
}

static void complete_current(struct complete *to, const struct line *line)
{
	const struct argument *option;
	const char *equals = strchr(to->current, '=');

	if (line->unknown)
		return;
	if (line->pending) {
		complete_argument(to, line->pending);
	} else if (!line->ended && to->current[0] == '-' && equals) {
		option = option_of(line, to->current);
		to->value = equals + 1;
		if (option)
			complete_argument(to, option);
	} else if (!line->ended && to->current[0] == '-') {
		complete_options(to, arguments_global);
		complete_options(to, line->command ? line->command->arguments : NULL);
	} else if (!line->command) {
		complete_commands(to);
	} else if (line->command->word) {
		complete_other(to, line->command->word, line->others);
	} else if (!line->ended) {
		complete_options(to, line->command->arguments);
	}
}

static enum report_status run(struct session *session)
{
	struct complete complete = {
		.source = {.socket = session->arguments.socket,
			   .deadline_ms = time_monotonic_ms() + PATIENCE_MS},
		.current = "",
	};
	struct line line = {};

	for (size_t i = 0; i + 1 < session->word_count; i++)
		read_word(&complete, &line, session->words[i]);
	if (session->word_count)
		complete.current = session->words[session->word_count - 1];
	complete.value = complete.current;
	complete_current(&complete, &line);
	print_candidates(&complete);
	free_candidates(&complete);
	return REPORT_FINE;
}

const struct command command_complete = {
	.name = "complete",
	.summary = "print the words that can end a command line, for the completion of a shell",
	.word = "[-- WORD...]",
	.verbatim = true,
	.notes =
		"The words are those of a command line after `netflowctl`; the last one, which may be empty, is completed. Each line of the output is a candidate, a tab and its meaning. An empty candidate with `file` stands for names of files. Names that the daemon knows (devices, reasons, network namespaces, rules, incidents) are there if it replies within half a second.\n",
	.run = run,
};
