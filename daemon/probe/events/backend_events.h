/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the backends on trace events share: all that the correlator knows, as a backend reports it.  Such a backend
 * begins with a struct backend_events, and its ops begin with BACKEND_EVENTS_OPS.
 */
#ifndef DAEMON_PROBE_EVENTS_BACKEND_EVENTS_H
#define DAEMON_PROBE_EVENTS_BACKEND_EVENTS_H

#include "daemon/probe/absent.h"

struct correlator;
struct decoder;
struct tep_handle;

#define BACKEND_EVENTS_BLIND 8 /* questions and criteria that events_blind() knows */
#define BACKEND_EVENTS_TEXT_MAX (EXCLUSION_TEXT_MAX + 1024)

struct backend_events {
	struct backend backend;
	struct backend_sink sink;
	struct correlator *correlator;
	struct decoder *decoder;
	struct tep_handle *tep; /* not owned */
	uint32_t cpus;
	uint64_t unreadable; /* records of our events that were too short */
	bool disabled[NF_PROBE_COUNT];
	char *blind[BACKEND_EVENTS_BLIND]; /* what events_blind() says of excluded devices, too */
	char *slots_blind; /* BACKEND_EVENTS_TEXT_MAX bytes: what it says of ring slots */
	/* Add the names and ids of the task with task->tid, as far as they are known. */
	void (*name_task)(const struct backend_events *events, struct nf_task *task);
};

/* Make decoder and correlator, and add the reasons of the format to `names`.  -ENOMEM. */
int backend_events_open(struct backend_events *events, const struct backend_settings *settings,
			const struct backend_sink *sink, struct tep_handle *tep, uint32_t cpus,
			struct names *names);
void backend_events_close(struct backend_events *events);

/*
 * The source has no events that name the devices `names`; `by` is what excluded them.  From now on, identity is more
 * cautious, and coverage says so.  -ENOMEM.
 */
int backend_events_exclude(struct backend_events *events, const char *by, const char *names);

/* A record of the trace.  -EBADMSG: it is too short for its event. */
int backend_events_take(struct backend_events *events, const void *data, size_t size, uint32_t cpu,
			uint64_t time_ns);

/* The source lost events; 0: it does not know how many. */
void backend_events_lost(struct backend_events *events, uint32_t cpu, uint64_t count);

void events_probe(const struct backend *backend, enum nf_probe probe, struct probe_status *status);
bool events_trace(const struct backend *backend, struct backend_trace *trace);
const char *events_blind(const struct backend *backend, const char *question);
const char *events_reasons_missing(const struct backend *backend);
void events_events(const struct backend *backend, uint64_t events[NF_PROBE_COUNT][NF_EVENT_COUNT]);
bool events_in_flight(const struct backend *backend, struct backend_cursor *cursor, uint64_t now_ns,
		      struct backend_in_flight *count);
int events_devices(const struct backend *backend, struct backend_cursor *cursor,
		   int (*visit)(const struct backend_device *device, void *userdata),
		   void *userdata);
int events_napi(const struct backend *backend, struct backend_cursor *cursor,
		int (*visit)(const struct backend_napi *napi, void *userdata), void *userdata);
uint32_t events_cpus(const struct backend *backend);
void events_softirq_wait(const struct backend *backend, uint32_t cpu, struct nf_hist *hist);
void events_sharing(const struct backend *backend, struct backend_sharing *sharing);
int events_drops(const struct backend *backend, struct backend_cursor *cursor,
		 int (*visit)(const struct backend_drops *drops, void *userdata), void *userdata);
void events_slots_events(const struct backend *backend,
			 uint64_t events[NF_SLOTS_PROBES][NF_SLOTS_EVENTS]);
int events_slots(const struct backend *backend, struct backend_cursor *cursor,
		 int (*visit)(const struct backend_slots *slots, void *userdata), void *userdata);
int events_tables(const struct backend *backend, struct backend_cursor *cursor,
		  int (*visit)(const struct backend_table *table, void *userdata), void *userdata);
void events_tune(struct backend *backend, const struct backend_settings *settings);
const char *events_stats_missing(const struct backend *backend);

#define BACKEND_EVENTS_OPS                                                                         \
	.blind = events_blind, .reasons_missing = events_reasons_missing, .events = events_events, \
	.streams = absent_streams, .in_flight = events_in_flight, .awaited = absent_awaited,       \
	.housekeep = absent_housekeep, .devices = events_devices, .napi = events_napi,             \
	.cpus = events_cpus, .softirq_wait = events_softirq_wait, .sharing = events_sharing,       \
	.drops = events_drops, .tables = events_tables, .slots_events = events_slots_events,       \
	.slots = events_slots, .refresh = absent_refresh, .name_reasons = absent_name_reasons,     \
	.set_stack = absent_set_stack, .tune = events_tune, .follow = absent_follow,               \
	.cpu_cost = absent_cpu_cost, .hook_ns = absent_hook_ns, .most_drawn = absent_most_drawn,   \
	.stats_missing = events_stats_missing, .set_stats = absent_set_stats,                      \
	.stats = absent_stats

#endif
