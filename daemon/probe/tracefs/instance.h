/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace instance of netflowd's own: a directory in tracefs with its own ring buffers, events and filters, so that
 * neither another tracer on this host nor netflowd changes what the other one sees.
 *
 * Its name is netflowd-PURPOSE-PID.  An instance whose process no longer exists is removed when the next one opens.
 */
#ifndef DAEMON_PROBE_TRACEFS_INSTANCE_H
#define DAEMON_PROBE_TRACEFS_INSTANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/records.h"
#include "daemon/probe/tracefs/refusal.h"

/* The ring buffer of a CPU, and the most that those of all CPUs have together, if no size is given. */
#define INSTANCE_BUFFER_KIB 4096
#define INSTANCE_BUFFERS_KIB (256 << 10)

/* The purpose of the instance of the daemon. */
#define INSTANCE_LIVE "live"

struct instance;
struct exclusion;
struct tracepoint;

/* What the instance has for a probe. */
struct instance_probe {
	const struct tracepoint *event; /* that is enabled; NULL: none */
	char *filter;			/* of the event; NULL: it has none */
	bool unfiltered;		/* the kernel refused the filter */
	char why[192];			/* why there is no event; empty if there is one */
};

/*
 * Make an instance with the clock CLOCK_MONOTONIC (`mono`), that records nothing yet.  `purpose` is a word in small
 * letters; `buffer_kib` is the size of the ring buffer of each CPU, 0: the default above.  A failure is described in
 * `error` (REFUSAL_MAX bytes).
 */
int instance_open(struct instance **instance, const char *purpose, uint64_t buffer_kib,
		  char *error);

/*
 * Disable the events, and remove the instance, and the kprobe events that no other instance uses.  Returns 0, or the
 * negative errno with which the kernel refused to remove the instance, which then records nothing; *instance is NULL
 * either way.
 */
int instance_close(struct instance **instance);

/*
 * Enable the event of each probe, each with its filter, but not of those in `disabled`; NULL: all.  Events that name a
 * device of `excluded`, NULL: none, are passed over.  Events are recorded from instance_start() on.  Fails with -ENOENT
 * if the kernel has none of the events.
 */
int instance_enable(struct instance *instance, const bool disabled[NF_PROBE_COUNT],
		    const struct exclusion *excluded, char *error);

/* Switch the events of a probe off or on again.  Does nothing if it has none. */
int instance_switch(struct instance *instance, enum nf_probe probe, bool on);

/* The formats of the events, which the caller frees with tep_free(); NULL: they cannot be read. */
struct tep_handle;
struct tep_handle *instance_formats(const struct instance *instance);

const struct instance_probe *instance_probe(const struct instance *instance, enum nf_probe probe);

/* The i-th event that is enabled for a probe; NULL: there are fewer.  Only xennet_start_xmit has more than one. */
const struct tracepoint *instance_event(const struct instance *instance, enum nf_probe probe,
					size_t i);

/*
 * Begin to record on all CPUs at one moment, and end it.  Among the first events are two lines of the trace marker:
 * the difference between the time of day and CLOCK_MONOTONIC, and netflowd's version; and a third one if devices are
 * excluded.  The difference is also among the last ones, because the time of day can be set during a recording.
 */
int instance_start(struct instance *instance);
int instance_stop(struct instance *instance);

/* After instance_stop(), when the ring buffers are empty: the last event says how many events they lost. */
int instance_note_lost(struct instance *instance, uint64_t lost);

/* Possible CPUs: each number is below it. */
unsigned int instance_cpus(const struct instance *instance);

/* The size of the ring buffer of each CPU in KiB. */
uint64_t instance_buffer_kib(const struct instance *instance);

/* The size of a page of the ring buffers in bytes: of what one read of trace_pipe_raw returns. */
uint32_t instance_page_size(const struct instance *instance);

/*
 * Whether a ring buffer becomes readable when a tenth of it is full.  Before 5.0 it does at each event, which would
 * wake its reader as often.
 */
bool instance_wakes_early(const struct instance *instance);

/* Open trace_pipe_raw of a CPU, non-blocking.  Returns a descriptor; -ENOENT if there is no such CPU; another error. */
int instance_open_pages(const struct instance *instance, unsigned int cpu);

/*
 * The text of a file of the instance, on the heap; NULL if it cannot be read.  `path` is a format for its name below
 * the directory of the instance.  Files that only the kernel as a whole has are read there, such as saved_cmdlines.
 */
char *instance_read(const struct instance *instance, const char *path, ...)
	__attribute__((format(printf, 2, 3)));

/* The names of the events of the group "ftrace", NULL at the end; NULL if they cannot be read. */
char **instance_builtin_events(void);
void instance_free_names(char **names);

#endif
