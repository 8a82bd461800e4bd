/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A raw record becomes what it means (core/resolved.h), in one step for each
 * kind.  What can vanish by the time somebody asks was captured with the
 * record; what cannot, reasons and symbols, is named here, so that a module
 * that was loaded later has its names too.
 */
#ifndef DAEMON_STORE_RESOLVE_H
#define DAEMON_STORE_RESOLVE_H

#include "daemon/core/resolved.h"

struct names;
struct symbols;

/* What a record names that may be gone when it is read.  NULL: it has no name, or none was found. */
struct captured {
	const char *netns[NF_PATH_DEVICES]; /* of each device of a journey; of others the first */
	const char *cgroup;		    /* path */
};

/* Where names come from; all are the caller's. */
struct resolver {
	const struct names *names;
	const struct symbols *symbols;	  /* NULL: locations are addresses */
	const struct path_probes *probes; /* why stages are missing */
};

void resolve_cause(struct cause *cause, const struct resolver *resolver, bool has_reason,
		   uint32_t reason, uint64_t location);

/*
 * The results point into `record` and `captured`.  stack[] and frag[] of a
 * record are read only as far as header.size covers them.
 */
void resolve_drop(struct drop *drop, const struct nf_drop_record *record,
		  const struct captured *captured, const struct resolver *resolver);
void resolve_transmit(struct transmit *transmit, const struct nf_slots_record *record,
		      const struct captured *captured);

/* -ENODATA or -EINVAL: the record has no times that can be believed, see path_read(). */
int resolve_journey(struct journey *journey, const struct nf_path_record *record,
		    const struct captured *captured, const struct resolver *resolver);

#endif
