/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the methods of io.netflowd share. */
#ifndef DAEMON_CONTROL_INTERNAL_H
#define DAEMON_CONTROL_INTERNAL_H

#include <jansson.h>

#include "daemon/control/control.h"
#include "daemon/core/ledger.h"
#include "daemon/core/path.h"
#include "daemon/probe/backend.h"
#include "daemon/varlink/call.h"

struct alert;
struct attribution;
struct cost;
struct filter;
struct measurer;
struct server;
struct stream;

/* How many of the newest records a method gives that takes `limit`. */
#define RECORDS_BY_DEFAULT 100

struct control {
	struct control_parts parts;
	struct server *server;
	struct measurer *measurer;
	struct cost *cost;
	struct attribution *attribution;
	struct path_probes probes; /* which do not run, for what latency records lack */
	struct asked *asked;	   /* calls that wait for a measurement */
	struct stream *streams;
	struct alert_stream *alert_streams;
};

/* The methods, by file.  `userdata` is the control. */
int method_get_status(struct call *call, json_t *parameters, void *userdata);
int method_list_probes(struct call *call, json_t *parameters, void *userdata);
int method_get_drops(struct call *call, json_t *parameters, void *userdata);
int method_get_drop_records(struct call *call, json_t *parameters, void *userdata);
int method_explain(struct call *call, json_t *parameters, void *userdata);
int method_get_latency(struct call *call, json_t *parameters, void *userdata);
int method_get_latency_records(struct call *call, json_t *parameters, void *userdata);
int method_get_napi(struct call *call, json_t *parameters, void *userdata);
int method_get_slots(struct call *call, json_t *parameters, void *userdata);
int method_get_slots_records(struct call *call, json_t *parameters, void *userdata);
int method_monitor(struct call *call, json_t *parameters, void *userdata);
int method_get_alerts(struct call *call, json_t *parameters, void *userdata);
int method_monitor_alerts(struct call *call, json_t *parameters, void *userdata);
int method_test_alert(struct call *call, json_t *parameters, void *userdata);
int method_silence_alert(struct call *call, json_t *parameters, void *userdata);
int method_unsilence_alert(struct call *call, json_t *parameters, void *userdata);

/* status.c: end what waits; monitor.c: likewise. */
void status_stop(struct control *control);
void monitor_stop(struct control *control);
/* monitor.c: hand a record to the streams that want it; costs nothing where there is none. */
void monitor_drop(struct control *control, const struct nf_drop_record *record);
void monitor_path(struct control *control, const struct nf_path_record *record);
void monitor_slots(struct control *control, const struct nf_slots_record *record);

/* alert_deliver.c: end the streams of alerts. */
void alert_streams_stop(struct control *control);
/* alert_deliver.c: do what the rule says; answers the call, now or later. */
int alert_test(struct control *control, struct call *call, const struct alert *alert);

/* Ends the call with NoData and returns true when there is no backend to ask. */
bool control_no_data(const struct control *control, struct call *call);

/* A moment of CLOCK_MONOTONIC as a JSON string. */
json_t *control_time(uint64_t monotonic_ns);

/* slots.c: type SlotsLedger; the caller's. */
json_t *control_slots_ledger(const struct control *control);

/* Type LatencyLedger; the caller's.  `still`: nothing moved while `events` was read. */
json_t *control_latency_ledger(ledger_events events, bool still);

/*
 * The parameter `name`, a count of 1 and more; `otherwise` when it is not
 * given; 0 when it is wrong and the call has ended.
 */
size_t control_read_count(struct call *call, json_t *parameters, const char *name,
			  size_t otherwise);

/*
 * What a method that answers with records begins with: its parameters checked
 * by `table`, read into `filter`, which the caller clears, and into `limit`.
 * 1: go on; 0 or -errno: it is answered or has failed, for the method to return.
 */
int control_read_records(const struct control *control, struct call *call, json_t *parameters,
			 const struct parameter table[], struct filter *filter, size_t *limit);

/* status.c: the word of the interface for it. */
const char *control_probe_state(enum probe_state state);

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
