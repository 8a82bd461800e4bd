/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the methods of io.netflowd. */
#ifndef DAEMON_CONTROL_INTERNAL_H
#define DAEMON_CONTROL_INTERNAL_H

#include <jansson.h>

#include "daemon/control/control.h"
#include "daemon/probe/backend.h"
#include "daemon/store/readings.h"
#include "daemon/varlink/call.h"
#include "daemon/varlink/server.h"

struct alert;
struct alert_exec_result;
struct cost;
struct measured;
struct measurer;
struct stream;

/* A method with `limit` returns this many of the newest records by default. */
#define RECORDS_BY_DEFAULT 100

struct control {
	struct control_parts parts;
	const struct sources *sources; /* those of the parts */
	struct server *server;
	struct measurer *measurer;
	struct cost *cost;
	uint64_t added[RECORDS_KINDS]; /* records since startup */
	struct pages *pages;	       /* replies that are not complete */
	struct waiting *waiting;       /* calls that wait for a reading, or for a measurement */
	/* Of the call that is answered now; NULL: it asked for none. */
	const struct measured *measured;
	struct stream *streams;
	struct alert_stream *alert_streams;
};

/* methods.c: the table, `userdata` of each method is the control. */
extern const struct method control_methods[];
extern const size_t control_method_count;

/* The methods, by file. */
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
int method_get_incidents(struct call *call, json_t *parameters, void *userdata);
int method_get_incident(struct call *call, json_t *parameters, void *userdata);
int method_get_alerts(struct call *call, json_t *parameters, void *userdata);
int method_monitor_alerts(struct call *call, json_t *parameters, void *userdata);
int method_test_alert(struct call *call, json_t *parameters, void *userdata);
int method_silence_alert(struct call *call, json_t *parameters, void *userdata);
int method_reload(struct call *call, json_t *parameters, void *userdata);
int method_unsilence_alert(struct call *call, json_t *parameters, void *userdata);
int method_pause(struct call *call, json_t *parameters, void *userdata);
int method_resume(struct call *call, json_t *parameters, void *userdata);

/*
 * read.c: call `answer` when the parts of the counters (READING_BIT()) have a reading that is as new as the call's
 * parameter max_age_ms says, by default one that begins after the call.  Names of devices are then known too, for
 * filter_read().  With a parameter measure_ms, the programs are measured before.  The result is for the method to
 * return.
 */
int control_read(struct control *control, struct call *call, json_t *parameters, unsigned int parts,
		 server_method answer);
/* The newest reading of a part that control_read() waited for. */
#define control_reading(control, part) sources_reading((control)->sources, part)
/* End the waits of all calls. */
void control_stop_waiting(struct control *control);

/* monitor.c: send the newest record of a kind to the streams that want it; end all streams. */
void monitor_record(struct control *control, enum record_kind kind);
void monitor_stop(struct control *control);

/* monitor_alerts.c: send an event to all streams of alerts and return their number; end all streams. */
unsigned int alert_streams_send(struct control *control, json_t *event);
void alert_streams_stop(struct control *control);

/* alert_test.c: run the rule's actions and answer the call, now or when the rule's program has ended. */
int alert_test(struct control *control, struct call *call, const struct alert *alert);
/* The program of a test has ended; `data` is the test. */
void alert_test_ended(void *data, const char *action, const struct alert_exec_result *result);

/* ---- replies ------------------------------------------------------------- */

/* If there is no backend to ask, end the call with NoData and return true. */
bool control_no_data(const struct control *control, struct call *call);

/* Reply with `object`, whose reference is stolen; -ENOMEM if it is NULL.  The result is for the method to return. */
int control_reply(struct call *call, json_t *object);

/* The time from `since` in a reply to the moment `time_ns`; never negative. */
json_int_t control_elapsed(const struct control *control, uint64_t time_ns);

/* pause.c: type Paused; NULL: netflowd is not paused. */
json_t *control_paused(const struct control *control);

/* probes.c: why the kernel's program statistics cannot be used; NULL: they can. */
const char *control_unmeasurable(const struct control *control);

/* probes.c: the age of an earlier call's measurement in ns; NULL: it is this call's, or there is none. */
json_t *control_measured_age(const struct measured *measured);

/* probes.c: the interface's word for a probe's state. */
const char *control_probe_state(enum probe_state state);

#endif
