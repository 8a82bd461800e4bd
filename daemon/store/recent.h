/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The newest records of one kind: a ring of fixed size, the oldest gives way. */
#ifndef DAEMON_STORE_RECENT_H
#define DAEMON_STORE_RECENT_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/records.h"

struct recent;

/*
 * Room for `capacity` records, at least 1, of at most `record_size` bytes each,
 * header included.  -ENOMEM.  Free with recent_free.
 */
int recent_new(struct recent **recent, size_t capacity, size_t record_size);
void recent_free(struct recent **recent);

/*
 * Keep a copy.  A longer record is cut off, which its header.size then says; of
 * a shorter one nothing beyond header.size may be read.
 */
void recent_add(struct recent *recent, const struct nf_record *record);

size_t recent_count(const struct recent *recent);
size_t recent_capacity(const struct recent *recent);

/* The i-th newest, 0 = the newest, NULL = there are not so many; valid until the next recent_add.
 */
const struct nf_record *recent_newest(const struct recent *recent, size_t i);

#endif
