/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one step from a raw record to its meaning: the names of the reason, class and location, the parsed packet, the
 * stages of a journey.  Every reader of records (selection, JSON, alerts) uses the result and looks nothing up.
 *
 * None of these names can vanish, so this step may run long after the record was added.  Names that can vanish are
 * captured at that time (store/captures.h) and passed in.  This step allocates no memory and takes about half
 * a microsecond, or more for a location whose text is not remembered yet.
 */
#ifndef DAEMON_STORE_RESOLVE_H
#define DAEMON_STORE_RESOLVE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "daemon/core/drop.h"
#include "daemon/core/journey.h"
#include "daemon/core/transmit.h"

struct names;
struct resolver;
struct symbols;

/* `names` and `symbols` must outlive the resolver; `symbols` NULL: locations are addresses.  -ENOMEM. */
int resolver_new(struct resolver **resolver, const struct names *names,
		 const struct symbols *symbols);
void resolver_free(struct resolver **resolver);
#define OWN_RESOLVER CLEANUP(resolver_free)

/* Set which probes do not run, for the stages that a journey lacks; copied.  Initially all run. */
void resolver_set_probes(struct resolver *resolver, const struct stage_probes *probes);

/* Call this after the symbols were loaded again. */
void resolver_forget_symbols(struct resolver *resolver);

/*
 * The record, and the names that were captured with it, must outlive the result.  Texts of locations in the result are
 * valid until the resolver is used again.
 */
void resolve_cause(struct resolver *resolver, bool has_reason, const struct nf_drop_key *key,
		   struct cause *cause);
/* Reads stack[] only as far as header.size covers it. */
void resolve_drop(struct resolver *resolver, const struct nf_drop_record *record,
		  const char *netns_name, const struct owner *owner, struct drop *drop);
/*
 * `netns_names`: one for each device; NULL: not known.  -ENODATA, -EINVAL: stages_read() finds no journey in the
 * record.
 */
int resolve_journey(struct resolver *resolver, const struct nf_journey_record *record,
		    const char *const netns_names[static NF_JOURNEY_DEVICES],
		    const struct owner *owner, struct journey *journey);
/* Add the drop of the segment that was missing, as resolve_drop(). */
void resolve_missing(struct resolver *resolver, const struct nf_drop_record *record,
		     const char *netns_name, const struct owner *owner, struct journey *journey);
/* Reads frag[] only as far as header.size covers it. */
void resolve_transmit(struct resolver *resolver, const struct nf_slots_record *record,
		      const char *netns_name, struct transmit *transmit);

#endif
