/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The governor keeps the cost of netflowd within a budget.  It knows the cost of every moment, and
 * sheds load in a fixed order: fewer journeys are followed, then the scheduler's probes are detached,
 * then all stages are attached in random windows only.  Drops and ring slots are never shed.
 *
 * It alone sets the level of the backend; other parts that want probes detached ask it.
 */
#ifndef DAEMON_COST_GOVERNOR_H
#define DAEMON_COST_GOVERNOR_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/cost/account.h"
#include "daemon/cost/seen.h"
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

/* Whether the scheduler's probes are detached to keep the budget. */
bool governor_sheds_wake(const struct governor *governor);

/* Call `changed` after each change of that. */
void governor_on_wake(struct governor *governor, void (*changed)(void *userdata), void *userdata);

/* To be called by sink.busy of the backend: a load has begun, so that its cost is measured at once. */
void governor_hurry(struct governor *governor);

/*
 * Run no more than a level, whatever the load; BACKEND_ALL: no limit.  Takes effect before the call
 * returns.  For `netflowctl pause`.
 */
void governor_limit(struct governor *governor, enum backend_level level);

/* What the governor does now.  Shares are fractions of 1. */
struct governor_state {
	bool on;
	double host_budget, cpu_budget;
	double host, hooks, programs, daemon; /* means of about a second, of the host */
	double hook_ns;			      /* of one hit of an empty program; 0: not known */
	double cpu;			      /* the same of the CPU that had the most last */
	uint32_t worst_cpu;
	enum backend_level limit;
	bool wake_shed;
	uint32_t window_shift; /* 0: stages are attached all the time */
	uint64_t interval_ns;
	uint32_t one_in_shift; /* the largest of all CPUs */
	uint64_t since_ns;     /* CLOCK_MONOTONIC: when the step in force began */
	struct seen_part seen; /* since the daemon started */
};

void governor_state(const struct governor *governor, struct governor_state *state);

/* For how much of the time since `from_ns` (CLOCK_MONOTONIC) latency was followed. */
struct seen_part governor_seen(const struct governor *governor, uint64_t from_ns);

/* What was not seen since the start: because of the budget, or of a pause. */
struct governor_unseen {
	/* That the host received (netif_receive_skb) while no journey began, because of the budget. */
	uint64_t packets;
	uint64_t undrawn; /* of these, those that no window stands for */
	uint64_t
		detached; /* for which journeys stood that had not ended when stages were detached */
};

struct governor_unseen governor_unseen(const struct governor *governor);

/* Of each CPU; valid until the governor is freed. */
const struct account *governor_account(const struct governor *governor);

#endif
