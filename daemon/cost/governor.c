/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/cost/governor.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "common/time.h"
#include "daemon/cost/cost.h"
#include "daemon/cost/plan.h"
#include "daemon/process/loop.h"

#define MS UINT64_C(1000000)
#define TICK_NS (50 * MS)
/* While the load is steady.  Fewer wakeups leave more of the budget for probes. */
#define TICK_STEADY_NS (150 * MS)
/* Between windows, where a tick reads the kernel's counters. */
#define TICK_WAIT_NS (100 * MS)
/* While little is attached or the host is quiet, nothing is urgent, and a wakeup of an idle CPU takes 100 us. */
#define TICK_QUIET_NS (250 * MS)
#define QUIET_PART 0.2 /* of the budget */
/* A CPU whose N becomes 2^2 times that of now ends the wait; on a quiet host, one that does not follow all packets. */
#define BUSY_MORE 2
#define BUSY_QUIET 1
/* A load of bursts must not keep the daemon awake. */
#define BUSY_AGAIN_NS (500 * MS)
/* A load that has just begun is measured for this time before windows are chosen for it. */
#define AGAIN_NS (20 * MS)
#define ONLINE_NS TIME_NS_PER_SECOND
/*
 * The mean time from window to window.  The time itself is between 3/4 and 5/4 of it: so that windows keep
 * a distance, and a load of the same period is not met at the same point each time.
 */
#define PERIOD_LEAST_NS (200 * MS)
#define PERIOD_MOST_NS (2 * TIME_NS_PER_SECOND)
/* If only windows show the end of a load, it is seen after a second at most. */
#define PERIOD_BLIND_NS (800 * MS)
/* Attaching and detaching take at most this part of the host's budget, if the longest period allows. */
#define SWITCHING_PART 0.2
/* After a window, whether its journeys have ended is looked at after this time, twice this time, and so on. */
#define TAIL_LOOK_NS MS
/* The weight of a reading in the means that are shown, for a reading of a full tick. */
#define MEAN_WEIGHT 0.05

/* With windows, where in its period the governor is. */
enum phase {
	PHASE_ALWAYS, /* no windows */
	PHASE_WAIT,   /* for the window: stages are detached */
	PHASE_OPEN,
	PHASE_TAIL, /* no journey begins, and those that began end */
};

struct governor {
	struct backend *backend;
	struct loop_source *timer;
	struct governor_settings settings;
	struct account *account;
	struct plan plan;
	struct pace_meter pace;
	struct seen seen;
	uint64_t unseen_packets;   /* that the host received in the gaps that are over, */
	uint64_t undrawn_packets;  /* and in those that are not between windows */
	uint64_t detached_packets; /* of journeys that had not ended when stages were detached */
	struct {
		bool counts; /* its packets are such ones: there is a gap, and netflowd is not paused */
		uint32_t packets;
		size_t cpus;
	} gap;				 /* where the host's counter was when it began */
	enum backend_level limit, level; /* at least the limit; in force */
	enum phase phase;
	bool again;		       /* windows are needed; the load is measured again */
	uint64_t hurried_ns;	       /* when a CPU ended the wait last */
	uint32_t online;	       /* CPUs; 0: not read yet */
	uint64_t online_ns;	       /* when it was read */
	uint64_t window_ns, until_ns;  /* until_ns: the end of the phase */
	uint64_t due_ns;	       /* when the last window was to open */
	uint64_t stands_ns;	       /* the time that it stands for */
	uint64_t opened_ns, closed_ns; /* when the last window opened, and when it closed */
	uint64_t switch_ns;	       /* CPU time of attaching and detaching, since startup */
	uint64_t attach_ns;	       /* of it: what attaching for this window took */
	double switch_mean_ns;	       /* of one window; 0: none is over yet */
	uint64_t since_ns;	       /* the step in force */
	struct backend_following following;
	struct governor_state mean;
	void (*wake_changed)(void *userdata); /* NULL: no call */
	void *userdata;			      /* of wake_changed */
};

static struct plan_budget budget(const struct governor *governor)
{
	return (struct plan_budget){.host = (double)governor->settings.host_budget / 1e6,
				    .cpu = (double)governor->settings.cpu_budget / 1e6};
}

/* CPUs that are online.  The C library opens a file to find out, which would be a quarter of the daemon's idle time. */
static uint32_t online(struct governor *governor)
{
	uint64_t now = time_monotonic();
	long cpus;

	if (governor->online && now - governor->online_ns < ONLINE_NS)
		return governor->online;
	cpus = sysconf(_SC_NPROCESSORS_ONLN);
	governor->online = cpus > 0 ? (uint32_t)cpus : 1;
	governor->online_ns = now;
	return governor->online;
}

static uint64_t thread_cpu_ns(void)
{
	struct timespec t;

	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t))
		return 0;
	return (uint64_t)t.tv_sec * TIME_NS_PER_SECOND + (uint64_t)t.tv_nsec;
}

/* ---- the levers --------------------------------------------------------- */

static uint64_t set_level(struct governor *governor, enum backend_level level)
{
	uint64_t before = thread_cpu_ns(), ns;

	if (level < governor->limit)
		level = governor->limit;
	if (level > BACKEND_NO_WAKE && governor->level <= BACKEND_NO_WAKE)
		governor->detached_packets += governor->backend->ops->awaited(
			governor->backend, time_monotonic(), UINT64_MAX);
	governor->level = level;
	governor->backend->ops->set_level(governor->backend, level);
	ns = thread_cpu_ns() - before;
	governor->switch_ns += ns;
	return ns;
}

static bool is_quiet(const struct governor *governor)
{
	const struct account_totals *totals = account_totals(governor->account);
	const struct plan_budget limits = budget(governor);

	return totals->host_sum < QUIET_PART * limits.host &&
	       totals->worst_sum < QUIET_PART * limits.cpu;
}

/* ---- packets that came while no journey began ------------------------------ */

static void begin_gap(struct governor *governor)
{
	governor->gap.counts = pace_packets(&governor->gap.packets, &governor->gap.cpus);
}

/* Until now.  With other CPUs, the sums say nothing about the time between them. */
static uint64_t gap_packets(const struct governor *governor)
{
	uint32_t packets;
	size_t cpus;

	if (!governor->gap.counts || !pace_packets(&packets, &cpus) || cpus != governor->gap.cpus)
		return 0;
	return (uint32_t)(packets - governor->gap.packets);
}

/* What a window stands for is not known before it opens; then the weights of its journeys say it. */
static bool is_drawn(const struct governor *governor)
{
	return governor->following.window_shift != 0;
}

static void end_gap(struct governor *governor)
{
	uint64_t packets = gap_packets(governor);

	governor->unseen_packets += packets;
	governor->undrawn_packets += is_drawn(governor) ? 0 : packets;
	governor->gap.counts = false;
}

static void mark_seen(struct governor *governor, bool seen)
{
	if (governor->seen.now == seen)
		return;
	if (seen)
		end_gap(governor);
	else if (governor->limit <= BACKEND_NO_WAKE)
		begin_gap(governor);
	seen_set(&governor->seen, seen, time_monotonic());
}

/* The N with which a CPU wakes the daemon, as log2; 0: none does. */
static uint32_t busy_shift(const struct governor *governor)
{
	double each = account_totals(governor->account)->busiest *
		      (double)governor->plan.interval_ns / (double)TIME_NS_PER_SECOND;
	uint32_t shift = (each > 1 ? (uint32_t)log2(each) + 1 : 0) + BUSY_MORE;

	if (is_quiet(governor))
		return BUSY_QUIET;
	if (shift > NF_SHIFT_MAX || time_monotonic() - governor->hurried_ns < BUSY_AGAIN_NS)
		return 0;
	return shift;
}

/* A gap begins a little too early and ends too late, so that all of its packets count. */
static void follow(struct governor *governor, bool begin)
{
	bool seen = begin && governor->limit <= BACKEND_NO_WAKE;

	if (!seen)
		mark_seen(governor, false);
	governor->following.begin = begin;
	governor->following.interval_ns = governor->settings.on ? governor->plan.interval_ns : 0;
	governor->following.busy_shift =
		begin && governor->phase == PHASE_ALWAYS ? busy_shift(governor) : 0;
	governor->backend->ops->follow(governor->backend, &governor->following);
	if (seen)
		mark_seen(governor, true);
}

/* The level must be BACKEND_DROPS. */
static void weigh(struct governor *governor, uint32_t window_shift)
{
	governor->following.window_shift = window_shift;
	follow(governor, false);
}

static void follow_always(struct governor *governor)
{
	if (governor->following.window_shift) {
		follow(governor, false);
		set_level(governor, BACKEND_DROPS);
		weigh(governor, 0);
	}
	set_level(governor, governor->plan.step == PLAN_ALL ? BACKEND_ALL : BACKEND_NO_WAKE);
	governor->phase = PHASE_ALWAYS;
	governor->again = false;
	follow(governor, true);
}

/* ---- windows ------------------------------------------------------------- */

/* A random time below `ns`, which is at most some seconds. */
static uint64_t random_ns(uint64_t ns)
{
	uint32_t number = 0;

	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != (ssize_t)sizeof(number))
		number = (uint32_t)(time_monotonic() >> 10) * UINT32_C(0x9e3779b9);
	return ns * (number >> 4) >> 28;
}

static uint64_t period(struct governor *governor)
{
	double part = SWITCHING_PART * budget(governor).host * online(governor);
	uint64_t ns = (uint64_t)(governor->switch_mean_ns / part);
	uint64_t most = plan_foresees(&governor->plan) ? PERIOD_MOST_NS : PERIOD_BLIND_NS;

	return ns < PERIOD_LEAST_NS ? PERIOD_LEAST_NS : ns > most ? most : ns;
}

static void plan_window(struct governor *governor)
{
	uint32_t shift = plan_window_shift(&governor->plan);

	if (governor->following.window_shift != shift)
		weigh(governor, shift);
	governor->plan.period_ns = period(governor);
	governor->window_ns = governor->plan.period_ns >> shift;
}

static void enter_windows(struct governor *governor, uint64_t now)
{
	if (governor->phase != PHASE_WAIT) {
		uint64_t ns;

		follow(governor, false);
		ns = set_level(governor, BACKEND_DROPS);
		if (governor->switch_mean_ns <= 0)
			governor->switch_mean_ns = 2 * (double)ns;
		governor->phase = PHASE_WAIT;
	}
	plan_window(governor);
	governor->until_ns = governor->due_ns = now + random_ns(governor->plan.period_ns);
}

/* A window that is due already opens at once, so that none is lost, unless the daemon was stopped. */
static void next_window(struct governor *governor, uint64_t now)
{
	uint64_t stands_ns = governor->stands_ns;

	plan_window(governor);
	governor->due_ns += stands_ns / 4 * 3 + random_ns(stands_ns / 2);
	if (governor->due_ns + PERIOD_MOST_NS < now)
		governor->due_ns = now;
	governor->until_ns = governor->due_ns;
}

static void read_account(struct governor *governor)
{
	const struct account_totals *totals = account_totals(governor->account);
	struct governor_state *mean = &governor->mean;
	double weight, hooks = 0, programs = 0;

	account_read(governor->account, governor->backend, online(governor), time_monotonic(),
		     (struct account_daemon){cost_cpu_ns(), governor->switch_ns});
	for (int i = 0; i < ACCOUNT_GROUPS; i++) {
		hooks += totals->host.hooks[i];
		programs += totals->host.programs[i];
	}
	weight = MEAN_WEIGHT * (double)totals->elapsed_ns / (double)TICK_NS;
	if (weight > 1)
		weight = 1;
	mean->hooks += weight * (hooks - mean->hooks);
	mean->programs += weight * (programs - mean->programs);
	mean->daemon += weight * (totals->daemon + totals->switching - mean->daemon);
	mean->host += weight * (totals->host_sum - mean->host);
	mean->cpu += weight * (totals->worst_sum - mean->cpu);
	if (totals->worst_sum > 0)
		mean->worst_cpu = totals->worst_cpu;
}

/* Only what is detached must be foreseen: reading a file takes as long as the rest of a tick. */
static const struct pace *read_pace(struct governor *governor, bool attached)
{
	if (governor->plan.step == PLAN_ALL) {
		pace_forget(&governor->pace);
		return &governor->pace.pace;
	}
	if (attached)
		return pace_read_switches(&governor->pace, time_monotonic());
	return pace_read(&governor->pace, time_monotonic());
}

/*
 * Take the account since the last reading.  Returns whether the step has changed: if stages were detached, the load has
 * ended and no windows are needed.
 */
static bool observe(struct governor *governor, bool attached)
{
	const struct plan_budget limits = budget(governor);
	const struct account_totals *totals = account_totals(governor->account);
	int step = governor->plan.step;

	read_account(governor);
	if (!totals->elapsed_ns)
		return false;
	plan_observe(&governor->plan, &limits, totals, read_pace(governor, attached), attached,
		     time_monotonic());
	if (governor->plan.step == step)
		return false;
	governor->since_ns = time_monotonic();
	if (governor->wake_changed && (step == PLAN_ALL) != (governor->plan.step == PLAN_ALL))
		governor->wake_changed(governor->userdata);
	return true;
}

static void open_window(struct governor *governor)
{
	if (observe(governor, false)) {
		follow_always(governor);
		return;
	}
	governor->attach_ns = set_level(governor, BACKEND_NO_WAKE);
	if (observe(governor, false)) {
		follow_always(governor);
		return;
	}
	governor->phase = PHASE_OPEN;
	governor->opened_ns = time_monotonic();
	follow(governor, true);
	governor->until_ns = governor->opened_ns + governor->window_ns;
}

/*
 * A window opens late if attaching took long, and closes early if more must be shed.  What it stands for is the time
 * that it was open, times 2^window_shift: on the average the next one is due then, so that the weights are right.
 */
static void begin_tail(struct governor *governor)
{
	uint64_t now;

	follow(governor, false);
	/* On a host with many CPUs, reading what they count has taken a part of the window. */
	now = time_monotonic();
	governor->stands_ns = (now - governor->opened_ns) << governor->following.window_shift;
	/* The daemon was stopped while it was open: it must not wait for hours now. */
	if (governor->stands_ns > 2 * PERIOD_MOST_NS)
		governor->stands_ns = 2 * PERIOD_MOST_NS;
	governor->phase = PHASE_TAIL;
	governor->closed_ns = now;
	governor->until_ns = now + TAIL_LOOK_NS;
}

/* Whether the tail is to go on: then the next look is as far away as the beginning of the tail. */
static bool tail_goes_on(struct governor *governor, uint64_t now)
{
	uint64_t passed_ns = now - governor->closed_ns;

	if (passed_ns >= PLAN_TAIL_MOST_NS ||
	    !governor->backend->ops->awaited(governor->backend, now, 1))
		return false;
	governor->until_ns =
		governor->closed_ns +
		(passed_ns < PLAN_TAIL_MOST_NS / 2 ? 2 * passed_ns : PLAN_TAIL_MOST_NS);
	return true;
}

/* The end of the tail: nothing is left of the window. */
static void end_window(struct governor *governor, uint64_t now)
{
	uint64_t ns = governor->attach_ns + set_level(governor, BACKEND_DROPS);

	governor->switch_mean_ns += 0.25 * ((double)ns - governor->switch_mean_ns);
	governor->plan.switching = governor->switch_mean_ns / (double)governor->plan.period_ns /
				   online(governor) / budget(governor).host;
	plan_tail(&governor->plan, now - governor->closed_ns);
	governor->phase = PHASE_WAIT;
	if (observe(governor, false)) {
		follow_always(governor);
		return;
	}
	next_window(governor, now);
}

/* ---- time ---------------------------------------------------------------- */

/* The step has changed. */
static void apply_step(struct governor *governor, uint64_t now)
{
	if (governor->plan.step < PLAN_WINDOWS) {
		follow_always(governor);
	} else if (governor->phase == PHASE_ALWAYS) {
		governor->again = !governor->again;
		if (!governor->again)
			enter_windows(governor, now);
	} else if (governor->phase == PHASE_OPEN) {
		begin_tail(governor);
	}
}

static void advance(struct governor *governor, uint64_t now)
{
	bool over = governor->until_ns <= now,
	     attached = governor->phase == PHASE_ALWAYS || governor->phase == PHASE_OPEN;

	if (governor->phase == PHASE_WAIT && over) {
		open_window(governor);
		return;
	}
	if (governor->phase == PHASE_TAIL) {
		if (over && !tail_goes_on(governor, now))
			end_window(governor, now);
		return;
	}
	if (observe(governor, attached) || governor->again)
		apply_step(governor, now);
	else if (governor->phase == PHASE_OPEN && over)
		begin_tail(governor);
	else if (attached)
		follow(governor, true);
}

static uint64_t wait_ns(const struct governor *governor)
{
	uint64_t most = governor->phase == PHASE_WAIT ? TICK_WAIT_NS : TICK_NS;
	uint64_t now = time_monotonic(), ns;

	if (governor->limit > BACKEND_NO_WAKE)
		return loop_shared_ns(TICK_QUIET_NS);
	if (governor->again)
		return AGAIN_NS;
	if (governor->phase == PHASE_ALWAYS) {
		if (is_quiet(governor))
			return loop_shared_ns(TICK_QUIET_NS);
		return governor->following.busy_shift && plan_is_steady(&governor->plan, now)
			       ? TICK_STEADY_NS
			       : TICK_NS;
	}
	ns = governor->until_ns > now ? governor->until_ns - now : 1;
	return ns < most ? ns : most;
}

static int tick(void *userdata)
{
	struct governor *governor = userdata;

	/* With cost.governor=off, and while it is paused, only what is shown is read. */
	if (!governor->settings.on || governor->limit > BACKEND_NO_WAKE)
		read_account(governor);
	else
		advance(governor, time_monotonic());
	return loop_timer_restart(governor->timer, wait_ns(governor));
}

/* ---- for others ---------------------------------------------------------- */

int governor_new(struct governor **governor, struct loop *loop, struct backend *backend,
		 const struct governor_settings *settings)
{
	struct governor *fresh = calloc(1, sizeof(*fresh));
	struct plan_budget limits;
	int r;

	if (!fresh)
		return -ENOMEM;
	fresh->backend = backend;
	fresh->settings = *settings;
	fresh->since_ns = time_monotonic();
	limits = budget(fresh);
	plan_begin(&fresh->plan, &limits);
	seen_begin(&fresh->seen, fresh->since_ns);
	/* At first journeys begin, so that a host on which nothing is shed has no gap. */
	seen_set(&fresh->seen, true, fresh->since_ns);
	r = account_new(&fresh->account, backend->ops->cpus(backend));
	if (r == 0)
		r = loop_add_timer(loop, &fresh->timer, TICK_NS, 0, tick, fresh);
	if (r < 0) {
		governor_free(&fresh);
		return r;
	}
	follow(fresh, true);
	*governor = fresh;
	return 0;
}

void governor_free(struct governor **governor)
{
	if (*governor) {
		loop_source_free(&(*governor)->timer);
		account_free(&(*governor)->account);
	}
	free(*governor);
	*governor = NULL;
}

void governor_set(struct governor *governor, const struct governor_settings *settings)
{
	governor->settings.host_budget = settings->host_budget;
	governor->settings.cpu_budget = settings->cpu_budget;
}

bool governor_sheds_wake(const struct governor *governor)
{
	return governor->settings.on && governor->plan.step != PLAN_ALL;
}

void governor_on_wake(struct governor *governor, void (*changed)(void *userdata), void *userdata)
{
	governor->wake_changed = changed;
	governor->userdata = userdata;
}

void governor_hurry(struct governor *governor)
{
	if (!governor->settings.on || governor->phase != PHASE_ALWAYS || governor->again ||
	    governor->limit > BACKEND_NO_WAKE)
		return;
	/* What was before the load must not be part of its measurement. */
	read_account(governor);
	governor->again = true;
	governor->hurried_ns = time_monotonic();
	loop_timer_restart(governor->timer, AGAIN_NS);
}

void governor_limit(struct governor *governor, enum backend_level level)
{
	if (level == governor->limit)
		return;
	end_gap(governor);
	governor->limit = level;
	governor->again = false;
	if (level > BACKEND_NO_WAKE) {
		follow(governor, false);
		set_level(governor, level);
		governor->phase = PHASE_WAIT;
		governor->until_ns = 0;
		return;
	}
	/* What was measured before is of another time: the plan begins with its step, and sees. */
	if (governor->plan.step < PLAN_WINDOWS || governor->phase == PHASE_ALWAYS) {
		follow_always(governor);
	} else {
		follow(governor, false);
		set_level(governor, BACKEND_DROPS);
		governor->phase = PHASE_WAIT;
		begin_gap(governor);
		enter_windows(governor, time_monotonic());
	}
}

static uint32_t largest_shift(const struct account *account)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < account_cpus(account); i++)
		for (int j = 0; j < BACKEND_DIRECTIONS; j++) {
			uint32_t shift = account_cpu(account, i)->one_in_shift[j];

			most = shift > most ? shift : most;
		}
	return most;
}

void governor_state(const struct governor *governor, struct governor_state *state)
{
	*state = governor->mean;
	state->on = governor->settings.on;
	state->host_budget = budget(governor).host;
	state->cpu_budget = budget(governor).cpu;
	state->hook_ns = governor->backend->ops->hook_ns(governor->backend);
	state->limit = governor->limit;
	state->wake_shed = governor->plan.step != PLAN_ALL;
	state->window_shift = plan_window_shift(&governor->plan);
	state->interval_ns = governor->following.interval_ns;
	state->one_in_shift = largest_shift(governor->account);
	state->since_ns = governor->since_ns;
	state->seen = governor_seen(governor, 0);
}

struct seen_part governor_seen(const struct governor *governor, uint64_t from_ns)
{
	return seen_part(&governor->seen, from_ns, time_monotonic());
}

struct governor_unseen governor_unseen(const struct governor *governor)
{
	uint64_t packets = gap_packets(governor);

	return (struct governor_unseen){.packets = governor->unseen_packets + packets,
					.undrawn = governor->undrawn_packets +
						   (is_drawn(governor) ? 0 : packets),
					.detached = governor->detached_packets};
}

const struct account *governor_account(const struct governor *governor)
{
	return governor->account;
}
