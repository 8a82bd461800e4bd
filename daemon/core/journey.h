/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A finished journey with all its names, as store/resolve.c or history/stored_record.c makes it from a latency record.
 * Plain data: its readers look nothing up.
 */
#ifndef DAEMON_CORE_JOURNEY_H
#define DAEMON_CORE_JOURNEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/records.h"
#include "daemon/core/contents.h"
#include "daemon/core/device.h"
#include "daemon/core/drop.h"
#include "daemon/core/owner.h"
#include "daemon/core/stages.h"

/* Strings and pointers are valid until the next record or cause is resolved. */
struct journey {
	uint64_t time_ns; /* of its end, CLOCK_MONOTONIC */
	uint32_t cpu;
	enum nf_outcome outcome;
	bool slow; /* a segment took longer than its threshold; otherwise it is a sample */
	uint8_t weight_shift; /* one journey in 2^weight_shift was followed */
	struct stages stages;
	size_t devices;
	struct device device[NF_JOURNEY_DEVICES]; /* in the order in which the skb crossed them */
	bool more_devices; /* the skb crossed more devices than a record holds */
	bool has_contents; /* false: the reader's skb was gone before the probe read it */
	struct contents contents;
	uint32_t merged; /* delivered by TCP: bytes of other skbs that TCP merged into this one */
	const struct nf_task *task; /* the reader, or the sender in its context; NULL: none */
	const struct owner *owner;  /* NULL: not known */
	bool has_missing; /* this host dropped the TCP segment that was missing before this one */
	struct drop missing;
};

#endif
