/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Latency records grouped by process or cgroup.  Groups are not complete, because records exist only for slow packets
 * and a random sample.
 */
#ifndef CLI_SHOW_GROUPS_H
#define CLI_SHOW_GROUPS_H

#include <jansson.h>

/*
 * Group the durations of LatencyRecords by `by` ("process" or "cgroup"), direction and segment.  *groups, which the
 * caller owns, is an array of objects like Latency, but without buckets and with exact quantiles.  The member named by
 * `by` is the group; it is null if the group is not known.  Totals include comparable records only.  0 or -ENOMEM.
 */
int groups_of_records(const json_t *records, const char *by, json_t **groups);

#endif
