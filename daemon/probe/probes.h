/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fixed set of probes: the name, the group and the use of each. */
#ifndef DAEMON_PROBE_PROBES_H
#define DAEMON_PROBE_PROBES_H

#include <stdint.h>

#include "bpf/records.h"

struct probe_spec {
	const char *name;	  /* the kernel's tracepoint or function, or slots_devices */
	const char *group;	  /* irq, rx, wake, tx, drop, slots */
	const char *lost_without; /* the data that is missing if it is not attached */
};

/* The data that is missing with the simple program of a probe. */
struct probe_simple {
	const char *lost;  /* NULL: it has no simple program */
	uint32_t segments; /* bit i: the histogram of segment i, an enum nf_segment */
};

/* Indexed by enum nf_probe. */
extern const struct probe_spec probe_specs[NF_PROBE_COUNT];
extern const struct probe_simple probe_simple[NF_PROBE_COUNT];

/* The probe of that name, or -ENOENT. */
int probe_find(const char *name);

#endif
