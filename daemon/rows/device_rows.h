/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of devices and CPUs, whether netflowd counts them now or has them in its history.  Plain data. */
#ifndef DAEMON_ROWS_DEVICE_ROWS_H
#define DAEMON_ROWS_DEVICE_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/records.h"
#include "daemon/core/device.h"

/* NAPI polls of a device on a CPU; without a name those of the CPU's backlog, or of all others. */
struct napi_row {
	struct device device;
	bool others;
	uint32_t cpu;
	uint64_t polls, packets, full_budgets;
};

/* The softirq on a CPU. */
struct softnet_row {
	uint32_t cpu;
	const struct nf_hist *wait;
	bool counted; /* by the kernel since boot; otherwise these are not known */
	uint32_t processed, dropped, time_squeeze;
};

/* Ring slots of a device; without a name those of all that found the table full. */
struct slots_row {
	struct device device;
	bool others; /* of the past: those that came later than the first thousands */
	bool xen;
	const uint64_t *slots;	  /* NF_SLOTS_BUCKETS */
	const uint64_t *overflow; /* NF_SLOTS_OUTCOMES */
	uint64_t near, too_big;
	int64_t last_overflow_ns; /* since 1970; 0: there was none */
};

#endif
