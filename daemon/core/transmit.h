/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A transmit at or near the slot limit with all its names, as store/resolve.c or history/stored_record.c makes it from
 * a slots record.  Plain data: its readers look nothing up.
 */
#ifndef DAEMON_CORE_TRANSMIT_H
#define DAEMON_CORE_TRANSMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/records.h"
#include "daemon/core/contents.h"
#include "daemon/core/device.h"

/* Strings and pointers are valid until the next record or cause is resolved. */
struct transmit {
	uint64_t time_ns; /* of start_xmit, CLOCK_MONOTONIC */
	uint32_t cpu;
	enum nf_slots_outcome outcome;
	bool too_big;	  /* longer than xen-netfront can send */
	bool xen;	  /* a device of xen-netfront; otherwise a device of slots.devices */
	bool involved;	  /* the task sent the packet; otherwise it only happened to run */
	bool has_offload; /* sg, gso and tso, the device's settings at that moment, are known */
	bool sg, gso, tso;
	uint32_t slots, limit;
	uint32_t length;		   /* skb->len, bytes */
	uint32_t head_offset, head_length; /* of the linear part, bytes */
	size_t frags;
	const struct nf_slots_frag *frag;
	uint16_t gso_size; /* 0: not a GSO skb */
	uint16_t gso_segs;
	struct device device;
	struct contents contents;
	const struct nf_task *task; /* the task that was running */
};

#endif
