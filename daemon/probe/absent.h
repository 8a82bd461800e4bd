/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions of struct backend_ops for what a backend does not have. */
#ifndef DAEMON_PROBE_ABSENT_H
#define DAEMON_PROBE_ABSENT_H

#include "daemon/probe/backend.h"

const char *absent_blind(const struct backend *backend, const char *question);
bool absent_trace(const struct backend *backend, struct backend_trace *trace);
bool absent_recording(const struct backend *backend, struct backend_recording *recording);
int absent_fd(const struct backend *backend);
int absent_dispatch(struct backend *backend);
void absent_streams(const struct backend *backend, uint64_t bytes[NF_STREAM_COUNT]);
uint64_t absent_awaited(const struct backend *backend, uint64_t now_ns, uint64_t enough);
void absent_housekeep(struct backend *backend);
bool absent_refresh(struct backend *backend);
int absent_name_reasons(struct backend *backend, struct names *names);
void absent_set_stack(struct backend *backend, bool on);
void absent_set_level(struct backend *backend, enum backend_level level);
void absent_follow(struct backend *backend, const struct backend_following *following);
void absent_cpu_cost(const struct backend *backend, uint32_t cpu, struct backend_cpu_cost *cost);
double absent_hook_ns(const struct backend *backend);
uint64_t absent_most_drawn(const struct backend *backend);
int absent_set_stats(struct backend *backend, bool on);
void absent_stats(const struct backend *backend, struct probe_runs runs[NF_PROBE_COUNT],
		  struct probe_runs *empty);
void absent_slots_events(const struct backend *backend,
			 uint64_t events[NF_SLOTS_PROBES][NF_SLOTS_EVENTS]);
int absent_slots(const struct backend *backend, struct backend_cursor *cursor,
		 int (*visit)(const struct backend_slots *, void *), void *userdata);
void absent_events(const struct backend *backend, uint64_t events[NF_PROBE_COUNT][NF_EVENT_COUNT]);
bool absent_in_flight(const struct backend *backend, struct backend_cursor *cursor, uint64_t now_ns,
		      struct backend_in_flight *count);
int absent_devices(const struct backend *backend, struct backend_cursor *cursor,
		   int (*visit)(const struct backend_device *, void *), void *userdata);
int absent_napi(const struct backend *backend, struct backend_cursor *cursor,
		int (*visit)(const struct backend_napi *, void *), void *userdata);
void absent_sharing(const struct backend *backend, struct backend_sharing *sharing);
void absent_softirq_wait(const struct backend *backend, uint32_t cpu, struct nf_hist *hist);
int absent_drops(const struct backend *backend, struct backend_cursor *cursor,
		 int (*visit)(const struct backend_drops *, void *), void *userdata);
int absent_tables(const struct backend *backend, struct backend_cursor *cursor,
		  int (*visit)(const struct backend_table *, void *), void *userdata);
void absent_tune(struct backend *backend, const struct backend_settings *settings);

#endif
