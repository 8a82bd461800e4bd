/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records as they happen: a stream of the daemon, until it is interrupted. */
#ifndef CLI_ASK_STREAM_H
#define CLI_ASK_STREAM_H

#include "cli/ask/session.h"

struct stream {
	/* The member of a reply that has the record; Monitor's: "drop", "latency" or "slots". */
	const char *kind;
	const char *method; /* NULL: Monitor */
	/* Receives one record.  A status other than REPORT_FINE ends the stream. */
	enum report_status (*record)(void *data, const json_t *record);
	void *data;
	int64_t duration_ms; /* end this long after the first reply; -1: never */
	bool quiet;	     /* the output is a file: report gaps on the standard error */
};

/*
 * Follow until SIGINT, SIGTERM or SIGHUP, or until --limit records were
 * received: that is REPORT_FINE.  If the daemon goes away, wait for the next one
 * (away.h), report for how long it was away, and follow that; REPORT_UNREACHABLE
 * if none comes.  It is a failure, and reported, if the daemon ends the stream.
 * With --faults, drops of class policy or benign are counted
 * but not passed on; their number is printed at the end.  `parameters` is
 * stolen and has everything except Monitor's kinds of records; NULL: out of
 * memory.
 */
enum report_status stream_follow(struct session *session, json_t *parameters,
				 const struct stream *stream);

#endif
