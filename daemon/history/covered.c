/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/history/covered.h"

void covered_begin(struct covered *covered, int64_t from_us, int64_t to_us)
{
	*covered = (struct covered){.from_us = from_us, .to_us = to_us, .seen_us = from_us};
}

static void note_gap(struct covered *covered, int64_t to_us, int reason)
{
	struct covered_gap *last = &covered->gap[(covered->gaps - 1) % COVERED_GAPS];

	/* A pause that goes on. */
	if (reason && covered->gaps && last->to_us == covered->seen_us && last->reason == reason) {
		last->to_us = to_us;
		return;
	}
	if (!reason && to_us - covered->seen_us <= COVERED_SLACK_US)
		return;
	covered->gap[covered->gaps++ % COVERED_GAPS] =
		(struct covered_gap){covered->seen_us, to_us, reason};
}

void covered_add(struct covered *covered, int64_t from_us, int64_t to_us)
{
	if (from_us < covered->seen_us)
		from_us = covered->seen_us;
	if (to_us > covered->to_us)
		to_us = covered->to_us;
	if (to_us <= from_us)
		return;
	note_gap(covered, from_us, 0);
	covered->covered_us += to_us - from_us;
	covered->seen_us = to_us;
}

void covered_miss(struct covered *covered, int64_t from_us, int64_t to_us, int reason)
{
	if (from_us < covered->seen_us)
		from_us = covered->seen_us;
	if (to_us > covered->to_us)
		to_us = covered->to_us;
	if (to_us <= from_us)
		return;
	note_gap(covered, from_us, 0);
	covered->seen_us = from_us;
	note_gap(covered, to_us, reason);
	covered->seen_us = to_us;
}

void covered_end(struct covered *covered)
{
	note_gap(covered, covered->to_us, 0);
}

size_t covered_kept(const struct covered *covered)
{
	return covered->gaps < COVERED_GAPS ? (size_t)covered->gaps : COVERED_GAPS;
}

const struct covered_gap *covered_gap(const struct covered *covered, size_t index)
{
	return &covered->gap[(covered->gaps - 1 - index) % COVERED_GAPS];
}
