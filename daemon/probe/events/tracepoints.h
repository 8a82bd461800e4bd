/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's trace events that show what the probes show: those of tracefs on this host, and those of a recorded
 * file.
 */
#ifndef DAEMON_PROBE_EVENTS_TRACEPOINTS_H
#define DAEMON_PROBE_EVENTS_TRACEPOINTS_H

#include <stddef.h>

#include "bpf/records.h"

/* The group of the kprobe events that netflowd creates. */
#define TRACEPOINTS_KPROBES "netflowd"
/* The name of the kprobe events on xennet_start_xmit(); all but one have a suffix. */
#define TRACEPOINTS_SLOTS "xennet_start_xmit"
/* Fragments in one field of theirs: each has two words, and the kernel takes arrays of 64. */
#define TRACEPOINTS_FRAGS 32
/* A line of the trace marker: the devices whose events were passed over. */
#define TRACEPOINTS_EXCLUDED "netflowd: excluded devices: "

struct tracepoint {
	enum nf_probe probe;
	const char *system, *name; /* as in events/SYSTEM/NAME of tracefs */
	const char *filter;	   /* the kernel drops other events; NULL: it keeps all */
	/*
	 * Of a kprobe event: the function, and its arguments as in Documentation/trace/kprobetrace.rst; or NULL.
	 * {struct.member} stands for the member's offset in bytes, which the running kernel's types have.
	 */
	const char *function, *arguments;
	const char *device; /* the field that names the device; NULL: it has none */
};

/*
 * In the order of enum nf_probe.  Of several for one probe, netflowd uses the first that the kernel has.
 */
extern const struct tracepoint tracepoints[];
extern const size_t tracepoints_count;

#endif
