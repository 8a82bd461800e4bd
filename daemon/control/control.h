/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What clients can ask: the methods of io.netflowd, each in the file of its
 * subject, joined to the server by one table (methods.c).
 */
#ifndef DAEMON_CONTROL_CONTROL_H
#define DAEMON_CONTROL_CONTROL_H

#include <stdint.h>

#include "bpf/records.h"

struct alert_engine;
struct alert_event;
struct alert_exec;
struct alert_exec_result;
struct backend;
struct control;
struct loop;
struct names;
struct recent;
struct rockets;
struct symbols;

/* What clients may take of the daemon; see the settings of section control. */
struct control_limits {
	uint64_t clients;
	uint64_t message_bytes;
	uint64_t queue_bytes;
};

/* All are the caller's and must outlive the control. */
struct control_parts {
	struct loop *loop;
	struct backend *backend;
	const char *backend_reason; /* why this backend */
	const char *symbols_reason; /* why symbols are missing, NULL when they are there */
	const struct names *names;
	const struct symbols *symbols;
	const struct recent *recent;   /* drop records */
	const struct recent *paths;    /* latency records */
	const struct recent *slots;    /* slots records */
	const struct rockets *rockets; /* what the kernel's log says of them */
	const char *kmsg_reason;       /* why that log is not read, NULL when it is */
	uint32_t slots_limit;
	struct alert_engine *alerts;
	struct alert_exec *exec; /* runs the programs of alerts */
	const char *socket_path;
	struct control_limits limits;
	uint64_t started_ns; /* CLOCK_MONOTONIC */
};

/* Listen and serve.  Negative errno; free with control_free. */
int control_new(struct control **control, const struct control_parts *parts);
void control_free(struct control **control);

/* A new record, for those who stream. */
void control_drop(struct control *control, const struct nf_drop_record *record);
void control_path(struct control *control, const struct nf_path_record *record);
void control_slots(struct control *control, const struct nf_slots_record *record);

/* A probe's state may have changed. */
void control_find_probes(struct control *control);

/* An alert changed: do what its rule says. */
void control_alert(struct control *control, const struct alert_event *event);
/* A program that was run for an alert ended; `data` as given to alert_exec_run(). */
void control_alert_program(struct control *control, const char *name,
			   const struct alert_exec_result *result, void *data);

#endif
