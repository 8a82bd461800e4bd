/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the methods of io.netflowd. */
#ifndef DAEMON_CONTROL_INTERNAL_H
#define DAEMON_CONTROL_INTERNAL_H

#include <jansson.h>

#include "daemon/control/control.h"
#include "daemon/core/ledger.h"
#include "daemon/probe/backend.h"
#include "daemon/varlink/call.h"
#include "daemon/varlink/server.h"

struct alert;
struct alert_exec_result;
struct cost;
struct filter;
struct measurer;
struct stream;

/* A method with `limit` returns this many of the newest records by default. */
#define RECORDS_BY_DEFAULT 100

struct control {
	struct control_parts parts;
	struct server *server;
	struct measurer *measurer;
	struct cost *cost;
	struct pending *pending; /* calls that wait for a measurement */
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
int method_get_alerts(struct call *call, json_t *parameters, void *userdata);
int method_monitor_alerts(struct call *call, json_t *parameters, void *userdata);
int method_test_alert(struct call *call, json_t *parameters, void *userdata);
int method_silence_alert(struct call *call, json_t *parameters, void *userdata);
int method_unsilence_alert(struct call *call, json_t *parameters, void *userdata);

/* status.c: end the calls that wait for a measurement. */
void status_stop(struct control *control);

/* monitor.c: send the newest record of a kind to the streams that want it; end all streams. */
void monitor_record(struct control *control, enum record_kind kind);
void monitor_stop(struct control *control);

/* monitor_alerts.c: send an event to all streams of alerts and return their number; end all streams. */
unsigned int alert_streams_send(struct control *control, json_t *event);
void alert_streams_stop(struct control *control);

/* alert_test.c: run the rule's actions and answer the call, now or when the rule's program has ended. */
int alert_test(struct control *control, struct call *call, const struct alert *alert);
/* The program of a test has ended; `data` is the test. */
void alert_test_ended(void *data, const struct alert_exec_result *result);

/* ---- replies ------------------------------------------------------------- */

/* If there is no backend to ask, end the call with NoData and return true. */
bool control_no_data(const struct control *control, struct call *call);

/* Reply with `object`, whose reference is stolen; -ENOMEM if it is NULL.  The result is for the method to return. */
int control_reply(struct call *call, json_t *object);

/*
 * The parameter `name`, a count of at least 1; `otherwise` if it is absent; 0 if it is invalid and the call has ended.
 */
size_t control_read_count(struct call *call, json_t *parameters, const char *name,
			  size_t otherwise);

/*
 * The whole of a method that returns records: check the parameters by `table`, read the filter and the limit, and reply
 * with what `answer` makes of them.  The result is for the method to return.
 */
typedef json_t *(*records_answer)(const struct control *control, const struct filter *filter,
				  size_t limit);
int control_answer_records(const struct control *control, struct call *call, json_t *parameters,
			   const struct parameter table[], records_answer answer);

/* The number, or NULL if it is 0, which means not known; for json_pack() with "o*". */
json_t *control_known(uint32_t number);

/* status.c: the interface's word for a probe's state. */
const char *control_probe_state(enum probe_state state);

/* ---- the ledger ---------------------------------------------------------- */

/*
 * Read the event counters and the number of entries in use of the in-flight table.  Returns true if both belong to the
 * same moment, because nothing moved during one of several attempts.
 */
bool control_read_ledger(const struct control *control, ledger_events events, uint64_t *in_flight);

/* Type LatencyLedger, which the caller owns.  `steady`: nothing moved while `events` was read. */
json_t *control_latency_ledger(ledger_events events, bool steady);

/* slots.c: type SlotsLedger, which the caller owns. */
json_t *control_slots_ledger(const struct control *control);

#endif
