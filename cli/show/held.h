/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of several lines each: the records that the daemon holds, and single records of a stream. */
#ifndef CLI_SHOW_HELD_H
#define CLI_SHOW_HELD_H

#include "cli/ask/session.h"

struct held {
	const char *method;	/* the method that returns the records */
	const char *one, *many; /* "slow journey", "slow journeys" */
	const char *chosen; /* name of the events that the ledger's `chosen` counts: "journeys" */
	const char *const *about; /* questions of coverage; see coverage_put() */
	/* Put one record on the page; `now` as in field_time(). */
	void (*put)(struct page *page, const json_t *record, const char *now);
};

/* Print the records that the daemon holds, newest last.  Steals `parameters`.  A failure is reported. */
enum report_status held_show(struct session *session, json_t *parameters, const struct held *held);

/* Print one record of a stream.  A failure is reported. */
enum report_status held_put_one(struct session *session, const json_t *record,
				const struct held *held);

#endif
