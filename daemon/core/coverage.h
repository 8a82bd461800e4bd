/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Coverage: which questions a host can answer, and why it cannot answer the others.  Of a moment it has each question
 * once; of a period, each reason for which one had no full answer.
 */
#ifndef DAEMON_CORE_COVERAGE_H
#define DAEMON_CORE_COVERAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/cleanup.h"

/* In the order in which they are shown. */
enum coverage_question {
	COVERAGE_DROP_REASONS,
	COVERAGE_DROP_LOCATIONS,
	COVERAGE_DROPS,
	COVERAGE_RX_LATENCY,
	COVERAGE_WAKE,
	COVERAGE_TX_LATENCY,
	COVERAGE_NAPI,
	COVERAGE_DEVICES,
	COVERAGE_DROP_KEYS,
	COVERAGE_DROPS_ELSEWHERE,
	COVERAGE_SLOTS,
	COVERAGE_SLOTS_LOG,
	COVERAGE_QUESTIONS
};

enum coverage_state { COVERAGE_FULL, COVERAGE_DEGRADED, COVERAGE_UNAVAILABLE, COVERAGE_STATES };

struct coverage_entry {
	enum coverage_question question;
	enum coverage_state state;
	char *reason; /* owned; NULL: none, the answer is full */
};

/* All zeros: empty. */
struct coverage {
	struct coverage_entry *entry;
	size_t count, room;
};

/* "drops", "full". */
const char *coverage_question_name(enum coverage_question question);
const char *coverage_state_name(enum coverage_state state);

void coverage_clear(struct coverage *coverage);
#define OWN_COVERAGE CLEANUP(coverage_clear)

/* Add an entry; takes `reason`, which is NULL or on the heap, on failure, too.  -ENOMEM. */
int coverage_add(struct coverage *coverage, enum coverage_question question,
		 enum coverage_state state, char *reason);
/* Add copies of all entries of `more` that are not full, and that `coverage` does not have yet.  -ENOMEM. */
int coverage_add_gaps(struct coverage *coverage, const struct coverage *more);
/* Whether a question had no answer at all, if only for a while. */
bool coverage_lacks(const struct coverage *coverage, enum coverage_question question);

/*
 * In one line of `size` bytes: "coverage full", or "coverage degraded: rx_latency, wake; unavailable: slots_log".
 */
void coverage_line(const struct coverage *coverage, char *line, size_t size);

/* A line for each entry, as the history keeps it: "drops unavailable REASON"; the caller frees it.  NULL: no memory. */
char *coverage_write(const struct coverage *coverage);
/* Add the gaps of such a text, as coverage_add_gaps() does.  -EBADMSG: it is not one; -ENOMEM. */
int coverage_read(struct coverage *coverage, const char *text);

#endif
