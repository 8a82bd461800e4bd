/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One run of a command: its options, its terminal, its connection. */
#ifndef CLI_ASK_SESSION_H
#define CLI_ASK_SESSION_H

#include <jansson.h>

#include "cli/ask/arguments.h"
#include "cli/ask/report.h"
#include "cli/ask/varlink.h"
#include "cli/terminal/page.h"
#include "cli/terminal/term.h"
#include "common/json.h"

struct session {
	struct arguments arguments;
	char *filter; /* the words of a tcpdump expression, blanks between them; NULL for none */
	struct term term;
	struct varlink *varlink; /* NULL until something is asked */
};

void session_done(struct session *session);
#define OWN_SESSION CLEANUP(session_done)

/* Connect, if that was not done.  A failure is reported. */
enum report_status session_connect(struct session *session);

/*
 * Ask the daemon, connecting first if need be.  `parameters` is stolen, NULL
 * for none; `extra_ms` is what the answer takes longer by its nature.  The
 * caller owns *reply.  A failure is reported.
 */
enum report_status session_call(struct session *session, const char *method, json_t *parameters,
				int64_t extra_ms, json_t **reply);

/*
 * Parameters out of pairs of name and value, NULL at the end; each value is
 * stolen, and one that is NULL leaves its name out.  NULL when out of memory.
 */
json_t *session_parameters(const char *name, ...) __attribute__((sentinel));

/* Values for session_parameters(): NULL for NULL, and for negative numbers. */
json_t *session_text(const char *text);
json_t *session_number(int64_t number);

/* What selects: --reason, --dev, --netns and, for records, the tcpdump expression. */
json_t *session_selection(const struct session *session);

/* A page for the terminal; a failure is reported. */
enum report_status session_page(struct session *session, struct page **page);

/* Print JSON to the standard output: over several lines, or in one. */
enum report_status session_print_json(const json_t *json, bool one_line);

/* Put the same, " with --reason R --dev D", as far as given. */
void session_put_selection(const struct session *session, struct page *page);

/* Write a page to the standard output; `put` is a negative errno of what was put on it, or 0. */
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

/* session_call() a method and session_output() its reply. */
enum report_status session_show(struct session *session, const char *method, json_t *parameters,
				int64_t extra_ms, session_printer *print, void *data);

#endif
