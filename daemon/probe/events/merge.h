/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which of many sources has the earliest event: the ring buffers of the CPUs, each in the order of its times.
 */
#ifndef DAEMON_PROBE_EVENTS_MERGE_H
#define DAEMON_PROBE_EVENTS_MERGE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cleanup.h"

struct merge;

/* For sources 0 to `sources` - 1, none of which has an event yet.  NULL: no memory.  Free with merge_free. */
struct merge *merge_new(uint32_t sources);
void merge_free(struct merge **merge);
#define OWN_MERGE CLEANUP(merge_free)

/* A source that had no event has one of this time now. */
void merge_add(struct merge *merge, uint32_t source, uint64_t time_ns);

/* The source with the earliest event; of several with the same time, that with the lowest number.  false: no source has
 * one. */
bool merge_first(const struct merge *merge, uint32_t *source, uint64_t *time_ns);

/* The first source has its next event, of this time, */
void merge_advance(struct merge *merge, uint64_t time_ns);
/* or has none any more. */
void merge_drop(struct merge *merge);

#endif
