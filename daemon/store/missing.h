/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The TCP segment for which a journey waited, among the drops of this host. */
#ifndef DAEMON_STORE_MISSING_H
#define DAEMON_STORE_MISSING_H

#include "bpf/records.h"

struct recent;

/* How long before a gap was filled a drop can have made it: TCP_RTO_MAX of include/net/tcp.h. */
#define MISSING_NS 120000000000ULL
/* The newest records that are searched: 255 CPUs can send 25,500 latency records a second. */
#define MISSING_RECORDS 1024

/*
 * The newest of the last MISSING_RECORDS drop records in `drops` with a segment of the journey's flow that has the
 * sequence number that was missing.  NULL: none is known.  Valid as long as that of recent_newest().
 *
 * A flow whose addresses or ports were translated after the drop is another one.  The search takes about 8 ns for each
 * record of another flow, and 50 ns for one of this flow.
 */
const struct nf_drop_record *missing_find(struct recent *drops,
					  const struct nf_journey_record *journey);

#endif
