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

/* The result of a search among the held records. */
struct control_found {
	size_t matched;	 /* selected and not hidden */
	size_t hidden;	 /* selected, but not a fault, and the filter shows faults only */
	json_t *records; /* the newest `limit` that matched, newest last; the caller owns them */
};

struct control_found control_records_find(struct records *records, enum record_kind kind,
					  const struct filter *filter, size_t limit);

#endif
