/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records as they happen: the Monitor stream, until it is interrupted. */
#ifndef CLI_ASK_FOLLOW_H
#define CLI_ASK_FOLLOW_H

#include "cli/ask/session.h"

struct follow {
	/* of records: "drop", "latency" or "slots"; or the member of `method`'s replies */
	const char *kind;
	const char *method; /* NULL: Monitor */
	/* One record; what it returns other than REPORT_FINE ends the stream. */
	enum report_status (*record)(void *data, const json_t *record);
	void *data;
	int64_t duration_ms; /* end after that long; -1: never */
	bool quiet;	     /* the output is not for people: gaps are told on the standard error */
};

/*
 * With --faults, drops of class policy or benign are only counted, and told at the end.
 * Follow until SIGINT, SIGTERM or SIGHUP, or until --limit records came: that
 * is fine.  The daemon ending the stream is not, and is reported.  `parameters`
 * are Monitor's but for the kind of records, and stolen; NULL is out of memory.
 */
enum report_status follow_records(struct session *session, json_t *parameters,
				  const struct follow *follow);

#endif
