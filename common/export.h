/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * netflowd's counters and alerts as JSON for other programs, as docs/export.md describes it.  The daemon writes it to a
 * file, and netflowctl prints it: both get it from the methods of io.netflowd, so there is one schema.
 */
#ifndef COMMON_EXPORT_H
#define COMMON_EXPORT_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

struct varlink;

/* Grows when a member or a type is removed or gets another meaning; new ones can come without that. */
#define EXPORT_SCHEMA 2

/* Takes one line, an object, which is borrowed.  Another result than 0 ends the export, which returns it. */
typedef int (*export_line)(json_t *line, void *userdata);

struct export_options {
	int64_t timeout_ms; /* of each call */
	bool all; /* latency of every device; otherwise of all devices together, and of the worst ones */
	/* The past, RFC 3339, as in GetDrops; both NULL: the counters since the daemon started. */
	const char *since, *until;
	const char *method; /* set: the method that failed */
	uint64_t
		left_out; /* set: alert events of the past, the oldest, that did not fit into one reply */
};

/*
 * Ask the daemon, and pass on one object for each row: first the status, then drops and so on; of the past the
 * periods that are covered, instead of the status.  What the daemon has no data for is left out.  Returns 0, or a
 * negative errno of varlink_call(): options->method is then the method that failed.
 */
int export_lines(struct varlink *varlink, struct export_options *options, export_line line,
		 void *userdata);

/* The same as one object, with an array for each type.  The caller owns it. */
int export_document(struct varlink *varlink, struct export_options *options, json_t **document);

#endif
