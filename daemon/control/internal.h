/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the methods of io.netflowd share. */
#ifndef CONTROL_INTERNAL_H
#define CONTROL_INTERNAL_H

#include <jansson.h>

#include "daemon/control/call.h"
#include "daemon/control/control.h"
#include "daemon/core/ledger.h"

struct cost;
struct measurer;
struct server;
struct stream;

struct control {
	struct control_parts parts;
	struct server *server;
	struct measurer *measurer;
	struct cost *cost;
	struct asked *asked; /* calls that wait for a measurement */
	struct stream *streams;
};

/* The methods, by file.  `userdata` is the control. */
int method_get_status(struct call *call, json_t *parameters, void *userdata);
int method_list_probes(struct call *call, json_t *parameters, void *userdata);
int method_get_drops(struct call *call, json_t *parameters, void *userdata);
int method_get_drop_records(struct call *call, json_t *parameters, void *userdata);
int method_get_latency(struct call *call, json_t *parameters, void *userdata);
int method_monitor(struct call *call, json_t *parameters, void *userdata);

/* status.c: end what waits; monitor.c: likewise. */
void status_stop(struct control *control);
void monitor_stop(struct control *control);
/* monitor.c: hand a record to the streams that want it. */
void monitor_drop(struct control *control, const struct nf_drop_record *record);

/* Ends the call with NoData and returns true when there is no backend to ask. */
bool control_no_data(const struct control *control, struct call *call);

/* A moment of CLOCK_MONOTONIC as a JSON string. */
json_t *control_time(uint64_t monotonic_ns);

/*
 * Reply with `object`, which is stolen; -ENOMEM when it is NULL.  For methods
 * to return.
 */
int control_reply(struct call *call, json_t *object);

/*
 * The event counters, and how many entries of the in-flight table are taken:
 * of one moment when nothing moved during some attempts.  Returns whether so.
 */
bool control_read_ledger(const struct control *control, ledger_events events, uint64_t *in_flight);

#endif
