/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The counters of devices whose blocks were taken away, by device key, in compact
 * form.  Those of gone devices have limited memory: when they need more, the
 * device that is gone for the longest time is added to the devices of its kind.
 */
#ifndef DAEMON_PROBE_BPF_RETIRED_H
#define DAEMON_PROBE_BPF_RETIRED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/records.h"

struct compact;
struct retired;

/* NAPI polls of one CPU. */
struct retired_napi {
	uint32_t cpu;
	uint64_t polls, poll_packets, full_budgets;
};

struct retired_device {
	uint64_t key;
	struct nf_device_info info;
	struct compact *counters; /* of all CPUs */
	struct retired_napi *napi;
	size_t napi_count;
	struct retired_device *next;	      /* of the same bucket */
	bool gone;			      /* it has no slot any more */
	struct retired_device *older, *newer; /* of those that are gone */
};

/* Devices of one kind, added up. */
struct retired_kind {
	char kind[NF_DEVICE_KIND];
	uint64_t devices;
	struct nf_device_stats stats;
};

/* Devices are forgotten beyond `bytes` of memory, if any is gone.  -ENOMEM. */
int retired_new(struct retired **retired, size_t bytes);
void retired_free(struct retired **retired);

/* Add a block that `cpu` used to the device's counters; it is not gone.  -ENOMEM: nothing was added. */
int retired_add(struct retired *retired, uint64_t key, const struct nf_device_info *info,
		uint32_t cpu, const struct nf_device_stats *stats);

/* The device lost its slot, so that its counters may be added to its kind. */
void retired_gone(struct retired *retired, uint64_t key);

/* NULL if the device has no retired counters. */
const struct retired_device *retired_find(const struct retired *retired, uint64_t key);
/* The device after `device`, in no order; the first after NULL, and NULL after the last. */
const struct retired_device *retired_next(const struct retired *retired,
					  const struct retired_device *device);
size_t retired_count(const struct retired *retired);
size_t retired_bytes(const struct retired *retired);

/* The kinds to which devices were added. */
const struct retired_kind *retired_kinds(const struct retired *retired, size_t *count);

#endif
