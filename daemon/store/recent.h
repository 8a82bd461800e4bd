/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The newest records of one kind: a ring of fixed size in which a new record replaces the oldest.  Each record has room
 * for the names that are captured with it.
 */
#ifndef DAEMON_STORE_RECENT_H
#define DAEMON_STORE_RECENT_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/records.h"
#include "common/cleanup.h"

struct recent;

/* Releases the capture of a record that is replaced, or whose ring is freed. */
typedef void (*recent_release)(void *userdata, void *capture);

/*
 * Room for `capacity` records, at least 1, of at most `record_size` bytes each, header included, and for a capture of
 * `capture_size` bytes with each, which may be 0.  `release` may be NULL.  -ENOMEM.  Free with recent_free.
 */
int recent_new(struct recent **recent, size_t capacity, size_t record_size, size_t capture_size,
	       recent_release release, void *userdata);
void recent_free(struct recent **recent);
#define OWN_RECENT CLEANUP(recent_free)

/*
 * Keep a copy of the record and of `capture`, which has `capture_size` bytes and which the ring owns from now on; NULL
 * if that size is 0.  A longer record is cut, and header.size of the copy says so.  Of a shorter record, do not read
 * bytes beyond header.size.
 */
void recent_add(struct recent *recent, const struct nf_record *record, const void *capture);

size_t recent_count(const struct recent *recent);
size_t recent_capacity(const struct recent *recent);

/* The i-th newest record, 0 is the newest; NULL if there are fewer.  Valid until the next recent_add(). */
const struct nf_record *recent_newest(const struct recent *recent, size_t i);
/* The capture of that record. */
void *recent_capture(const struct recent *recent, size_t i);

#endif
