/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fixed set of probes: what each is called, belongs to and is good for. */
#ifndef DAEMON_PROBE_PROBES_H
#define DAEMON_PROBE_PROBES_H

#include "bpf/records.h"

struct probe_spec {
	const char *name;  /* the kernel's tracepoint */
	const char *group; /* irq, rx, wake, tx, drop, slots */
	const char *lost_without;
};

/* Indexed by enum nf_probe. */
extern const struct probe_spec probe_specs[NF_PROBE_COUNT];

/* The probe of that name, or -ENOENT. */
int probe_find(const char *name);

#endif
