/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is said about the time that an answer covers, type Period of io.netflowd.varlink: one wording for all commands,
 * the report and the errors.
 */
#ifndef CLI_ASK_COVERED_H
#define CLI_ASK_COVERED_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

/* The error of a call about a time of which the history has nothing. */
#define COVERED_NOTHING "io.netflowd.NotCovered"

struct covered_text {
	char s[1200];
};

/* Whether the history covers all of the time that was asked for.  True for NULL: the reply is not about the past. */
bool covered_whole(const json_t *period);

/* "covers 4 min 10 s of 10 min 00 s, in buckets of up to 10.0 s; it begins at DATE". */
struct covered_text covered_sentence(const json_t *period);

/* "no history from DATE to DATE: it begins at DATE", of the parameters of the error COVERED_NOTHING. */
struct covered_text covered_nothing(const json_t *parameters);

/*
 * The next of the gaps, newest first, at most `most`; *at is 0 before the first.  The time before the history begins is
 * none of them, because the sentence says it.  NULL: there are no more.
 */
const json_t *covered_next_gap(const json_t *period, size_t most, size_t *at);

/* "from DATE to DATE: netflowd was paused", of a gap. */
struct covered_text covered_gap_text(const json_t *gap);

/* "the clock was set back by 8 d at DATE", the step with this index, newest first; empty: there are no more. */
struct covered_text covered_step(const json_t *period, size_t index);

/* Gaps beyond `most`. */
uint64_t covered_gaps_left(const json_t *period, size_t most);

/* Why the history cannot be written now, as a sentence; empty: it can, or the period ended before. */
struct covered_text covered_failing(const json_t *period);

#endif
