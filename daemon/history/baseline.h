/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The packets of each cause of drops in each ten minutes of the last 26 hours, from which its mark is made.  The
 * writer's thread fills it: from the file when that is opened, then from each batch.  So no question reads the file for
 * it.  Pure arithmetic: no I/O and no clock.
 *
 * It is bounded: BASELINE_CAUSES causes of about 0.8 KiB each.  Strangers can make causes, with devices and protocols.
 * They cannot make families (reason, function and class), which only the kernel's code has.  So a family with more than
 * BASELINE_FAMILY causes has one for all of them, and a full table does the same with its largest family.
 */
#ifndef DAEMON_HISTORY_BASELINE_H
#define DAEMON_HISTORY_BASELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "daemon/history/baseline_rates.h"

struct baseline;
struct baseline_view;
struct batch;

#define BASELINE_CAUSES 4096
#define BASELINE_FAMILY 64

/* -ENOMEM.  Free with baseline_free(). */
int baseline_new(struct baseline **baseline);
/* NULL-safe; sets *baseline to NULL. */
void baseline_free(struct baseline **baseline);

/*
 * The present, in us since 1970.  Buckets that are then too old are forgotten, and so are those after it: the clock was
 * set back.
 */
void baseline_set_present(struct baseline *baseline, int64_t now_us);

/* netflowd counted drops from `from_us` to `to_us`; times that have no bucket are left out. */
void baseline_cover_time(struct baseline *baseline, int64_t from_us, int64_t to_us);

/*
 * Packets of a cause, see baseline_key.h, in the bucket of `time_s`, since 1970.  A bucket that is older than all, or
 * later than the present, is left out.  -ENOMEM.
 */
int baseline_add(struct baseline *baseline, const char *key, int64_t time_s, uint64_t packets);

/* Both, of an interval.  A batch whose coverage has the question `drops` as unavailable covers no time.  -ENOMEM. */
int baseline_add_batch(struct baseline *baseline, const struct batch *batch);

/* What is in the table, for the caller; -ENOMEM.  Takes 3 µs for each cause. */
int baseline_show(struct baseline *baseline, struct baseline_view **view);

#endif
