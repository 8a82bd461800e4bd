/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The life of one alert: inactive → pending → firing → resolved, and from there
 * back.  A pure function of what is judged and of the time it is handed.
 *
 *   inactive  the condition does not hold
 *   pending   it holds, but not for as long as `for` says
 *   firing    it has held that long, and has not come down to the clear bound
 *   resolved  it fired, and that is over; inactive again after a while
 *
 * While an alert is silenced its life goes on, but firings and repeats are not
 * told; one that fires still when the silence ends is told then.  That an alert
 * is resolved is told whenever its firing was.
 */
#ifndef DAEMON_ALERT_STATE_H
#define DAEMON_ALERT_STATE_H

#include <stdbool.h>
#include <stdint.h>

/* How long an alert is shown as resolved. */
#define ALERT_RESOLVED_NS UINT64_C(3600000000000)

enum alert_phase {
	ALERT_INACTIVE,
	ALERT_PENDING,
	ALERT_FIRING,
	ALERT_RESOLVED,
	ALERT_PHASE_COUNT,
};

/* What the value of the moment says. */
enum alert_judgement {
	ALERT_IS_UNKNOWN, /* it cannot be read */
	ALERT_IS_CLEAR,	  /* at or below the clear bound */
	ALERT_IS_BETWEEN, /* above the clear bound, but not over */
	ALERT_IS_OVER,
};

enum alert_change {
	ALERT_NOTHING,
	ALERT_FIRED,
	ALERT_REPEATED,
	ALERT_ENDED, /* resolved */
};

struct alert_times {
	uint64_t for_ns, clear_for_ns, repeat_ns;
};

/* All times CLOCK_MONOTONIC ns, or whatever clock the caller has; 0 = never. */
struct alert_state {
	enum alert_phase phase;
	uint64_t since_ns;    /* the phase began */
	uint64_t fired_ns;    /* last */
	uint64_t resolved_ns; /* last */
	uint64_t clear_ns;    /* firing: since when the condition has ended, 0 = it has not */
	uint64_t told_ns;     /* firing: when that was last told, 0 = not yet */
	uint64_t silenced_ns; /* until then */
	uint64_t fired;	      /* how often */
};

/* What a step brought: at most one change, and whether actions may be taken for it. */
struct alert_step {
	enum alert_change change;
	bool told;
};

/* Go on to `now`. */
struct alert_step alert_state_step(struct alert_state *state, const struct alert_times *times,
				   enum alert_judgement judgement, uint64_t now);

/* Its rule is no more: what fires is resolved. */
struct alert_step alert_state_end(struct alert_state *state, uint64_t now);

bool alert_state_silenced(const struct alert_state *state, uint64_t now);

/* "firing" */
const char *alert_phase_name(enum alert_phase phase);
/* "fired", "repeated", "resolved" */
const char *alert_change_name(enum alert_change change);

#endif
