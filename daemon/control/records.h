/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of any kind as clients get them: resolved, selected by a filter, as JSON.  GetDropRecords, GetLatencyRecords,
 * GetSlotsRecords and Monitor differ only in the kind.
 */
#ifndef DAEMON_CONTROL_RECORDS_H
#define DAEMON_CONTROL_RECORDS_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "daemon/core/record.h"

struct call;
struct control;
struct filter;

/* Whether the filter selects it; ignores `faults`. */
bool control_record_taken(const struct record *record, const struct filter *filter);

/* Whether the filter hides it, because it asks for other classes. */
bool control_record_hidden(const struct record *record, const struct filter *filter);

/* Type DropRecord, LatencyRecord or SlotsRecord, which the caller owns; NULL if memory runs out. */
json_t *control_record_json(const struct record *record);

/*
 * The rest of a method that returns records of a kind, after its parameters were checked and READING_BIT(COUNTERS) was
 * read.  The result is for the method to return.
 */
int control_records_reply(struct control *control, struct call *call, json_t *parameters,
			  enum record_kind kind);

#endif
