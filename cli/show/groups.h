/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Latencies put together by something: histograms of all devices by segment,
 * which is exact; durations in latency records by process or cgroup, which is
 * not, because records are slow packets and a sample of the others.
 */
#ifndef CLI_SHOW_GROUPS_H
#define CLI_SHOW_GROUPS_H

#include <jansson.h>

/*
 * The Latency objects of an answer of GetLatency as one for each direction and
 * segment, without a device.  The caller owns *merged, an array.  0 or -ENOMEM.
 */
int groups_merge(const json_t *latencies, json_t **merged);

/*
 * The durations of LatencyRecords, by `by` ("process" or "cgroup"), direction
 * and segment: an array of objects like Latency, but exact in what they tell
 * and with the group in the member named by `by`, null where it is not known.
 * The segment "total" holds comparable records only.  0 or -ENOMEM.
 */
int groups_of_records(const json_t *records, const char *by, json_t **groups);

#endif
