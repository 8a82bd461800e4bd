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
	/* the data that is missing with its simple program; NULL: it has none */
	const char *lost_if_simple;
	uint32_t segments_if_simple; /* bit i: and the histogram of segment i, an enum nf_segment */
};

/* Indexed by enum nf_probe. */
extern const struct probe_spec probe_specs[NF_PROBE_COUNT];

/* The probe of that name, or -ENOENT. */
int probe_find(const char *name);

#endif
