/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The newest records of one kind: a ring of fixed size, whose oldest entry
 * makes room.  An entry can carry more than its record: bytes attached to it,
 * which the caller fills and, when the record goes, releases.
 */
#ifndef DAEMON_STORE_RECENT_H
#define DAEMON_STORE_RECENT_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/records.h"

struct recent;

/* The entry's record goes: release what `attached` holds. */
typedef void (*recent_release)(void *attached, void *userdata);

/*
 * Room for `capacity` records, at least 1, of at most `record_size` bytes each,
 * header included.  -ENOMEM.  Free with recent_free.
 */
int recent_new(struct recent **recent, size_t capacity, size_t record_size);

/* The same, with `attached_size` bytes attached to each record. */
int recent_new_attached(struct recent **recent, size_t capacity, size_t record_size,
			size_t attached_size, recent_release release, void *userdata);
void recent_free(struct recent **recent);

/*
 * Keep a copy.  A record longer than the ring's records is cut off, and its
 * header.size says so; of a shorter one nothing beyond header.size may be
 * read.  Returns the bytes attached to it, all 0.
 */
void *recent_add(struct recent *recent, const struct nf_record *record);

size_t recent_count(const struct recent *recent);
size_t recent_capacity(const struct recent *recent);

/* The i-th newest, 0 = the newest; NULL if there are fewer.  Valid until the next recent_add. */
const struct nf_record *recent_newest(const struct recent *recent, size_t i);

/* The bytes attached to the i-th newest; `i` below the count. */
void *recent_attached(const struct recent *recent, size_t i);

#endif
