/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every transition of an alert, with times that are plain numbers. */

#include "daemon/alert/state.h"
#include "tests/unit/test.h"

#define S UINT64_C(1000000000)
#define BEGIN (100 * S)

static const struct alert_times at_once = {0, 0, 0};

/* One step at `seconds` after the begin; what changed, and whether it is reported. */
static void step(struct alert_state *state, const struct alert_times *times,
		 enum alert_evaluation evaluation, uint64_t seconds, enum alert_phase phase,
		 enum alert_change change, bool reported)
{
	struct alert_step made = alert_state_step(state, times, evaluation, BEGIN + seconds * S);

	if (made.change != change || made.reported != reported || state->phase != phase)
		fail_msg("at %d s: %s, %s, reported %d; expected %s, %s, reported %d", (int)seconds,
			 alert_phase_name(state->phase), alert_change_name(made.change),
			 made.reported, alert_phase_name(phase), alert_change_name(change),
			 reported);
}

TEST(test_inactive_stays)
{
	struct alert_state alert = {0};

	step(&alert, &at_once, ALERT_IS_CLEAR, 0, ALERT_INACTIVE, ALERT_NOTHING, false);
	step(&alert, &at_once, ALERT_IS_BETWEEN, 1, ALERT_INACTIVE, ALERT_NOTHING, false);
	step(&alert, &at_once, ALERT_IS_UNKNOWN, 2, ALERT_INACTIVE, ALERT_NOTHING, false);
	assert_int_equal(alert.since_ns, 0);
	assert_int_equal(alert.fired, 0);
}

TEST(test_fires_at_once)
{
	struct alert_state alert = {0};

	step(&alert, &at_once, ALERT_IS_OVER, 1, ALERT_FIRING, ALERT_FIRED, true);
	assert_int_equal(alert.since_ns, BEGIN + S);
	assert_int_equal(alert.fired_ns, BEGIN + S);
	assert_int_equal(alert.fired, 1);
	step(&alert, &at_once, ALERT_IS_OVER, 2, ALERT_FIRING, ALERT_NOTHING, false);
	step(&alert, &at_once, ALERT_IS_CLEAR, 3, ALERT_RESOLVED, ALERT_ENDED, true);
	assert_int_equal(alert.resolved_ns, BEGIN + 3 * S);
}

TEST(test_pending)
{
	const struct alert_times times = {.for_ns = 10 * S};
	struct alert_state alert = {0};

	step(&alert, &times, ALERT_IS_OVER, 0, ALERT_PENDING, ALERT_NOTHING, false);
	step(&alert, &times, ALERT_IS_OVER, 9, ALERT_PENDING, ALERT_NOTHING, false);
	step(&alert, &times, ALERT_IS_OVER, 10, ALERT_FIRING, ALERT_FIRED, true);
}

/* Any value that is not over ends the wait; the next one starts from zero. */
TEST(test_pending_is_broken_off)
{
	static const enum alert_evaluation others[] = {ALERT_IS_CLEAR, ALERT_IS_BETWEEN,
						       ALERT_IS_UNKNOWN};
	const struct alert_times times = {.for_ns = 10 * S};

	for (size_t i = 0; i < 3; i++) {
		struct alert_state alert = {0};

		step(&alert, &times, ALERT_IS_OVER, 0, ALERT_PENDING, ALERT_NOTHING, false);
		step(&alert, &times, others[i], 9, ALERT_INACTIVE, ALERT_NOTHING, false);
		step(&alert, &times, ALERT_IS_OVER, 10, ALERT_PENDING, ALERT_NOTHING, false);
		step(&alert, &times, ALERT_IS_OVER, 19, ALERT_PENDING, ALERT_NOTHING, false);
		step(&alert, &times, ALERT_IS_OVER, 20, ALERT_FIRING, ALERT_FIRED, true);
	}
}

/* Between the two thresholds, and without a value, it keeps firing. */
TEST(test_hysteresis)
{
	struct alert_state alert = {0};

	step(&alert, &at_once, ALERT_IS_OVER, 0, ALERT_FIRING, ALERT_FIRED, true);
	step(&alert, &at_once, ALERT_IS_BETWEEN, 1, ALERT_FIRING, ALERT_NOTHING, false);
	step(&alert, &at_once, ALERT_IS_UNKNOWN, 2, ALERT_FIRING, ALERT_NOTHING, false);
	step(&alert, &at_once, ALERT_IS_OVER, 3, ALERT_FIRING, ALERT_NOTHING, false);
	step(&alert, &at_once, ALERT_IS_CLEAR, 4, ALERT_RESOLVED, ALERT_ENDED, true);
	step(&alert, &at_once, ALERT_IS_BETWEEN, 5, ALERT_RESOLVED, ALERT_NOTHING, false);
	assert_int_equal(alert.fired, 1);
}

TEST(test_clear_for)
{
	const struct alert_times times = {.clear_for_ns = 5 * S};
	struct alert_state alert = {0};

	step(&alert, &times, ALERT_IS_OVER, 0, ALERT_FIRING, ALERT_FIRED, true);
	step(&alert, &times, ALERT_IS_CLEAR, 1, ALERT_FIRING, ALERT_NOTHING, false);
	step(&alert, &times, ALERT_IS_CLEAR, 5, ALERT_FIRING, ALERT_NOTHING, false);
	/* Above `clear` again: the wait starts from zero. */
	step(&alert, &times, ALERT_IS_BETWEEN, 6, ALERT_FIRING, ALERT_NOTHING, false);
	step(&alert, &times, ALERT_IS_CLEAR, 7, ALERT_FIRING, ALERT_NOTHING, false);
	step(&alert, &times, ALERT_IS_CLEAR, 11, ALERT_FIRING, ALERT_NOTHING, false);
	/* A missing value neither ends nor restarts the wait. */
	step(&alert, &times, ALERT_IS_UNKNOWN, 12, ALERT_FIRING, ALERT_NOTHING, false);
	step(&alert, &times, ALERT_IS_CLEAR, 13, ALERT_RESOLVED, ALERT_ENDED, true);
}

TEST(test_repeat)
{
	const struct alert_times times = {.repeat_ns = 60 * S};
	struct alert_state alert = {0};

	step(&alert, &times, ALERT_IS_OVER, 0, ALERT_FIRING, ALERT_FIRED, true);
	step(&alert, &times, ALERT_IS_OVER, 59, ALERT_FIRING, ALERT_NOTHING, false);
	step(&alert, &times, ALERT_IS_BETWEEN, 60, ALERT_FIRING, ALERT_REPEATED, true);
	step(&alert, &times, ALERT_IS_UNKNOWN, 119, ALERT_FIRING, ALERT_NOTHING, false);
	step(&alert, &times, ALERT_IS_OVER, 125, ALERT_FIRING, ALERT_REPEATED, true);
	step(&alert, &times, ALERT_IS_OVER, 184, ALERT_FIRING, ALERT_NOTHING, false);
	assert_int_equal(alert.fired, 1);
	assert_int_equal(alert.since_ns, BEGIN);
}

TEST(test_fires_again)
{
	const struct alert_times times = {.for_ns = 2 * S};
	struct alert_state alert = {0};

	step(&alert, &times, ALERT_IS_OVER, 0, ALERT_PENDING, ALERT_NOTHING, false);
	step(&alert, &times, ALERT_IS_OVER, 2, ALERT_FIRING, ALERT_FIRED, true);
	step(&alert, &times, ALERT_IS_CLEAR, 3, ALERT_RESOLVED, ALERT_ENDED, true);
	step(&alert, &times, ALERT_IS_OVER, 4, ALERT_PENDING, ALERT_NOTHING, false);
	step(&alert, &times, ALERT_IS_OVER, 6, ALERT_FIRING, ALERT_FIRED, true);
	assert_int_equal(alert.fired, 2);
}

TEST(test_resolved_is_forgotten)
{
	uint64_t hour = ALERT_RESOLVED_NS / S;
	struct alert_state alert = {0};

	step(&alert, &at_once, ALERT_IS_OVER, 0, ALERT_FIRING, ALERT_FIRED, true);
	step(&alert, &at_once, ALERT_IS_CLEAR, 1, ALERT_RESOLVED, ALERT_ENDED, true);
	step(&alert, &at_once, ALERT_IS_CLEAR, hour, ALERT_RESOLVED, ALERT_NOTHING, false);
	step(&alert, &at_once, ALERT_IS_CLEAR, hour + 1, ALERT_INACTIVE, ALERT_NOTHING, false);
	assert_int_equal(alert.resolved_ns, BEGIN + S);
}

/* ---- silence ------------------------------------------------------------- */

TEST(test_silence_holds_back)
{
	const struct alert_times times = {.repeat_ns = 10 * S};
	struct alert_state alert = {.silenced_ns = BEGIN + 100 * S};

	assert_true(alert_state_silenced(&alert, BEGIN));
	assert_false(alert_state_silenced(&alert, BEGIN + 100 * S));
	step(&alert, &times, ALERT_IS_OVER, 0, ALERT_FIRING, ALERT_FIRED, false);
	step(&alert, &times, ALERT_IS_OVER, 50, ALERT_FIRING, ALERT_NOTHING, false);
	/* Its firing was not reported, so its end is not either. */
	step(&alert, &times, ALERT_IS_CLEAR, 60, ALERT_RESOLVED, ALERT_ENDED, false);
}

TEST(test_reported_after_the_silence)
{
	const struct alert_times times = {.repeat_ns = 10 * S};
	struct alert_state alert = {.silenced_ns = BEGIN + 100 * S};

	step(&alert, &times, ALERT_IS_OVER, 0, ALERT_FIRING, ALERT_FIRED, false);
	step(&alert, &times, ALERT_IS_BETWEEN, 99, ALERT_FIRING, ALERT_NOTHING, false);
	step(&alert, &times, ALERT_IS_BETWEEN, 100, ALERT_FIRING, ALERT_FIRED, true);
	assert_int_equal(alert.fired, 1);
	step(&alert, &times, ALERT_IS_OVER, 109, ALERT_FIRING, ALERT_NOTHING, false);
	step(&alert, &times, ALERT_IS_OVER, 110, ALERT_FIRING, ALERT_REPEATED, true);
	step(&alert, &times, ALERT_IS_CLEAR, 111, ALERT_RESOLVED, ALERT_ENDED, true);
}

TEST(test_silenced_while_it_fires)
{
	const struct alert_times times = {.repeat_ns = 10 * S};
	struct alert_state alert = {0};

	step(&alert, &times, ALERT_IS_OVER, 0, ALERT_FIRING, ALERT_FIRED, true);
	alert.silenced_ns = BEGIN + 1000 * S;
	step(&alert, &times, ALERT_IS_OVER, 500, ALERT_FIRING, ALERT_NOTHING, false);
	/* Its firing was reported, so its end is too. */
	step(&alert, &times, ALERT_IS_CLEAR, 600, ALERT_RESOLVED, ALERT_ENDED, true);
}

/* ---- the end of a rule --------------------------------------------------- */

TEST(test_rule_that_ends)
{
	struct alert_state firing = {.phase = ALERT_FIRING, .reported_ns = 1};
	struct alert_state unreported = {.phase = ALERT_FIRING};
	struct alert_state pending = {.phase = ALERT_PENDING};
	struct alert_state inactive = {0};
	struct alert_step made;

	made = alert_state_end(&firing, BEGIN);
	assert_int_equal(made.change, ALERT_ENDED);
	assert_true(made.reported);
	assert_int_equal(firing.phase, ALERT_RESOLVED);
	made = alert_state_end(&unreported, BEGIN);
	assert_int_equal(made.change, ALERT_ENDED);
	assert_false(made.reported);
	made = alert_state_end(&pending, BEGIN);
	assert_int_equal(made.change, ALERT_NOTHING);
	assert_int_equal(pending.phase, ALERT_INACTIVE);
	made = alert_state_end(&inactive, BEGIN);
	assert_int_equal(made.change, ALERT_NOTHING);
}
