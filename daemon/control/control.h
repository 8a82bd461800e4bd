/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon as its clients see it: the methods of io.netflowd, each in the file of its subject.  One table (methods.c)
 * connects them to the server.
 */
#ifndef DAEMON_CONTROL_CONTROL_H
#define DAEMON_CONTROL_CONTROL_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/sources/sources.h"
#include "daemon/store/records.h"

struct alert_clients;
struct alerts;
struct control;
struct coverage;
struct loop;
struct reading;

/* Limits for clients; see the settings of section control. */
struct control_limits {
	uint64_t clients;
	uint64_t idle_ns; /* 0: no limit */
};

/* What a reload of the settings did. */
#define CONTROL_RELOADED_MAX 128
struct control_reloaded {
	/* Keys whose new values are in force, and keys whose new values need a restart. */
	const char *applied[CONTROL_RELOADED_MAX], *restart[CONTROL_RELOADED_MAX];
	size_t applied_count, restart_count;
	char error[512]; /* why nothing changed; empty: it worked */
};

/* The caller owns all of these, and they must outlive the control. */
struct control_parts {
	struct loop *loop;
	struct sources sources; /* of all answers */
	struct alerts *alerts;
	const char *socket_path;
	const char *group; /* whose members may connect, too; NULL: only this user and root */
	int listening; /* a socket that the service manager made, as in struct server_settings; 0: none */
	struct control_limits limits;
	/* Read the settings and the alert rules again. */
	void (*reload)(void *userdata, struct control_reloaded *reloaded);
	void *reload_userdata;
};

/* Listen and serve.  Returns 0 or a negative errno.  Free with control_free. */
int control_new(struct control **control, const struct control_parts *parts);
void control_free(struct control **control);

/* New limits, for the clients and calls that come. */
void control_set_limits(struct control *control, const struct control_limits *limits);

/* A record of this kind was added: send it to the clients that stream. */
void control_record(struct control *control, enum record_kind kind);

/*
 * Which questions netflowd can answer now; the caller clears it.  `counters` is a reading with counters, NULL: the
 * newest one.  -ENOMEM, and it is empty.
 */
int control_coverage(const struct control *control, const struct reading *counters,
		     struct coverage *coverage);

struct server_stats;

/* Clients and streams, see daemon/varlink/server.h. */
void control_clients(const struct control *control, struct server_stats *stats);

/* How alerts reach clients; valid until the control is freed. */
struct alert_clients control_alert_clients(struct control *control);

#endif
