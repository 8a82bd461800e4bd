/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The shares of CPUs, from counters that the test sets. */
#include <string.h>

#include "daemon/cost/account.h"
#include "tests/unit/test.h"

#define CPUS 255
#define SECOND UINT64_C(1000000000)

static struct backend_cpu_cost cost[CPUS];
static unsigned int reads;

static void cpu_cost(const struct backend *backend, uint32_t cpu, struct backend_cpu_cost *to)
{
	(void)backend;
	*to = cost[cpu];
	reads++;
}

static double hook_ns(const struct backend *backend)
{
	(void)backend;
	return 46;
}

static const struct backend_ops ops = {.name = "test", .cpu_cost = cpu_cost, .hook_ns = hook_ns};
static struct backend backend = {.ops = &ops};

static void run(int cpu, enum nf_probe probe, uint64_t hits, uint64_t timed, uint64_t ns)
{
	cost[cpu].hits[probe] += hits;
	cost[cpu].timed[probe] += timed;
	cost[cpu].timed_ns[probe] += timed * ns;
}

TEST(hits_times_hook_and_mean_are_the_share)
{
	const struct account_totals *totals;
	struct account *account;

	memset(cost, 0, sizeof(cost));
	assert_int_equal(account_new(&account, 4), 0);
	run(1, NF_PROBE_NETIF_RECEIVE_SKB, 5000, 5, 104);
	run(0, NF_PROBE_KFREE_SKB, 1, 0, 0);
	account_read(account, &backend, 4, SECOND, (struct account_daemon){0, 0});
	totals = account_totals(account);
	assert_float_equal(totals->host_sum, 0, 1e-9);
	/* None is timed now: the mean stays known. */
	run(1, NF_PROBE_NETIF_RECEIVE_SKB, 100000, 0, 0);
	run(1, NF_PROBE_SCHED_SWITCH, 200000, 0, 0);
	run(0, NF_PROBE_KFREE_SKB, 1000, 0, 0);
	account_read(account, &backend, 4, 2 * SECOND, (struct account_daemon){SECOND / 100, 0});
	assert_int_equal(totals->worst_cpu, 1);
	assert_float_equal(totals->worst.hooks[ACCOUNT_STAGES], 0.005, 1e-6);
	assert_float_equal(totals->worst.programs[ACCOUNT_STAGES], 0.010, 1e-6);
	assert_float_equal(totals->worst.hooks[ACCOUNT_WAKE], 0.010, 1e-6);
	assert_float_equal(totals->worst_sum, 0.025, 1e-6);
	assert_float_equal(totals->packets, 100000, 1e-3);
	assert_float_equal(totals->switches, 200000, 1e-3);
	assert_float_equal(totals->hits[ACCOUNT_STAGES], 100000, 1e-3);
	assert_float_equal(totals->hits[ACCOUNT_DROPS], 1000, 1e-3);
	assert_float_equal(totals->daemon, 0.0025, 1e-6);
	assert_float_equal(totals->host_sum, (0.025 + 0.00005) / 4 + 0.0025, 1e-6);
	assert_true(account_cpu(account, 0)->used);
	assert_false(account_cpu(account, 2)->used);
	account_free(&account);
	assert_null(account);
}

/* What the account makes of a million hits in a second, without the hook. */
static double program_share(struct account *account, uint64_t second)
{
	run(1, NF_PROBE_NETIF_RECEIVE_SKB, 1000000, 0, 0);
	account_read(account, &backend, 4, second * SECOND, (struct account_daemon){0, 0});
	return account_totals(account)->worst.programs[ACCOUNT_STAGES];
}

/* An account that knows a mean of 104 ns. */
static struct account *account_of_104_ns(void)
{
	struct account *account;

	memset(cost, 0, sizeof(cost));
	assert_int_equal(account_new(&account, 4), 0);
	run(1, NF_PROBE_NETIF_RECEIVE_SKB, 1, 5, 104);
	account_read(account, &backend, 4, SECOND, (struct account_daemon){0, 0});
	return account;
}

TEST(one_run_that_was_stopped_is_not_the_mean)
{
	struct account *account = account_of_104_ns();

	assert_float_equal(program_share(account, 2), 0.1, 1e-6);
	run(1, NF_PROBE_NETIF_RECEIVE_SKB, 0, 1, 5000000);
	account_read(account, &backend, 4, 3 * SECOND, (struct account_daemon){0, 0});
	assert_in_range(1000 * program_share(account, 4), 100, 200);
	account_free(&account);
}

TEST(a_program_that_became_slow_is_known)
{
	struct account *account = account_of_104_ns();

	for (uint64_t i = 2; i < 12; i++) {
		run(1, NF_PROBE_NETIF_RECEIVE_SKB, 0, 20, 100000);
		account_read(account, &backend, 4, i * SECOND, (struct account_daemon){0, 0});
	}
	assert_in_range(program_share(account, 12), 95, 100);
	account_free(&account);
}

TEST(cpus_that_never_ran_a_program_cost_little)
{
	struct account *account;

	memset(cost, 0, sizeof(cost));
	assert_int_equal(account_new(&account, CPUS), 0);
	run(7, NF_PROBE_NETIF_RECEIVE_SKB, 1, 0, 0);
	account_read(account, &backend, 8, SECOND, (struct account_daemon){0, 0});
	reads = 0;
	for (uint64_t i = 0; i < 80; i++)
		account_read(account, &backend, 8, 2 * SECOND + i, (struct account_daemon){0, 0});
	assert_int_equal(reads, 10 * CPUS + 70);
	account_free(&account);
}
