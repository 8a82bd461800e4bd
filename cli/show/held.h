/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records that take more than a line each: those that the daemon holds, and one that has come. */
#ifndef CLI_SHOW_HELD_H
#define CLI_SHOW_HELD_H

#include "cli/ask/session.h"

struct held {
	const char *method;	  /* of the daemon */
	const char *one, *many;	  /* "slow path", "slow paths" */
	const char *chosen;	  /* what the ledger's `chosen` counts: "paths" */
	const char *const *about; /* as coverage_ask() takes it */
	/* Put one; `now` as in field_time(). */
	void (*put)(struct page *page, const json_t *record, const char *now);
};

/* Show what the daemon holds, newest last; `parameters` of the method are stolen. */
enum report_status held_show(struct session *session, json_t *parameters, const struct held *held);

/* Show one record of a stream. */
enum report_status held_put_one(struct session *session, const json_t *record,
				const struct held *held);

#endif
