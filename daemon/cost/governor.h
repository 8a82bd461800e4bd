/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The governor keeps the cost of netflowd within a budget.  It knows the cost of every moment, and
 * sheds load in a fixed order: fewer journeys are followed, then the scheduler's probes are detached,
 * then all stages are attached in random windows only.  Drops and ring slots are never shed.
 *
 * It alone sets the level of the backend; whoever wants probes detached asks it.
 */
#ifndef DAEMON_COST_GOVERNOR_H
#define DAEMON_COST_GOVERNOR_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/probe/backend.h"

struct governor;
struct loop;

/* Shares are millionths. */
struct governor_settings {
	uint64_t on;	      /* 0: nothing is shed */
	uint64_t host_budget; /* share of the time of all online CPUs */
	uint64_t cpu_budget;  /* share of the time of any one CPU */
};

int governor_new(struct governor **governor, struct loop *loop, struct backend *backend,
		 const struct governor_settings *settings);
/* NULL-safe.  Free it before the backend. */
void governor_free(struct governor **governor);

/* Take new budgets; `on` stays as it was at startup. */
void governor_set(struct governor *governor, const struct governor_settings *settings);

/*
 * Run no more than a level, whatever the load; BACKEND_ALL: no limit.  Takes effect before the call
 * returns.  For `netflowctl pause`.
 */
void governor_limit(struct governor *governor, enum backend_level level);

#endif
