/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Latency records as Chrome trace events (the JSON object format), which Perfetto and chrome://tracing open.
 *
 * A journey that ended at a reader is on the track of that reader; any other is on the track of the CPU that it ended
 * on.  It is one complete event ("X") per segment between two consecutive stages.  Several packets can wait at the same
 * time, but the events of a track must not overlap.  A reader or CPU therefore has as many tracks as it needs:
 * "reader", "reader (2)".  Times are microseconds since the first stage of all records; otherData has its wall-clock
 * time.
 */
#ifndef CLI_FILE_TRACE_H
#define CLI_FILE_TRACE_H

#include <jansson.h>

#include "common/cleanup.h"

struct trace;

int trace_new(struct trace **trace);
void trace_free(struct trace **trace);
#define OWN_TRACE CLEANUP(trace_free)

/* Keep a copy of a LatencyRecord.  0; -EINVAL if it has no stages or no time; -ENOMEM. */
int trace_add(struct trace *trace, const json_t *record);

/* The number of records kept. */
size_t trace_records(const struct trace *trace);

/* Convert all records to trace events; the caller owns *json.  0 or -ENOMEM. */
int trace_json(struct trace *trace, json_t **json);

#endif
