/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/alert/state.h"

static void enter(struct alert_state *state, enum alert_phase phase, uint64_t now)
{
	state->phase = phase;
	state->since_ns = now;
}

bool alert_state_silenced(const struct alert_state *state, uint64_t now)
{
	return now < state->silenced_ns;
}

static struct alert_step fire(struct alert_state *state, uint64_t now)
{
	bool reported = !alert_state_silenced(state, now);

	enter(state, ALERT_FIRING, now);
	state->fired_ns = now;
	state->fired++;
	state->clear_ns = 0;
	state->reported_ns = reported ? now : 0;
	return (struct alert_step){ALERT_FIRED, reported};
}

static struct alert_step resolve(struct alert_state *state, uint64_t now)
{
	bool reported = state->reported_ns != 0;

	enter(state, ALERT_RESOLVED, now);
	state->resolved_ns = now;
	state->clear_ns = 0;
	state->reported_ns = 0;
	return (struct alert_step){ALERT_ENDED, reported};
}

static struct alert_step step_idle(struct alert_state *state, const struct alert_times *times,
				   enum alert_evaluation evaluation, uint64_t now)
{
	if (evaluation == ALERT_IS_OVER) {
		if (!times->for_ns)
			return fire(state, now);
		enter(state, ALERT_PENDING, now);
	} else if (state->phase == ALERT_RESOLVED && now - state->since_ns >= ALERT_RESOLVED_NS) {
		enter(state, ALERT_INACTIVE, now);
	}
	return (struct alert_step){ALERT_NOTHING, false};
}

static struct alert_step step_pending(struct alert_state *state, const struct alert_times *times,
				      enum alert_evaluation evaluation, uint64_t now)
{
	if (evaluation != ALERT_IS_OVER)
		enter(state, ALERT_INACTIVE, now);
	else if (now - state->since_ns >= times->for_ns)
		return fire(state, now);
	return (struct alert_step){ALERT_NOTHING, false};
}

static struct alert_step step_firing(struct alert_state *state, const struct alert_times *times,
				     enum alert_evaluation evaluation, uint64_t now)
{
	if (evaluation == ALERT_IS_CLEAR && !state->clear_ns)
		state->clear_ns = now;
	else if (evaluation == ALERT_IS_BETWEEN || evaluation == ALERT_IS_OVER)
		state->clear_ns = 0;
	if (evaluation == ALERT_IS_CLEAR && now - state->clear_ns >= times->clear_for_ns)
		return resolve(state, now);
	if (alert_state_silenced(state, now))
		return (struct alert_step){ALERT_NOTHING, false};
	if (!state->reported_ns) {
		/* It fired during a silence that has ended. */
		state->reported_ns = now;
		return (struct alert_step){ALERT_FIRED, true};
	}
	if (times->repeat_ns && now - state->reported_ns >= times->repeat_ns) {
		state->reported_ns = now;
		return (struct alert_step){ALERT_REPEATED, true};
	}
	return (struct alert_step){ALERT_NOTHING, false};
}

struct alert_step alert_state_step(struct alert_state *state, const struct alert_times *times,
				   enum alert_evaluation evaluation, uint64_t now)
{
	switch (state->phase) {
	case ALERT_PENDING:
		return step_pending(state, times, evaluation, now);
	case ALERT_FIRING:
		return step_firing(state, times, evaluation, now);
	default:
		return step_idle(state, times, evaluation, now);
	}
}

struct alert_step alert_state_end(struct alert_state *state, uint64_t now)
{
	if (state->phase == ALERT_FIRING)
		return resolve(state, now);
	if (state->phase == ALERT_PENDING)
		enter(state, ALERT_INACTIVE, now);
	return (struct alert_step){ALERT_NOTHING, false};
}

const char *alert_phase_name(enum alert_phase phase)
{
	static const char *const names[ALERT_PHASE_COUNT] = {
		[ALERT_INACTIVE] = "inactive",
		[ALERT_PENDING] = "pending",
		[ALERT_FIRING] = "firing",
		[ALERT_RESOLVED] = "resolved",
	};

	return names[phase];
}

const char *alert_change_name(enum alert_change change)
{
	static const char *const names[] = {
		[ALERT_NOTHING] = "none",
		[ALERT_FIRED] = "fired",
		[ALERT_REPEATED] = "repeated",
		[ALERT_ENDED] = "resolved",
	};

	return names[change];
}
