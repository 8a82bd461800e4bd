/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/cost/account.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/time.h"
#include "daemon/probe/probes.h"

/*
 * If the backend could not measure the hook: more than the 20 to 50 ns of the machines that we measured, so that the
 * budget holds.
 */
#define HOOK_UNKNOWN_NS 60.0
/* What a program takes that finds that it has nothing to do. */
#define IDLE_PROGRAM_NS 4.0
/*
 * A timed run counts for hundreds, and a hypervisor or an interrupt may stop it for milliseconds.  So one reading
 * raises a mean to this many times at most; a program that has become slow is known after a few.
 */
#define MEAN_TIMES 4
#define MEAN_FIRST_NS 1000.0 /* in place of a mean that is not known yet */
/*
 * A CPU that never ran a program is looked at in one reading of this many; its first hits are not counted, because
 * nothing says when they were.
 */
#define UNUSED_EVERY 8

struct cpu {
	struct account_cpu now;
	bool counts; /* new_hits are those since the last reading */
	uint64_t hits[NF_PROBE_COUNT], new_hits[NF_PROBE_COUNT];
	uint64_t timed[NF_PROBE_COUNT], timed_ns[NF_PROBE_COUNT];
};

struct account {
	uint32_t cpus;
	unsigned int readings;
	uint64_t time_ns;
	struct account_daemon daemon;
	enum account_group group[NF_PROBE_COUNT];
	double mean_ns[NF_PROBE_COUNT]; /* of a run; 0: none was timed yet */
	struct account_totals totals;
	struct cpu cpu[];
};

static enum account_group group_of(const char *group)
{
	if (!strcmp(group, "drop") || !strcmp(group, "slots"))
		return ACCOUNT_DROPS;
	return strcmp(group, "wake") ? ACCOUNT_STAGES : ACCOUNT_WAKE;
}

int account_new(struct account **account, uint32_t cpus)
{
	struct account *fresh = calloc(1, sizeof(*fresh) + cpus * sizeof(fresh->cpu[0]));

	if (!fresh)
		return -ENOMEM;
	fresh->cpus = cpus;
	for (int i = 0; i < NF_PROBE_COUNT; i++)
		fresh->group[i] = group_of(probe_specs[i].group);
	*account = fresh;
	return 0;
}

void account_free(struct account **account)
{
	free(*account);
	*account = NULL;
}

/* Of the runs that timed themselves since the last reading, on all CPUs. */
struct timed {
	uint64_t runs[NF_PROBE_COUNT], ns[NF_PROBE_COUNT];
};

/* Keep the hits since the last reading.  False: the CPU had none before that reading. */
static bool read_cpu(struct cpu *cpu, const struct backend *backend, uint32_t number,
		     struct timed *timed)
{
	struct backend_cpu_cost cost;
	uint64_t sum = 0;
	bool before;

	backend->ops->cpu_cost(backend, number, &cost);
	for (int i = 0; i < NF_PROBE_COUNT; i++) {
		cpu->new_hits[i] = cost.hits[i] - cpu->hits[i];
		timed->runs[i] += cost.timed[i] - cpu->timed[i];
		timed->ns[i] += cost.timed_ns[i] - cpu->timed_ns[i];
		sum += cost.hits[i];
	}
	memcpy(cpu->hits, cost.hits, sizeof(cpu->hits));
	memcpy(cpu->timed, cost.timed, sizeof(cpu->timed));
	memcpy(cpu->timed_ns, cost.timed_ns, sizeof(cpu->timed_ns));
	memcpy(cpu->now.one_in_shift, cost.one_in_shift, sizeof(cpu->now.one_in_shift));
	before = cpu->now.used;
	cpu->now.used = sum != 0;
	return before;
}

/* The mean follows a change at once if many runs were timed, and slowly if one was. */
static void take_mean(double *known_ns, double runs, double ns)
{
	bool known = *known_ns > 0;
	double most = MEAN_TIMES * (known ? *known_ns : MEAN_FIRST_NS);
	double weight = known ? runs / (runs + 4) : 1;

	*known_ns += weight * (fmin(ns / runs, most) - *known_ns);
}

static void take_means(struct account *account, const struct timed *timed)
{
	for (int i = 0; i < NF_PROBE_COUNT; i++)
		if (timed->runs[i])
			take_mean(&account->mean_ns[i], (double)timed->runs[i],
				  (double)timed->ns[i]);
}

static void weigh(const struct account *account, struct cpu *of, double hook_ns, double elapsed)
{
	struct account_cpu *cpu = &of->now;

	cpu->share = (struct account_share){0};
	cpu->sum = 0;
	for (int i = 0; i < NF_PROBE_COUNT; i++) {
		enum account_group group = account->group[i];
		double runs = (double)of->new_hits[i] / elapsed;
		double beyond = account->mean_ns[i] - IDLE_PROGRAM_NS;

		cpu->share.hooks[group] += runs * (hook_ns + IDLE_PROGRAM_NS);
		if (beyond > 0)
			cpu->share.programs[group] += runs * beyond;
	}
	for (int i = 0; i < ACCOUNT_GROUPS; i++)
		cpu->sum += cpu->share.hooks[i] + cpu->share.programs[i];
}

static void add_hits(const struct account *account, struct account_totals *totals,
		     const uint64_t hits[NF_PROBE_COUNT], double elapsed)
{
	const double each = (double)TIME_NS_PER_SECOND / elapsed;

	for (int i = 0; i < NF_PROBE_COUNT; i++)
		totals->hits[account->group[i]] += each * (double)hits[i];
	totals->packets += each * (double)hits[NF_PROBE_NETIF_RECEIVE_SKB];
	totals->busiest = fmax(totals->busiest, each * (double)hits[NF_PROBE_NETIF_RECEIVE_SKB]);
	totals->busiest = fmax(totals->busiest, each * (double)hits[NF_PROBE_NET_DEV_QUEUE]);
	totals->switches += each * (double)hits[NF_PROBE_SCHED_SWITCH];
}

static void add(struct account_share *to, const struct account_share *share, double times)
{
	for (int i = 0; i < ACCOUNT_GROUPS; i++) {
		to->hooks[i] += times * share->hooks[i];
		to->programs[i] += times * share->programs[i];
	}
}

static void add_cpu(struct account_totals *totals, const struct account_cpu *cpu, uint32_t number,
		    double part)
{
	add(&totals->host, &cpu->share, part);
	totals->host_sum += part * cpu->sum;
	if (cpu->sum <= totals->worst_sum)
		return;
	totals->worst = cpu->share;
	totals->worst_sum = cpu->sum;
	totals->worst_cpu = number;
}

/* The hits of all CPUs since the last reading, and the means of what runs took in this time. */
static void read_cpus(struct account *account, const struct backend *backend, bool all)
{
	struct timed timed = {0};

	for (uint32_t i = 0; i < account->cpus; i++) {
		struct cpu *cpu = &account->cpu[i];

		cpu->counts = (all || cpu->now.used) && read_cpu(cpu, backend, i, &timed);
	}
	take_means(account, &timed);
}

void account_read(struct account *account, const struct backend *backend, uint32_t online,
		  uint64_t now_ns, struct account_daemon daemon)
{
	double hook_ns = backend->ops->hook_ns(backend), part = 1.0 / (online ? online : 1);
	double elapsed = (double)(now_ns - account->time_ns);
	bool first = !account->readings, all = account->readings++ % UNUSED_EVERY == 0;
	struct account_totals totals = {.elapsed_ns = first ? 0 : now_ns - account->time_ns};
	uint64_t all_ns = daemon.all_ns - account->daemon.all_ns;
	uint64_t switch_ns = daemon.switch_ns - account->daemon.switch_ns;

	read_cpus(account, backend, all);
	for (uint32_t i = 0; totals.elapsed_ns && i < account->cpus; i++) {
		struct cpu *cpu = &account->cpu[i];

		if (!cpu->counts)
			continue;
		weigh(account, cpu, hook_ns > 0 ? hook_ns : HOOK_UNKNOWN_NS, elapsed);
		add_cpu(&totals, &cpu->now, i, part);
		add_hits(account, &totals, cpu->new_hits, elapsed);
	}
	if (totals.elapsed_ns) {
		totals.switching = (double)switch_ns / elapsed * part;
		totals.daemon = fmax((double)all_ns - (double)switch_ns, 0) / elapsed * part;
		totals.host_sum += totals.daemon + totals.switching;
	}
	account->totals = totals;
	account->time_ns = now_ns;
	account->daemon = daemon;
}

const struct account_totals *account_totals(const struct account *account)
{
	return &account->totals;
}

uint32_t account_cpus(const struct account *account)
{
	return account->cpus;
}

const struct account_cpu *account_cpu(const struct account *account, uint32_t cpu)
{
	return &account->cpu[cpu].now;
}
