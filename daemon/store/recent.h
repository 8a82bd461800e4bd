/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The newest records of one kind: a ring of fixed size, a new record replaces the
 * oldest.  Each record has room for what was captured when it was taken.
 */
#ifndef DAEMON_STORE_RECENT_H
#define DAEMON_STORE_RECENT_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/records.h"
#include "common/cleanup.h"

struct recent;

/* Frees what was captured with a record that is replaced, or whose ring is freed. */
typedef void (*recent_release)(void *userdata, void *capture);

/*
 * Room for `capacity` records, at least 1, of at most `record_size` bytes each,
 * header included, with `capture_size` bytes each, which may be 0.  `release` may
 * be NULL.  -ENOMEM.  Free with recent_free.
 */
int recent_new(struct recent **recent, size_t capacity, size_t record_size, size_t capture_size,
	       recent_release release, void *userdata);
void recent_free(struct recent **recent);
#define OWN_RECENT CLEANUP(recent_free)

/*
 * Keep a copy of the record and of `capture`, which has the size of a capture and
 * belongs to the ring from now on; NULL if that size is 0.  A longer record is
 * cut, and its header.size then says so; of a shorter one, bytes beyond
 * header.size must not be read.
 */
void recent_add(struct recent *recent, const struct nf_record *record, const void *capture);

size_t recent_count(const struct recent *recent);
size_t recent_capacity(const struct recent *recent);

/*
 * The i-th newest, 0 is the newest; NULL if there are fewer.  Valid until the next
 * recent_add.
 */
const struct nf_record *recent_newest(const struct recent *recent, size_t i);
/* What was captured with it. */
void *recent_capture(const struct recent *recent, size_t i);

#endif
