/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What to shed, from what was measured: a pure function with a state, without clock and kernel.
 *
 * Steps, each cheaper than the one before: everything attached; all but the scheduler's probes; then stages in random
 * windows of 1/2, 1/4, … 1/128 of the time.  On each step the interval between two journeys that a CPU begins to follow
 * is the first lever; in windows it grows only while following still takes a good part of the programs' time.
 *
 * The least is shed that is enough: the hooks of a step decide whether it fits, because the interval can make all
 * programs take the rest of the budget.  A step is left upwards at once, and downwards if the lower one is predicted to
 * fit; one that did not fit is tried again after 2 s, then 4 s, up to 30 s.
 */
#ifndef DAEMON_COST_PLAN_H
#define DAEMON_COST_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/cost/account.h"
#include "daemon/cost/pace.h"

#define PLAN_WINDOW_SHIFT_MAX 7
#define PLAN_ALL 0
#define PLAN_NO_WAKE 1
#define PLAN_WINDOWS 2 /* step PLAN_WINDOWS has a window_shift of 1 */
#define PLAN_STEPS (PLAN_WINDOWS + PLAN_WINDOW_SHIFT_MAX)

/* A path of a load that lasts for a second is seen by some tens of journeys at least. */
#define PLAN_INTERVAL_MAX_NS UINT64_C(10000000)

struct plan_budget {
	double host, cpu; /* fractions of 1 */
};

struct plan {
	int step;
	uint64_t interval_ns;
	uint64_t longest_ns; /* a longer interval would save little */
	uint64_t settle_ns;  /* when what programs take shows the last change of the interval */
	double followed;     /* the part of the programs' time that following takes, at most */
	double passed; /* what programs took at the longest interval, per what hooks took; 0: not known */
	/* What was above the limits of a step without windows lately, in seconds of the budget. */
	double debt[PLAN_WINDOWS];
	/* What was measured last, in units of the budget, with the daemon's own time apart. */
	double daemon;
	double switching;   /* attaching and detaching for windows; the caller sets it */
	uint64_t period_ns; /* from window to window, in the mean; the caller sets it */
	uint64_t tail_ns;   /* expected behind a window, see plan_tail() */
	double hooks[ACCOUNT_GROUPS], programs[ACCOUNT_GROUPS];
	/* The same when their probes were attached last, and the pace then; 0: the kernel's counters do not show it. */
	double seen_hooks[ACCOUNT_GROUPS], seen_programs[ACCOUNT_GROUPS];
	double seen_pace[ACCOUNT_GROUPS];
	bool foreseen;		/* `hooks` of stages that are detached are those of now */
	uint64_t calm_ns;	/* since when the lower step fits; 0: it does not */
	unsigned int calm;	/* observations since then */
	uint64_t quiet_ns;	/* since when no windows are foreseen to be needed; 0: they are */
	int landed;		/* where the last step down ended */
	uint64_t down_ns;	/* of the last step down; 0: none */
	uint64_t hold_until_ns; /* no step down before */
	uint64_t hold_ns;	/* how long, the next time */
	double failed;		/* the stages' load at the last failure, */
	uint64_t failed_ns;	/* and when that was; 0: none */
};

void plan_begin(struct plan *plan, const struct plan_budget *budget);

/*
 * Take what was measured.  `attached`: stages were attached all the time of the measurement; otherwise it says nothing
 * about them.  `pace` says what detached probes would have to do.  Changes step and interval.
 */
void plan_observe(struct plan *plan, const struct plan_budget *budget,
		  const struct account_totals *totals, const struct pace *pace, bool attached,
		  uint64_t now_ns);

/* Whether neither step nor interval is about to change, unless the load does. */
bool plan_is_steady(const struct plan *plan, uint64_t now_ns);

/* Whether the end of a load shows while stages are detached. */
bool plan_foresees(const struct plan *plan);

/*
 * Behind a window stages stay attached and no journey begins, until those that began have ended, or this time has
 * passed.
 */
#define PLAN_TAIL_MOST_NS UINT64_C(50000000)

/* Take how long a tail was. */
void plan_tail(struct plan *plan, uint64_t tail_ns);

/* log2 of the share of the time that stages are attached: 0 for all of it. */
uint32_t plan_window_shift(const struct plan *plan);

#endif
