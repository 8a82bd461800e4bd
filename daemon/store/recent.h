/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recent records of one kind: a store of fixed size.  When it is full, a new record replaces the one that
 * store/shares.h selects, so that a noisy cause replaces its own records.  Each record has room for the names that are
 * captured with it.
 */
#ifndef DAEMON_STORE_RECENT_H
#define DAEMON_STORE_RECENT_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/records.h"
#include "common/cleanup.h"
#include "daemon/store/shares.h"

struct recent;

/* Releases the capture of a record that is replaced, or whose store is freed. */
typedef void (*recent_release)(void *userdata, void *capture);

struct recent_layout {
	size_t record_size; /* bytes of the longest record, header included */
	size_t plain_size; /* bytes of a usual one; more bytes take memory only in records that have them */
	size_t capture_size;	/* bytes of a capture; may be 0 */
	recent_release release; /* NULL: captures need none */
};

/* Room for `capacity` records, at least 1.  `layout` is copied.  -ENOMEM.  Free with recent_free. */
int recent_new(struct recent **recent, size_t capacity, const struct recent_layout *layout,
	       void *userdata);
void recent_free(struct recent **recent);
#define OWN_RECENT CLEANUP(recent_free)

/*
 * Keep a copy of the record and of `capture`, which has `capture_size` bytes and which the store owns from now on; NULL
 * if that size is 0.  A longer record is cut, and header.size of the copy says so.  Of a shorter record, do not read
 * bytes beyond header.size.
 */
void recent_add(struct recent *recent, const struct nf_record *record,
		const struct share_cause *cause, const void *capture);

size_t recent_count(const struct recent *recent);
size_t recent_capacity(const struct recent *recent);
/* The number of causes that have records. */
size_t recent_causes(const struct recent *recent);

/*
 * The i-th newest record, 0 is the newest; NULL if there are fewer.  Valid until the next call of recent_newest() or
 * recent_add().  The record next to the one that was last read, and those near the ends, are found at once; others by
 * counting.
 */
const struct nf_record *recent_newest(struct recent *recent, size_t i);
/* The number of records that were added, and which of these the i-th newest was, from 1; 0: there are fewer. */
uint64_t recent_added(const struct recent *recent);
uint64_t recent_sequence(struct recent *recent, size_t i);
/* The capture of that record.  Valid until recent_add(). */
void *recent_capture(struct recent *recent, size_t i);

#endif
