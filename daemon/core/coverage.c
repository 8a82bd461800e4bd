/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/core/coverage.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"

static const char *const questions[] = {
	[COVERAGE_DROP_REASONS] = "drop_reasons",
	[COVERAGE_DROP_LOCATIONS] = "drop_locations",
	[COVERAGE_DROPS] = "drops",
	[COVERAGE_RX_LATENCY] = "rx_latency",
	[COVERAGE_WAKE] = "wake",
	[COVERAGE_TX_LATENCY] = "tx_latency",
	[COVERAGE_NAPI] = "napi",
	[COVERAGE_DEVICES] = "devices",
	[COVERAGE_DROP_KEYS] = "drop_keys",
	[COVERAGE_DROPS_ELSEWHERE] = "drops_elsewhere",
	[COVERAGE_SLOTS] = "slots",
	[COVERAGE_SLOTS_LOG] = "slots_log",
	[COVERAGE_QUESTIONS] = NULL,
};
static const char *const states[] = {
	[COVERAGE_FULL] = "full",
	[COVERAGE_DEGRADED] = "degraded",
	[COVERAGE_UNAVAILABLE] = "unavailable",
	[COVERAGE_STATES] = NULL,
};

const char *coverage_question_name(enum coverage_question question)
{
	return questions[question];
}

const char *coverage_state_name(enum coverage_state state)
{
	return states[state];
}

void coverage_clear(struct coverage *coverage)
{
	for (size_t i = 0; i < coverage->count; i++)
		free(coverage->entry[i].reason);
	free(coverage->entry);
	*coverage = (struct coverage){0};
}

int coverage_add(struct coverage *coverage, enum coverage_question question,
		 enum coverage_state state, char *reason)
{
	if (ARRAY_GROW(coverage->entry, coverage->count, coverage->room) < 0) {
		free(reason);
		return -ENOMEM;
	}
	coverage->entry[coverage->count++] = (struct coverage_entry){question, state, reason};
	return 0;
}

static bool has(const struct coverage *coverage, const struct coverage_entry *wanted)
{
	for (size_t i = 0; i < coverage->count; i++) {
		const struct coverage_entry *entry = &coverage->entry[i];

		if (entry->question == wanted->question && entry->state == wanted->state &&
		    entry->reason && !strcmp(entry->reason, wanted->reason))
			return true;
	}
	return false;
}

static int add_gap(struct coverage *coverage, const struct coverage_entry *gap)
{
	char *reason;

	if (has(coverage, gap))
		return 0;
	reason = strdup(gap->reason);
	return reason ? coverage_add(coverage, gap->question, gap->state, reason) : -ENOMEM;
}

int coverage_add_gaps(struct coverage *coverage, const struct coverage *more)
{
	int r = 0;

	for (size_t i = 0; i < more->count && r == 0; i++)
		if (more->entry[i].reason)
			r = add_gap(coverage, &more->entry[i]);
	return r;
}

bool coverage_lacks(const struct coverage *coverage, enum coverage_question question)
{
	for (size_t i = 0; i < coverage->count; i++)
		if (coverage->entry[i].question == question &&
		    coverage->entry[i].state == COVERAGE_UNAVAILABLE)
			return true;
	return false;
}

/* ---- in one line ------------------------------------------------------------- */

/* Append the names of the questions in this state, behind `title`. */
static void add_questions(const struct coverage *coverage, enum coverage_state state,
			  const char *title, char *line, size_t size)
{
	const char *before = title;

	for (size_t i = 0; i < coverage->count; i++) {
		size_t used = strlen(line);

		if (coverage->entry[i].state != state)
			continue;
		snprintf(line + used, size - used, "%s%s", before,
			 questions[coverage->entry[i].question]);
		before = ", ";
	}
}

void coverage_line(const struct coverage *coverage, char *line, size_t size)
{
	size_t title;

	snprintf(line, size, "coverage");
	title = strlen(line);
	add_questions(coverage, COVERAGE_DEGRADED, " degraded: ", line, size);
	add_questions(coverage, COVERAGE_UNAVAILABLE,
		      line[title] ? "; unavailable: " : " unavailable: ", line, size);
	if (!line[title])
		snprintf(line, size, "coverage full");
}

/* ---- as the history keeps it --------------------------------------------------- */

char *coverage_write(const struct coverage *coverage)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return NULL;
	for (size_t i = 0; i < coverage->count; i++) {
		const struct coverage_entry *entry = &coverage->entry[i];

		fprintf(to, "%s %s ", questions[entry->question], states[entry->state]);
		/* A line ends where its entry does. */
		for (const char *c = entry->reason ? entry->reason : ""; *c; c++)
			fputc(*c == '\n' ? ' ' : *c, to);
		fputc('\n', to);
	}
	if (fclose(to) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

/* The index of the word that begins at *text and ends with a blank, which *text goes behind; -EBADMSG: it is none. */
static int take_word(const char **text, const char *const *words)
{
	size_t length = strcspn(*text, " \n");

	for (int i = 0; words[i]; i++)
		if (strlen(words[i]) == length && !strncmp(words[i], *text, length) &&
		    (*text)[length] == ' ') {
			*text += length + 1;
			return i;
		}
	return -EBADMSG;
}

static int read_line(struct coverage *coverage, const char **text)
{
	int question = take_word(text, questions);
	int state = question < 0 ? question : take_word(text, states);
	size_t length = strcspn(*text, "\n");
	struct coverage_entry entry;
	int r;

	if (state < 0 || (*text)[length] != '\n')
		return -EBADMSG;
	entry = (struct coverage_entry){(enum coverage_question)question,
					(enum coverage_state)state, strndup(*text, length)};
	*text += length + 1;
	r = entry.reason ? 0 : -ENOMEM;
	if (r == 0 && length)
		r = add_gap(coverage, &entry);
	free(entry.reason);
	return r;
}

int coverage_read(struct coverage *coverage, const char *text)
{
	int r = 0;

	while (r == 0 && *text)
		r = read_line(coverage, &text);
	return r;
}
