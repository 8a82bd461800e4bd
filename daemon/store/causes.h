/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The causes of the keys of one reading, each resolved once: thousands of keys have the same reason, location and
 * evidence.  On a healthy host there are some hundred.  Strangers can choose much of the evidence, but evidence that
 * says the same shares a cause of half a KiB: 100,000 random kinds have 2,900 causes in tcp_v4_rcv().  Each combination
 * of reason, location and evidence takes 96 bytes more, and there are at most as many as keys: those of two generations
 * (drops.keys each), the kept ones (drops.keys) and DROP_SUMS_GONE_MAX.  That is 1.6 MB by default, and 20 MB if
 * drops.keys is at its limit.
 */
#ifndef DAEMON_STORE_CAUSES_H
#define DAEMON_STORE_CAUSES_H

#include <stdbool.h>

#include "bpf/records.h"
#include "common/cleanup.h"

struct cause;
struct causes;
struct records;

/* `records` names the causes and must outlive them; `has_reason`: this kernel has reasons.  -ENOMEM. */
int causes_new(struct causes **causes, struct records *records, bool has_reason);
void causes_free(struct causes **causes);
#define OWN_CAUSES CLEANUP(causes_free)

/*
 * The cause of a key, without the text of its location (NULL), which records_cause() gives, and without its evidence
 * (0), which the key has.  Valid until causes_free().  NULL: no memory.
 */
const struct cause *causes_of(struct causes *causes, const struct nf_drop_key *key);

#endif
