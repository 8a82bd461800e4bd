/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/probe/absent.h"

#include <errno.h>
#include <string.h>

const char *absent_blind(const struct backend *backend, const char *question)
{
	(void)backend;
	(void)question;
	return NULL;
}

bool absent_trace(const struct backend *backend, struct backend_trace *trace)
{
	(void)backend;
	(void)trace;
	return false;
}

bool absent_recording(const struct backend *backend, struct backend_recording *recording)
{
	(void)backend;
	(void)recording;
	return false;
}

int absent_fd(const struct backend *backend)
{
	(void)backend;
	return -1;
}

int absent_dispatch(struct backend *backend)
{
	(void)backend;
	return 0;
}

void absent_streams(const struct backend *backend, uint64_t bytes[NF_STREAM_COUNT])
{
	(void)backend;
	memset(bytes, 0, NF_STREAM_COUNT * sizeof(bytes[0]));
}

uint64_t absent_awaited(const struct backend *backend, uint64_t now_ns, uint64_t enough)
{
	(void)backend;
	(void)now_ns;
	(void)enough;
	return 0;
}

void absent_housekeep(struct backend *backend)
{
	(void)backend;
}

bool absent_refresh(struct backend *backend)
{
	(void)backend;
	return false;
}

int absent_name_reasons(struct backend *backend, struct names *names)
{
	(void)backend;
	(void)names;
	return 0;
}

void absent_set_stack(struct backend *backend, bool on)
{
	(void)backend;
	(void)on;
}

void absent_set_level(struct backend *backend, enum backend_level level)
{
	(void)backend;
	(void)level;
}

void absent_follow(struct backend *backend, const struct backend_following *following)
{
	(void)backend;
	(void)following;
}

void absent_cpu_cost(const struct backend *backend, uint32_t cpu, struct backend_cpu_cost *cost)
{
	(void)backend;
	(void)cpu;
	*cost = (struct backend_cpu_cost){0};
}

double absent_hook_ns(const struct backend *backend)
{
	(void)backend;
	return 0;
}

uint64_t absent_most_drawn(const struct backend *backend)
{
	(void)backend;
	return 1;
}

int absent_set_stats(struct backend *backend, bool on)
{
	(void)backend;
	return on ? -EOPNOTSUPP : 0;
}

void absent_stats(const struct backend *backend, struct probe_runs runs[NF_PROBE_COUNT],
		  struct probe_runs *empty)
{
	(void)backend;
	memset(runs, 0, NF_PROBE_COUNT * sizeof(runs[0]));
	*empty = (struct probe_runs){0};
}

void absent_slots_events(const struct backend *backend,
			 uint64_t events[NF_SLOTS_PROBES][NF_SLOTS_EVENTS])
{
	(void)backend;
	memset(events, 0, NF_SLOTS_PROBES * sizeof(events[0]));
}

void absent_events(const struct backend *backend, uint64_t events[NF_PROBE_COUNT][NF_EVENT_COUNT])
{
	(void)backend;
	memset(events, 0, NF_PROBE_COUNT * sizeof(events[0]));
}

bool absent_in_flight(const struct backend *backend, struct backend_cursor *cursor, uint64_t now_ns,
		      struct backend_in_flight *count)
{
	(void)backend;
	(void)cursor;
	(void)now_ns;
	(void)count;
	return true;
}

void absent_sharing(const struct backend *backend, struct backend_sharing *sharing)
{
	(void)backend;
	*sharing = (struct backend_sharing){0};
}

void absent_softirq_wait(const struct backend *backend, uint32_t cpu, struct nf_hist *hist)
{
	(void)backend;
	(void)cpu;
	(void)hist;
}

void absent_tune(struct backend *backend, const struct backend_settings *settings)
{
	(void)backend;
	(void)settings;
}

/* A walk that visits nothing. */
#define ABSENT_WALK(rows, row)                                                          \
	int absent_##rows(const struct backend *backend, struct backend_cursor *cursor, \
			  int (*visit)(const struct row *, void *), void *userdata)     \
	{                                                                               \
		(void)backend;                                                          \
		(void)cursor;                                                           \
		(void)visit;                                                            \
		(void)userdata;                                                         \
		return 0;                                                               \
	}

ABSENT_WALK(devices, backend_device)
ABSENT_WALK(napi, backend_napi)
ABSENT_WALK(drops, backend_drops)
ABSENT_WALK(tables, backend_table)
ABSENT_WALK(slots, backend_slots)
