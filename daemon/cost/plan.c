/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/cost/plan.h"

#include <math.h>

#define SECOND UINT64_C(1000000000)

/* Following one packet to its end takes from this to FOLLOWED_TIMES as much on the machines that we measured. */
#define FOLLOWED_NS 400.0
#define FOLLOWED_TIMES 4
/* Following takes at least this part of what programs take: packets that are passed over take the rest. */
#define FOLLOWED_PART 0.1
/*
 * What programs take differs from moment to moment.  A moment must not make the longest interval shorter, because they
 * would take more then: without windows, it shrinks by this with each observation.
 */
#define LONGEST_LASTS 0.9
/*
 * The parts of the budget: the first is for what hooks take, the second for all.  The third is for all where no
 * interval helps, because packets that are passed over take that much: attaching and detaching for windows takes time,
 * too.
 */
#define HOOKS_LIMIT 0.8
#define ALL_LIMIT 0.9
#define LEAST_LIMIT 1.0
/* The same in windows: there less can be seen of what is to come, and a shorter window costs nothing. */
#define WINDOW_HOOKS_LIMIT 0.6
#define WINDOW_ALL_LIMIT 0.75
/*
 * What is above the limits for a moment only sheds nothing but journeys: a step may take this part of the budget of a
 * second too much before it is left.
 */
#define DEBT_MOST 0.2
/* With less than this, the load is steady. */
#define DEBT_STEADY 0.05
/*
 * Programs take what they may if they take at least this part of it: N is a power of two, so that less than half of it
 * can double.
 */
#define ROOM_USED 0.45
#define ROOM_AIM 0.75
/* The means of the programs show a change of the interval after this time. */
#define SETTLE_NS (3 * SECOND / 20)
/* Programs that take less than this part of what they may: there is no load. */
#define ROOM_UNUSED 0.05
/* What hooks may take in a second that has a window: programs, and what is not foreseen, come on top. */
#define SECOND_LIMIT 0.7
/* The hooks of a lower step without windows must be predicted to take less than this, and all less than that. */
#define DOWN_HOOKS_LIMIT 0.75
#define DOWN_LIMIT 1.0
/* Of one with windows: all that it takes, and in a second that has a window. */
#define DOWN_WINDOW_LIMIT 0.5
#define DOWN_SECOND_LIMIT 0.6
/* The daemon's own time counts up to this, and attaching and detaching up to this. */
#define DAEMON_LIMIT 0.3
#define CALM_NS (SECOND / 4)
/*
 * Between windows, the end of a load must be believed at once: what comes then is to be followed from its beginning.
 * Unless it has just come back: a load that comes and goes is one.
 */
#define QUIET_NS (SECOND / 20)
#define QUIET_AGAIN_NS (SECOND / 2)
#define COMES_BACK_NS (10 * SECOND)
/* Before the first tail; and how slowly the expected tail becomes shorter: by this part of the difference. */
#define TAIL_FIRST_NS (SECOND / 40)
#define TAIL_WEIGHT 4
/* A step up within this time after one down means that the lower step did not fit. */
#define FAILED_NS (SECOND + SECOND / 2)
/* With windows, the next observation is up to two periods away. */
#define FAILED_WINDOW_NS (10 * SECOND)
/* Hits of stages for each packet that netif_receive_skb() sees; with more, that is not what the load is. */
#define HITS_OF_A_PACKET 24
/* Short windows differ much: this number must agree before they become a little longer. */
#define CALM_WINDOWS 3
/* How many steps down are not chance. */
#define FAR_DOWN 3
#define HOLD_LEAST_NS (2 * SECOND)
#define HOLD_MOST_NS (30 * SECOND)
/* What the daemon itself takes varies much: its mean is that of some seconds. */
#define DAEMON_LASTS_NS (2 * SECOND)

uint32_t plan_window_shift(const struct plan *plan)
{
	return plan->step < PLAN_WINDOWS ? 0 : (uint32_t)(plan->step - PLAN_WINDOWS + 1);
}

/* At this interval, both directions together take half of a CPU's budget. */
static double least_interval(const struct plan_budget *budget)
{
	double ns = FOLLOWED_NS / (budget->cpu / 4);

	return fmin(fmax(ns, 10000), (double)PLAN_INTERVAL_MAX_NS);
}

void plan_begin(struct plan *plan, const struct plan_budget *budget)
{
	*plan = (struct plan){.interval_ns = (uint64_t)least_interval(budget),
			      .longest_ns = PLAN_INTERVAL_MAX_NS,
			      .period_ns = SECOND,
			      .tail_ns = TAIL_FIRST_NS,
			      .hold_ns = HOLD_LEAST_NS};
}

void plan_tail(struct plan *plan, uint64_t tail_ns)
{
	if (tail_ns >= plan->tail_ns)
		plan->tail_ns = tail_ns;
	else
		plan->tail_ns -= (plan->tail_ns - tail_ns) / TAIL_WEIGHT;
}

/* The share of a time with one window that stages are attached. */
static double duty_of(const struct plan *plan, int step, uint64_t time_ns)
{
	uint64_t window_ns;

	if (step < PLAN_WINDOWS)
		return 1;
	window_ns = plan->period_ns >> (step - PLAN_WINDOWS + 1);
	return fmin((double)(window_ns + plan->tail_ns) / (double)time_ns, 1);
}

/* A client that keeps the daemon busy must not make it blind: shedding does not make that cheaper. */
static double fixed(const struct plan *plan, int step, uint64_t time_ns)
{
	double switches = (double)plan->period_ns / (double)time_ns;
	double switching = step < PLAN_WINDOWS ? 0 : switches * plan->switching;

	return fmin(plan->daemon, DAEMON_LIMIT) + fmin(switching, DAEMON_LIMIT) +
	       plan->hooks[ACCOUNT_DROPS] + plan->programs[ACCOUNT_DROPS];
}

/* What the hooks of a step take while they are attached. */
static double hooks_of(const struct plan *plan, int step)
{
	return plan->hooks[ACCOUNT_STAGES] + (step == PLAN_ALL ? plan->hooks[ACCOUNT_WAKE] : 0);
}

static double programs_of(const struct plan *plan, int step)
{
	return plan->programs[ACCOUNT_STAGES] +
	       (step == PLAN_ALL ? plan->programs[ACCOUNT_WAKE] : 0);
}

/* What the hooks of a step would take in a time with one window. */
static double predict_hooks(const struct plan *plan, int step, uint64_t time_ns)
{
	return fixed(plan, step, time_ns) + duty_of(plan, step, time_ns) * hooks_of(plan, step);
}

/* What the step would take with the interval of now. */
static double predict(const struct plan *plan, int step, uint64_t time_ns)
{
	return predict_hooks(plan, step, time_ns) +
	       duty_of(plan, step, time_ns) * programs_of(plan, step);
}

/* The shortest time with one window that counts: what takes a part of a second is not felt. */
static uint64_t second_of(const struct plan *plan)
{
	return plan->period_ns < SECOND ? plan->period_ns : SECOND;
}

/* Whether programs take as little as an interval can make them take. */
static bool at_longest(const struct plan *plan, uint64_t now_ns)
{
	return plan->interval_ns >= plan->longest_ns && now_ns >= plan->settle_ns;
}

/* How much too much a step would take, whatever the interval; at most 0: it fits. */
static double excess(const struct plan *plan, int step, uint64_t now_ns)
{
	bool windows = step >= PLAN_WINDOWS;
	double most = predict_hooks(plan, step, plan->period_ns) -
		      (windows ? WINDOW_HOOKS_LIMIT : HOOKS_LIMIT);

	if (windows)
		most = fmax(most, predict_hooks(plan, step, second_of(plan)) - SECOND_LIMIT);
	if (at_longest(plan, now_ns))
		most = fmax(most, predict(plan, step, plan->period_ns) -
					  (windows ? WINDOW_ALL_LIMIT : LEAST_LIMIT));
	return most;
}

/*
 * What programs take for the packets that they pass over, while they are attached: at least what following cannot
 * explain, and as much as was left at the longest interval.
 */
static double passed_of(const struct plan *plan, int step)
{
	double programs = programs_of(plan, step);

	return fmin(fmax((1 - plan->followed) * programs, plan->passed * hooks_of(plan, step)),
		    programs);
}

/* What a step would take in a time with one window, without what following may take of it. */
static double predict_least(const struct plan *plan, int step, uint64_t time_ns)
{
	return predict_hooks(plan, step, time_ns) +
	       duty_of(plan, step, time_ns) * passed_of(plan, step);
}

/* Whether a lower step would fit for a while. */
static bool fits_well(const struct plan *plan, int step)
{
	if (step < PLAN_WINDOWS)
		return predict_hooks(plan, step, plan->period_ns) < DOWN_HOOKS_LIMIT &&
		       predict_least(plan, step, plan->period_ns) < DOWN_LIMIT;
	return predict_least(plan, step, plan->period_ns) < DOWN_WINDOW_LIMIT &&
	       predict_least(plan, step, second_of(plan)) < DOWN_SECOND_LIMIT;
}

/* What following can take while stages are attached. */
static double room(const struct plan *plan)
{
	double duty = duty_of(plan, plan->step, plan->period_ns);
	double all = plan->step < PLAN_WINDOWS ? ALL_LIMIT : WINDOW_ALL_LIMIT;
	double left = all - predict_hooks(plan, plan->step, plan->period_ns);

	return fmax(left, ALL_LIMIT - HOOKS_LIMIT) / duty;
}

/*
 * Most of the programs' time can be that of packets that are passed over, which no interval makes less.  A longer one
 * would only leave too few journeys.
 */
static double longest_interval(double share, const struct plan_budget *budget)
{
	double ns = share > 0 ? 2 * FOLLOWED_NS / (FOLLOWED_PART * share) : INFINITY;

	return fmin(fmax(ns, least_interval(budget)), (double)PLAN_INTERVAL_MAX_NS);
}

static double longest_lasts(const struct plan *plan)
{
	return plan->step < PLAN_WINDOWS ? LONGEST_LASTS * (double)plan->longest_ns : 0;
}

/*
 * Programs take the less the longer the interval is, once it is longer than what lies between two packets: so that one
 * change is enough.
 */
static void set_interval(struct plan *plan, const struct plan_budget *budget,
			 const struct account_totals *totals, uint64_t now_ns)
{
	double ratio = programs_of(plan, plan->step) / room(plan);
	double ns = (double)plan->interval_ns, before = ns;
	double each_ns = (double)SECOND / totals->busiest;
	double share = programs_of(plan, plan->step) * fmin(budget->host, budget->cpu);

	plan->longest_ns = (uint64_t)fmax(longest_interval(share, budget), longest_lasts(plan));
	plan->followed = fmin(2 * FOLLOWED_TIMES * FOLLOWED_NS / ns / share, 1);
	if (at_longest(plan, now_ns))
		plan->passed = programs_of(plan, plan->step) / hooks_of(plan, plan->step);
	if (ratio < ROOM_UNUSED)
		ns = plan->passed = 0;
	else if (now_ns < plan->settle_ns)
		return;
	else if (ratio > 1)
		ns = fmax(ns, fmin(each_ns, (double)PLAN_INTERVAL_MAX_NS)) * ratio / ROOM_AIM;
	else if (ratio < ROOM_USED)
		ns *= ratio / ROOM_AIM;
	ns = fmin(fmax(ns, least_interval(budget)), (double)plan->longest_ns);
	plan->interval_ns = (uint64_t)ns;
	if (fabs(ns - before) > before / 8)
		plan->settle_ns = now_ns + SETTLE_NS;
}

static double larger(double host, double cpu, const struct plan_budget *budget)
{
	return fmax(host / budget->host, cpu / budget->cpu);
}

/* The probes of a group were attached: keep what they took, and the pace. */
static void see(struct plan *plan, const struct plan_budget *budget,
		const struct account_totals *totals, int group, double pace)
{
	plan->hooks[group] = larger(totals->host.hooks[group], totals->worst.hooks[group], budget);
	plan->programs[group] =
		larger(totals->host.programs[group], totals->worst.programs[group], budget);
	plan->seen_hooks[group] = plan->hooks[group];
	plan->seen_programs[group] = plan->programs[group];
	plan->seen_pace[group] = totals->hits[group] <= HITS_OF_A_PACKET * pace ? pace : 0;
}

/* They were not: what they would take grows with the pace. */
static bool foresee(struct plan *plan, int group, double pace)
{
	double ratio = pace / plan->seen_pace[group];

	if (plan->seen_pace[group] <= 0 || pace < 0)
		return false;
	plan->hooks[group] = ratio * plan->seen_hooks[group];
	plan->programs[group] = ratio * plan->seen_programs[group];
	return true;
}

static void take(struct plan *plan, const struct plan_budget *budget,
		 const struct account_totals *totals, const struct pace *pace, bool attached)
{
	double daemon = fmin(totals->daemon / budget->host, 1);
	double weight = fmin((double)totals->elapsed_ns / (double)DAEMON_LASTS_NS, 1);

	plan->daemon += weight * (daemon - plan->daemon);
	see(plan, budget, totals, ACCOUNT_DROPS, 0);
	if (attached)
		see(plan, budget, totals, ACCOUNT_STAGES, totals->packets);
	plan->foreseen = !attached && foresee(plan, ACCOUNT_STAGES, pace->packets);
	if (plan->step == PLAN_ALL) {
		see(plan, budget, totals, ACCOUNT_WAKE, totals->switches);
	} else if (!foresee(plan, ACCOUNT_WAKE, pace->switches) && attached) {
		/* Not known: it is believed to shrink until they are tried. */
		plan->hooks[ACCOUNT_WAKE] *= 0.85;
		plan->programs[ACCOUNT_WAKE] *= 0.85;
	}
}

static void forget_debts(struct plan *plan)
{
	for (int i = 0; i < PLAN_WINDOWS; i++)
		plan->debt[i] = 0;
}

/* Whether more must be shed than a step does: always in windows, and otherwise if it has lasted. */
static bool is_too_much(const struct plan *plan, int step, uint64_t now_ns)
{
	return excess(plan, step, now_ns) > 0 &&
	       (step >= PLAN_WINDOWS || plan->debt[step] > DEBT_MOST);
}

static void go_up(struct plan *plan, uint64_t now_ns)
{
	while (plan->step < PLAN_STEPS - 1 && is_too_much(plan, plan->step, now_ns))
		plan->step++;
	plan->calm_ns = plan->quiet_ns = 0;
	forget_debts(plan);
	if (plan->down_ns &&
	    now_ns - plan->down_ns <
		    (plan->landed >= PLAN_WINDOWS ? FAILED_WINDOW_NS : FAILED_NS)) {
		plan->hold_until_ns = now_ns + plan->hold_ns;
		plan->hold_ns = plan->hold_ns * 2 > HOLD_MOST_NS ? HOLD_MOST_NS : plan->hold_ns * 2;
		plan->failed = plan->hooks[ACCOUNT_STAGES];
		plan->failed_ns = now_ns;
		plan->down_ns = 0;
	}
}

static void go_down(struct plan *plan, int lowest, uint64_t now_ns)
{
	plan->step = plan->landed = lowest;
	forget_debts(plan);
	plan->calm_ns = plan->quiet_ns = 0;
	plan->down_ns = now_ns;
}

/* Attaching for windows takes time, too: so a step without them can fit where shorter windows do not. */
static int lowest_that_fits(const struct plan *plan)
{
	int step = PLAN_ALL;

	while (step < plan->step && !fits_well(plan, step))
		step++;
	return step;
}

/* There is one window in some seconds, so that the end of a load that it shows must be believed at once. */
static bool is_calm(const struct plan *plan, int lowest, uint64_t now_ns)
{
	if (plan->step < PLAN_WINDOWS)
		return now_ns - plan->calm_ns >= CALM_NS;
	return lowest < PLAN_WINDOWS || plan->step - lowest >= FAR_DOWN ||
	       plan->calm >= CALM_WINDOWS;
}

static void observe_down(struct plan *plan, uint64_t now_ns)
{
	int lowest = lowest_that_fits(plan);

	if (lowest == plan->step || now_ns < plan->hold_until_ns) {
		plan->calm_ns = 0;
		return;
	}
	if (!plan->calm_ns) {
		plan->calm_ns = now_ns;
		plan->calm = 0;
	}
	plan->calm++;
	if (is_calm(plan, lowest, now_ns))
		go_down(plan, lowest, now_ns);
}

/* Between windows, the end of a load is enough.  What comes then is another load. */
static void foresee_down(struct plan *plan, const struct plan_budget *budget, uint64_t now_ns)
{
	int lowest = lowest_that_fits(plan);
	bool again;

	if (lowest >= PLAN_WINDOWS || now_ns < plan->hold_until_ns) {
		plan->quiet_ns = 0;
		return;
	}
	if (!plan->quiet_ns)
		plan->quiet_ns = now_ns;
	again = plan->failed_ns && now_ns - plan->failed_ns < COMES_BACK_NS;
	if (now_ns - plan->quiet_ns < (again ? QUIET_AGAIN_NS : QUIET_NS))
		return;
	plan->interval_ns = (uint64_t)least_interval(budget);
	go_down(plan, lowest, now_ns);
}

/* What each step without windows would have taken too much lately. */
static void owe(struct plan *plan, const struct account_totals *totals, uint64_t now_ns)
{
	double part = (double)totals->elapsed_ns / (double)SECOND;

	for (int i = plan->step; i < PLAN_WINDOWS; i++)
		plan->debt[i] = fmax(plan->debt[i] + part * excess(plan, i, now_ns), 0);
}

void plan_observe(struct plan *plan, const struct plan_budget *budget,
		  const struct account_totals *totals, const struct pace *pace, bool attached,
		  uint64_t now_ns)
{
	take(plan, budget, totals, pace, attached);
	if (!attached && !plan->foreseen)
		return;
	/* Another load than that of the last failure, or a long time without one. */
	if (plan->hold_until_ns && (plan->hooks[ACCOUNT_STAGES] < plan->failed / 3 ||
				    now_ns > plan->hold_until_ns + HOLD_MOST_NS)) {
		plan->hold_until_ns = 0;
		plan->hold_ns = HOLD_LEAST_NS;
	}
	if (!attached) {
		foresee_down(plan, budget, now_ns);
		return;
	}
	set_interval(plan, budget, totals, now_ns);
	owe(plan, totals, now_ns);
	if (is_too_much(plan, plan->step, now_ns))
		go_up(plan, now_ns);
	else
		observe_down(plan, now_ns);
}

bool plan_is_steady(const struct plan *plan, uint64_t now_ns)
{
	return plan->step < PLAN_WINDOWS && now_ns >= plan->settle_ns && !plan->calm_ns &&
	       plan->debt[plan->step] < DEBT_STEADY;
}

bool plan_foresees(const struct plan *plan)
{
	return plan->seen_pace[ACCOUNT_STAGES] > 0;
}
