/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The readings of the backend's counters.  All users of counters share them: viewers, alerts, and the replies to
 * clients.
 *
 * A user names the parts that it needs and how old they may be.  It gets the last reading of each part if that is new
 * enough; otherwise it waits for the next one, with all other users that wait.  So ten viewers cost what one costs.
 *
 * A reading is taken in slices of READINGS_SLICE_NS, between which the loop takes records from the ring buffer.  Each
 * part has a share of the loop's time, together 12 %.  If clients ask more often, their calls wait.
 */
#ifndef DAEMON_STORE_READINGS_H
#define DAEMON_STORE_READINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/store/reading.h"

struct loop;
struct device_names;
struct readings;
struct readings_request;

#define READINGS_SLICE_NS UINT64_C(1000000)

/* The loop and the backend must outlive the readings.  -ENOMEM or another negative errno.  Free with readings_free. */
int readings_new(struct readings **readings, struct loop *loop, const struct backend *backend);
/*
 * Read the kernel's counters of packets from now on: those of devices (READING_TRAFFIC), and of the host (`host` of
 * COUNTERS and LEDGER).  `proc` is a directory like /proc that outlives the readings.  `unseen` returns how many
 * packets the host received while no journey began.  What was counted before the first of these readings does not
 * count.  -ENOMEM.
 */
int readings_count_traffic(struct readings *readings, const char *proc,
			   struct reading_unseen (*unseen)(void *userdata), void *userdata);
/* Requests that wait are dropped without an answer. */
void readings_free(struct readings **readings);

/*
 * The answer to a request.  0: readings_latest() has all parts of the request, each new enough; or a negative errno.
 * The request no longer exists.
 */
typedef void (*readings_done)(int result, void *userdata);

/*
 * Call `done` once the parts (READING_BIT()) have a reading that began at most `max_age_ns` before this call; 0: that
 * begins after it.  `done` can run before this returns; *request is then NULL.  -ENOMEM: `done` never runs.
 */
int readings_get(struct readings *readings, struct readings_request **request, unsigned int parts,
		 uint64_t max_age_ns, readings_done done, void *userdata);

/* The answer is no longer wanted.  NULL-safe; sets *request to NULL. */
void readings_forget(struct readings_request **request);

/*
 * Take all parts at once, without slices: for the startup, when the tables are empty, and for the end of the daemon.  0
 * or a negative errno.
 */
int readings_take(struct readings *readings, unsigned int parts);

/*
 * The newest reading of a part, valid until the current handler returns, or longer with reading_hold(); NULL: none.
 * Readings that have not been requested for READINGS_KEEP_NS are freed.
 */
const struct reading *readings_latest(const struct readings *readings, enum reading_part part);

#define READINGS_KEEP_NS UINT64_C(120000000000)

/* A reading is under way: the backend must not housekeep(). */
bool readings_busy(const struct readings *readings);

/* What the readings of a part have cost. */
struct readings_cost {
	const char *name;
	uint64_t readings; /* since startup */
	uint64_t requests; /* that they answered */
	uint64_t cpu_ns;
	uint64_t longest_cpu_ns; /* of one reading, all its slices together */
};

struct readings_cost readings_cost(const struct readings *readings, enum reading_part part);

/*
 * The names of all devices in the readings; valid until the next one.  What is learnt otherwise counts from the next
 * reading on.
 */
struct device_names *readings_names(const struct readings *readings);

#endif
