/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The states of one alert: inactive → pending → firing → resolved, and back to inactive or pending.  A
 * pure function of the evaluation of the rule and of the time, which the caller passes.
 *
 *   inactive  the condition does not hold
 *   pending   the condition holds, but not yet for the time `for`
 *   firing    it has held that long, and the value has not yet stayed at or below `clear` for `clear_for`
 *   resolved  the alert fired and ended; it becomes inactive after ALERT_RESOLVED_NS
 *
 * A silenced alert changes its state as usual, but its firings and repeats are not reported; one that
 * still fires when the silence ends is reported then.  Its end is reported if its firing was.
 */
#ifndef DAEMON_ALERT_STATE_H
#define DAEMON_ALERT_STATE_H

#include <stdbool.h>
#include <stdint.h>

/* How long an alert stays resolved: one hour. */
#define ALERT_RESOLVED_NS UINT64_C(3600000000000)

enum alert_phase {
	ALERT_INACTIVE,
	ALERT_PENDING,
	ALERT_FIRING,
	ALERT_RESOLVED,
	ALERT_PHASE_COUNT,
};

/* The newest value, compared with the thresholds of the rule. */
enum alert_evaluation {
	ALERT_IS_UNKNOWN, /* the value cannot be read */
	ALERT_IS_CLEAR,	  /* at or below `clear` */
	ALERT_IS_BETWEEN, /* above `clear`, at or below `over` */
	ALERT_IS_OVER,	  /* above `over` */
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

/* All times are ns on the clock of the caller, CLOCK_MONOTONIC in the daemon; 0: never. */
struct alert_state {
	enum alert_phase phase;
	uint64_t since_ns;    /* start of the phase */
	uint64_t fired_ns;    /* when it last fired */
	uint64_t resolved_ns; /* when it was last resolved */
	uint64_t clear_ns;    /* firing: when the value fell to `clear`; 0: it is above */
	uint64_t reported_ns; /* firing: when that was last reported; 0: not yet */
	uint64_t silenced_ns; /* end of the silence */
	uint64_t fired;	      /* number of firings */
};

/* The result of a step: at most one change, and whether it is reported, that is, actions are taken. */
struct alert_step {
	enum alert_change change;
	bool reported;
};

/* Advance the state to `now`. */
struct alert_step alert_state_step(struct alert_state *state, const struct alert_times *times,
				   enum alert_evaluation evaluation, uint64_t now);

/* The rule was removed or disabled: an alert that fires is resolved. */
struct alert_step alert_state_end(struct alert_state *state, uint64_t now);

bool alert_state_silenced(const struct alert_state *state, uint64_t now);

/* "firing" */
const char *alert_phase_name(enum alert_phase phase);
/* "fired", "repeated", "resolved" */
const char *alert_change_name(enum alert_change change);

#endif
