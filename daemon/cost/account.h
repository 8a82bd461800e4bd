/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The share of each CPU's time that netflowd takes, from what the programs count and time themselves.  Shares are
 * fractions of 1.
 */
#ifndef DAEMON_COST_ACCOUNT_H
#define DAEMON_COST_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/probe/backend.h"

/* Probes that are attached and detached together. */
enum account_group {
	ACCOUNT_DROPS, /* drops and ring slots: never detached for the budget */
	ACCOUNT_STAGES,
	ACCOUNT_WAKE,
	ACCOUNT_GROUPS,
};

struct account_share {
	double hooks[ACCOUNT_GROUPS];	 /* the hooks, and a program that returns at once */
	double programs[ACCOUNT_GROUPS]; /* all that the programs take beyond that */
};

struct account_cpu {
	struct account_share share;
	double sum; /* of `share` */
	uint32_t one_in_shift[BACKEND_DIRECTIONS];
	bool used; /* a program ran here since startup */
};

/* Of the time between the last two readings. */
struct account_totals {
	struct account_share host;   /* mean of the online CPUs */
	struct account_share worst;  /* of the CPU with the largest sum */
	double hits[ACCOUNT_GROUPS]; /* of all CPUs, per second */
	double packets;		     /* hits of netif_receive_skb, of all CPUs, per second */
	double switches;	     /* hits of sched_switch */
	double busiest;		     /* packets received, or sent, on the CPU with the most */
	double daemon;		     /* the daemon's own CPU time, as a share of the host, */
	double switching;	     /* without that of attaching and detaching */
	double host_sum;	     /* with both */
	double worst_sum;
	uint32_t worst_cpu;
	uint64_t elapsed_ns;
};

struct account;

/* `cpus`: possible CPUs.  -ENOMEM. */
int account_new(struct account **account, uint32_t cpus);
void account_free(struct account **account);

/* CPU time of the daemon since it started. */
struct account_daemon {
	uint64_t all_ns;
	uint64_t switch_ns; /* of it: attaching and detaching for the budget */
};

/* Read the counters of all CPUs.  `online`: CPUs that are online.  The first reading begins the first interval. */
void account_read(struct account *account, const struct backend *backend, uint32_t online,
		  uint64_t now_ns, struct account_daemon daemon);

const struct account_totals *account_totals(const struct account *account);
uint32_t account_cpus(const struct account *account);
const struct account_cpu *account_cpu(const struct account *account, uint32_t cpu);

#endif
