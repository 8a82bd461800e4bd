/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/history/plan.h"

const int64_t plan_step[PLAN_LEVELS] = {10, 60, 600, 7200};

int64_t plan_floor(int64_t time, int level)
{
	int64_t rest = time % plan_step[level];

	return time - (rest < 0 ? rest + plan_step[level] : rest);
}

/* The finest level that has this time. */
static int finest(const struct plan_levels *levels, int64_t time)
{
	int level = 0;

	while (level < PLAN_LEVELS - 1 && levels->cut[level] > time)
		level++;
	return level;
}

static int can_use(const struct plan_levels *levels, int level, int64_t at, int64_t end)
{
	int64_t to = at + plan_step[level];

	return plan_floor(at, level) == at && levels->cut[level] <= at && to <= end &&
	       (!level || to <= levels->rolled[level]);
}

/* The next bucket: the coarsest that fits between both ends, otherwise the finest there is. */
static int choose(const struct plan_levels *levels, int64_t at, int64_t end)
{
	for (int level = PLAN_LEVELS - 1; level > 0; level--)
		if (can_use(levels, level, at, end))
			return level;
	return finest(levels, at);
}

static int add(struct plan *plan, int level, int64_t from, int64_t to)
{
	struct plan_range *last = plan->count ? &plan->range[plan->count - 1] : 0;

	if (last && last->level == level && last->to == from) {
		last->to = to;
		return 1;
	}
	if (plan->count == PLAN_RANGES_MAX)
		return 0;
	plan->range[plan->count++] = (struct plan_range){level, from, to};
	return 1;
}

/* The number of buckets of this level from `at` on that can be taken at once. */
static int64_t stretch(const struct plan_levels *levels, int level, int64_t at, int64_t end)
{
	int64_t step = plan_step[level], most = end, count;

	if (level && levels->rolled[level] < most)
		most = levels->rolled[level];
	/* Up to where a coarser level can go on. */
	if (level < PLAN_LEVELS - 1) {
		int64_t next = plan_floor(at, level + 1) + plan_step[level + 1];

		if (next < most)
			most = next;
	}
	count = (most - at) / step;
	return count > 0 ? count : 1;
}

void plan_make(struct plan *plan, const struct plan_levels *levels, int64_t since, int64_t until)
{
	int64_t oldest = levels->cut[PLAN_LEVELS - 1], at;
	int level;

	for (int i = 0; i < PLAN_LEVELS; i++)
		if (levels->cut[i] < oldest)
			oldest = levels->cut[i];
	*plan = (struct plan){.step = plan_step[0], .oldest = oldest};
	if (since < oldest)
		since = oldest;
	level = finest(levels, since);
	at = plan_floor(since, level);
	if (at < levels->cut[level])
		at = levels->cut[level];
	plan->from = plan->to = at;
	plan->step = plan_step[level];
	while (at < until) {
		level = choose(levels, at, until);
		at = plan_floor(at, level) +
		     plan_step[level] * stretch(levels, level, plan_floor(at, level), until);
		if (!add(plan, level, plan->to, at))
			break;
		plan->to = at;
	}
	if (plan->count && plan->to > until && plan_step[level] > plan->step)
		plan->step = plan_step[level];
}
