/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One run of a command: its options, its terminal, its connection. */
#ifndef CLI_ASK_SESSION_H
#define CLI_ASK_SESSION_H

#include <jansson.h>

#include "cli/ask/arguments.h"
#include "cli/ask/report.h"
#include "cli/terminal/page.h"
#include "cli/terminal/term.h"
#include "common/json.h"
#include "common/varlink.h"

struct session {
	struct arguments arguments;
	char *filter; /* the words of a tcpdump expression with blanks between them; NULL: none */
	char *const *words; /* of a command that parses its words itself; they belong to argv */
	size_t word_count;
	struct term term;
	struct varlink *varlink; /* NULL until the first session_connect() */
};

void session_done(struct session *session);
#define OWN_SESSION CLEANUP(session_done)

/* Connect to the daemon unless the session is connected.  A failure is reported. */
enum report_status session_connect(struct session *session);

/*
 * Connect if necessary, and call a method; a reply in pages becomes one.  `parameters` is stolen; NULL: none.
 * `extra_ms` is how much longer than --timeout the method may run.  The caller
 * owns *reply.  A failure is reported.
 */
enum report_status session_call(struct session *session, const char *method, json_t *parameters,
				int64_t extra_ms, json_t **reply);

/* As session_call(), but if the history has nothing of the time that was asked for: REPORT_FINE, and *reply is NULL. */
enum report_status session_call_past(struct session *session, const char *method,
				     json_t *parameters, json_t **reply);

/*
 * Parameters from pairs of name and value, with NULL at the end.  Each value is
 * stolen; a value that is NULL leaves its name out.  NULL: out of memory.
 */
json_t *session_parameters(const char *name, ...) __attribute__((sentinel));

/* Values for session_parameters(): NULL for a NULL text and for a negative number. */
json_t *session_text(const char *text);
json_t *session_number(int64_t number);

/*
 * The parameter `limit` of a command that prints tables: all rows with --all and --json (NULL), otherwise as many as
 * are shown.
 */
json_t *session_rows_limit(const struct session *session);

/* The parameter `limit` of a command that prints records: --limit, by default 100. */
json_t *session_records_limit(const struct session *session);

/* "… 12 more rows; --all shows them", if the reply does not have all `matched` rows. */
void session_put_rest(struct page *page, uint64_t shown, uint64_t matched);

/*
 * Report how many records of the past matched but are not in the reply, unless --limit asked for that: a file that they
 * are written to cannot say it.
 */
void session_report_rest(const struct session *session, const json_t *reply);

/* The parameters that select: --reason, --dev, --netns and the tcpdump expression. */
json_t *session_selection(const struct session *session);

/* Put the options that select, as far as given: " with --reason R --dev D". */
void session_put_selection(const struct session *session, struct page *page);

/*
 * Add --since and --until to `parameters` (NULL: out of memory); REPORT_USAGE, reported, if they are not in that order
 * or used with --follow.
 */
enum report_status session_add_period(const struct session *session, json_t *parameters);

/* A new page for the terminal.  A failure is reported. */
enum report_status session_page(struct session *session, struct page **page);

/*
 * Write a page to the standard output.  `put` is 0, or the negative errno with
 * which filling the page failed; what is on it is written then, too.  Either
 * failure is reported.
 */
enum report_status session_print(struct page *page, int put);

/* Puts `json` on `page` and writes the page, with session_print() at the end. */
typedef enum report_status session_printer(struct session *session, struct page *page,
					   const json_t *json, void *data);

/*
 * Print `json`: with --json as it is, on one line if `one_line`; otherwise with
 * `print`, which gets a new page and `data`.
 */
enum report_status session_output(struct session *session, const json_t *json, bool one_line,
				  session_printer *print, void *data);

/* session_call() a method, with session_add_period(), and session_output() its reply. */
enum report_status session_show(struct session *session, const char *method, json_t *parameters,
				int64_t extra_ms, session_printer *print, void *data);

#endif
