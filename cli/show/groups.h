/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Latencies grouped by segment, process or cgroup.  Groups of histograms are complete.  Groups of latency records are
 * not, because records exist only for slow packets and a random sample.
 */
#ifndef CLI_SHOW_GROUPS_H
#define CLI_SHOW_GROUPS_H

#include <jansson.h>

/*
 * Merge the Latency objects of a GetLatency reply into one per direction and segment, for all devices together.  The
 * caller owns *merged, an array.  0 or -ENOMEM.
 */
int groups_merge(const json_t *latencies, json_t **merged);

/*
 * Group the durations of LatencyRecords by `by` ("process" or "cgroup"), direction and segment.  *groups, which the
 * caller owns, is an array of objects like Latency, but without buckets and with exact quantiles.  The member named by
 * `by` is the group; it is null if the group is not known.  Totals include comparable records only.  0 or -ENOMEM.
 */
int groups_of_records(const json_t *records, const char *by, json_t **groups);

#endif
