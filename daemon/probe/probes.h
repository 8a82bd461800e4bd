/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fixed set of probes: the name, the group and the use of each. */
#ifndef DAEMON_PROBE_PROBES_H
#define DAEMON_PROBE_PROBES_H

#include "bpf/records.h"

struct probe_spec {
	const char *name;	  /* the kernel's tracepoint or function, or slots_devices */
	const char *group;	  /* irq, rx, wake, tx, drop, slots */
	const char *lost_without; /* the data that is missing if it is not attached */
};

/* Indexed by enum nf_probe. */
extern const struct probe_spec probe_specs[NF_PROBE_COUNT];

/* The probe of that name, or -ENOENT. */
int probe_find(const char *name);

#endif
