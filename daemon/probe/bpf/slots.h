/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by slots.c, which loads the programs of ring slots, and slots_read.c. */
#ifndef DAEMON_PROBE_BPF_SLOTS_H
#define DAEMON_PROBE_BPF_SLOTS_H

#include <sys/types.h>

#include "daemon/probe/bpf/internal.h"

struct slots; /* the skeleton */

#define SLOTS_REASON_MAX 480

/* The copies of the object. */
enum copy { XEN, DEVICES, COPIES };

#define PROGRAMS 3

/* A way to attach.  The programs that see the end come first, so that no start lacks its end. */
struct way {
	const char *how;
	enum backend_slots_attach is;
	const char *program[PROGRAMS]; /* in the order of attaching; the last sees the start */
};

/* The object's own maps, kept for later copies. */
enum own_map { CPUS, COUNTS, INFOS, ZERO, OWN_MAPS };

struct bpf_ring_slots {
	struct backend_slots_settings settings;
	uint64_t sg, gso, tso; /* bits of net_device.features, 0 = not known */
	int map[OWN_MAPS];     /* descriptors, -1 until a copy is loaded */
	const struct nf_slots_cpu *cpu;
	size_t cpu_bytes; /* of its mapping */
	ino_t driver; /* bpf_module() of the driver that the copy XEN was loaded for, 0 = none */
	struct {
		struct slots *skel; /* NULL: not loaded */
		struct bpf_link *link[PROGRAMS];
		const struct way *way;
		bool disabled; /* by probes.disable */
		enum probe_state state;
		char reason[SLOTS_REASON_MAX];
	} copy[COPIES];
};

#endif
