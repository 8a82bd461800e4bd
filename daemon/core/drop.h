/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A dropped packet with all its names: a drop record after store/resolve.c.
 * Plain data; whoever has one looks nothing up.
 */
#ifndef DAEMON_CORE_DROP_H
#define DAEMON_CORE_DROP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/records.h"
#include "common/knowledge.h"
#include "daemon/core/contents.h"
#include "daemon/core/device.h"

/* Why and where packets were dropped; drop records and the counters of drops share it. */
struct cause {
	bool has_reason;		   /* false: this kernel's kfree_skb has no reasons */
	uint32_t reason;		   /* its number */
	const char *reason_name;	   /* NULL: not known */
	const char *subsystem;		   /* NULL: not known */
	const struct knowledge *knowledge; /* of the reason; NULL: the knowledge has no entry */
	const char *location;		   /* "udp_rcv+0x1f", the address where it has no symbol */
};

/* Strings and pointers are valid until the next record or cause is resolved. */
struct drop {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t cpu;
	struct cause cause;
	struct device device;
	struct contents contents;
	const struct nf_task *task; /* the one that was running */
	bool involved;	    /* the task caused the drop; otherwise it only happened to run */
	size_t stack_count; /* 0: the record has no stack */
	const char *stack[NF_DROP_STACK_MAX]; /* innermost first, as cause.location */
};

#endif
