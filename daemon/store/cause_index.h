/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table from the reason, location and evidence of a drop to a number that the caller gives. */
#ifndef DAEMON_STORE_CAUSE_INDEX_H
#define DAEMON_STORE_CAUSE_INDEX_H

#include <stdint.h>

#include "bpf/records.h"
#include "common/cleanup.h"

struct cause_index;

/* The caller frees the index with cause_index_free().  -ENOMEM. */
int cause_index_new(struct cause_index **index);
void cause_index_free(struct cause_index **index);
#define OWN_CAUSE_INDEX CLEANUP(cause_index_free)

/* The number of a key, of which only reason, location and evidence count; 0: it has none. */
uint32_t cause_index_find(const struct cause_index *index, const struct nf_drop_key *key);

/* Give a key that has none a number from 1 on.  It takes at most 96 bytes.  -ENOMEM. */
int cause_index_add(struct cause_index *index, const struct nf_drop_key *key, uint32_t number);

#endif
