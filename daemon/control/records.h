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

#include "daemon/core/drop.h"
#include "daemon/core/journey.h"
#include "daemon/core/transmit.h"
#include "daemon/store/records.h"

struct call;
struct control;
struct filter;

/* A resolved record.  Valid until the next record is read or added. */
struct control_record {
	enum record_kind kind;
	union {
		struct drop drop;
		struct journey journey;
		struct transmit transmit;
	};
};

/* Resolve the i-th newest of its kind.  Returns 0 or a negative errno: there are fewer, or it contains no journey. */
int control_record_read(struct control_record *record, struct records *records,
			enum record_kind kind, size_t i);

/* Whether the filter selects it; ignores `faults`. */
bool control_record_taken(const struct control_record *record, const struct filter *filter);

/* Type DropRecord, LatencyRecord or SlotsRecord, which the caller owns; NULL if memory runs out. */
json_t *control_record_json(const struct control_record *record);

/*
 * The rest of a method that returns records of a kind, after its parameters were checked and READING_BIT(COUNTERS) was
 * read.  The result is for the method to return.
 */
int control_records_reply(struct control *control, struct call *call, json_t *parameters,
			  enum record_kind kind);

#endif
