/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon as its clients see it: the methods of io.netflowd, each in the file of its subject.  One table (methods.c)
 * connects them to the server.
 */
#ifndef DAEMON_CONTROL_CONTROL_H
#define DAEMON_CONTROL_CONTROL_H

#include <stdint.h>

#include "daemon/store/records.h"

struct alert_clients;
struct alerts;
struct attribution;
struct backend;
struct control;
struct loop;
struct readings;
struct rockets;

/* Limits for clients; see the settings of section control. */
struct control_limits {
	uint64_t clients;
	uint64_t message_bytes;
	uint64_t queue_bytes;
};

/* The caller owns all of these, and they must outlive the control. */
struct control_parts {
	struct loop *loop;
	struct backend *backend;
	const char *backend_reason;	 /* why this backend runs */
	const char *symbols_reason;	 /* why symbols are missing; NULL if they are not */
	struct records *records;	 /* the newest records */
	struct readings *readings;	 /* the counters */
	struct attribution *attribution; /* for namespaces that clients name */
	const struct rockets *rockets;	 /* rockets that the kernel's log reports */
	const char *kmsg_reason;	 /* why netflowd does not read that log; NULL if it does */
	uint32_t slots_limit;
	struct alerts *alerts;
	const char *socket_path;
	struct control_limits limits;
	uint64_t started_ns; /* CLOCK_MONOTONIC */
};

/* Listen and serve.  Returns 0 or a negative errno.  Free with control_free. */
int control_new(struct control **control, const struct control_parts *parts);
void control_free(struct control **control);

/* A record of this kind was added: send it to the clients that stream. */
void control_record(struct control *control, enum record_kind kind);

/* How alerts reach clients; valid until the control is freed. */
struct alert_clients control_alert_clients(struct control *control);

#endif
