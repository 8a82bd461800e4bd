/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A dropped packet with all its names, as store/resolve.c or history/stored_record.c makes it from a drop record.
 * Plain data: its readers look nothing up.
 */
#ifndef DAEMON_CORE_DROP_H
#define DAEMON_CORE_DROP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/records.h"
#include "daemon/core/contents.h"
#include "daemon/core/device.h"
#include "daemon/core/owner.h"
#include "daemon/core/verdict.h"

/* Why and where packets were dropped, for drop records and for the counters of drops. */
struct cause {
	bool has_reason;	   /* false: this kernel's kfree_skb has no reasons */
	uint32_t reason;	   /* the kernel's number */
	const char *kernel_reason; /* the kernel's name of it; NULL: not known */
	const char *subsystem;	   /* of the verdict's reason; NULL: not known */
	uint64_t evidence;	   /* as in struct nf_drop_key */
	const char *location;	   /* "udp_rcv+0x1f"; the address if it has no symbol */
	struct verdict verdict;	   /* what that means */
};

/* Strings and pointers are valid until the next record or cause is resolved. */
struct drop {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t cpu;
	struct cause cause;
	struct device device;
	struct contents contents;
	const struct nf_task *task; /* the task that was running */
	const struct owner
		*owner; /* of the socket, or of the task if it was involved; NULL: not known */
	bool involved;	/* the task caused the drop; otherwise it only happened to run */
	bool involved_unknown;		      /* the probes that show it were detached */
	size_t stack_count;		      /* 0: the record has no stack */
	const char *stack[NF_DROP_STACK_MAX]; /* innermost first; texts like cause.location */
};

#endif
