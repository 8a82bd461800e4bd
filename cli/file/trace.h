/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Latency records as Chrome's trace events (the JSON object format), which
 * Perfetto and chrome://tracing open.
 *
 * A path that ended at a reader lies on the track of that reader, every other
 * on the track of the CPU that it ended on.  It is one complete event ("X") for
 * each segment between two stages that follow each other.  Several packets may
 * wait at once, and events of one track must not overlap, so a track goes on
 * with further ones: "reader (2)".  Times are microseconds since the first
 * stage of all; otherData says when that was.
 */
#ifndef CLI_FILE_TRACE_H
#define CLI_FILE_TRACE_H

#include <jansson.h>

#include "common/cleanup.h"

struct trace;

int trace_new(struct trace **trace);
void trace_free(struct trace **trace);
#define OWN_TRACE CLEANUP(trace_free)

/* Keep a LatencyRecord.  0; -EINVAL when it has no times, -ENOMEM. */
int trace_add(struct trace *trace, const json_t *record);

/* Records kept. */
size_t trace_records(const struct trace *trace);

/* All of them as trace events; the caller owns *json.  0 or -ENOMEM. */
int trace_json(struct trace *trace, json_t **json);

#endif
