/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Moves the pages of an instance's ring buffers into files, one per CPU.  The files have no name, so nothing of them is
 * left if this process is killed.
 */
#ifndef DAEMON_PROBE_TRACEFS_RECORDER_H
#define DAEMON_PROBE_TRACEFS_RECORDER_H

#include <stdint.h>

#include "daemon/probe/tracefs/refusal.h"
#include "daemon/probe/tracefs/stats.h"

struct instance;
struct recorder;

struct recorder_cpu {
	int pages;	/* the file; -1: there is no such CPU */
	uint64_t bytes; /* in it, whole pages */
	char *text; /* of the kernel's counters; NULL until recorder_finish(), and if they cannot be read */
	struct stats stats;
};

/*
 * Prepare the files in `directory`.  `signals` is a descriptor of signalfd(2), which stays the caller's; a signal ends
 * recorder_run().  A failure is described in `error` (REFUSAL_MAX bytes).
 */
int recorder_new(struct recorder **recorder, const struct instance *instance, const char *directory,
		 int signals, char *error);
void recorder_free(struct recorder **recorder);

/* Move pages until a signal comes.  On failure the files have all pages until then. */
int recorder_run(struct recorder *recorder, char *error);

/*
 * After instance_stop(), and again after instance_note_lost(): move the rest, also pages that are not full, and read
 * the counters.
 */
int recorder_finish(struct recorder *recorder, char *error);

/* `count` files, by the number of the CPU; they belong to the recorder. */
struct recorder_cpu *recorder_cpus(struct recorder *recorder, unsigned int *count);

/*
 * Give back the room on the disk that the recorder reserved, so that a file with all pages can be written also if the
 * disk was full.
 */
void recorder_release(struct recorder *recorder);

#endif
