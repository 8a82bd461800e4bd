/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A finished journey with all its names: a latency record after store/resolve.c.
 * Plain data; whoever has one looks nothing up.
 */
#ifndef DAEMON_CORE_JOURNEY_H
#define DAEMON_CORE_JOURNEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/records.h"
#include "daemon/core/contents.h"
#include "daemon/core/device.h"
#include "daemon/core/path.h"

/* The cgroup behind a packet. */
struct owner {
	const char *cgroup;    /* its path */
	const char *unit;      /* the systemd unit in that path; NULL: none */
	const char *container; /* the container in that path; NULL: none */
};

/* Strings and pointers are valid until the next record or cause is resolved. */
struct journey {
	uint64_t time_ns; /* of its end, CLOCK_MONOTONIC */
	uint32_t cpu;
	enum nf_outcome outcome;
	bool slow; /* a segment took longer than its threshold; otherwise it is a sample */
	struct path path;
	size_t devices;
	struct device device[NF_PATH_DEVICES]; /* in the order in which the skb crossed them */
	bool more_devices;		       /* it crossed more than a record can hold */
	bool has_contents; /* false: the reader's skb was gone before the probe read it */
	struct contents contents;
	uint32_t merged; /* delivered by TCP: bytes of other skbs that were merged into this one */
	const struct nf_task *task; /* the reader, or the sender in its own context; or NULL */
	const struct owner *owner;  /* NULL: not known */
};

#endif
