/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What slots.c, which loads the programs of ring slots, and slots_read.c share. */
#ifndef DAEMON_PROBE_BPF_SLOTS_H
#define DAEMON_PROBE_BPF_SLOTS_H

#include <sys/types.h>

#include "daemon/probe/bpf/internal.h"

struct slots; /* the skeleton */

#define SLOTS_REASON_MAX 480

enum copy { XEN, DEVICES, COPIES };

#define PROGRAMS 3

/* A way to attach; the programs in the order of attaching: every start then has its end. */
struct way {
	const char *how;
	enum backend_slots_attach is;
	const char *program[PROGRAMS]; /* the last is the one that a transmit begins with */
};

/* Maps of the object's own, kept for copies to come. */
enum own_map { CPUS, COUNTS, INFOS, ZERO, OWN_MAPS };

struct bpf_ring_slots {
	struct backend_slots_settings settings;
	uint64_t sg, gso, tso; /* bits of net_device.features, 0 = not known */
	int map[OWN_MAPS];     /* -1 until a copy is loaded */
	const struct nf_slots_cpu *cpu;
	size_t cpu_bytes; /* of its mapping */
	ino_t driver;	  /* that the copy for xen-netfront was made for, 0 = none */
	struct {
		struct slots *skel; /* NULL: not loaded */
		struct bpf_link *link[PROGRAMS];
		const struct way *way;
		bool disabled;
		enum probe_state state;
		char reason[SLOTS_REASON_MAX];
	} copy[COPIES];
};

#endif
