/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The numbers of one series in one interval, as the file has them: a list of (index, value) without zeros, each a
 * variable-length integer, the index as the distance from the one before.  So what did not happen takes no room, and a
 * histogram takes room for the buckets that it uses.  Pure arithmetic.
 *
 * The value at index 0 is a maximum (a time, or the longest wait); all others are sums.
 */
#ifndef DAEMON_HISTORY_VECTOR_H
#define DAEMON_HISTORY_VECTOR_H

#include <stddef.h>
#include <stdint.h>

/* Values that a vector has at most, and the bytes of the longest encoding. */
#define VECTOR_MAX 256
#define VECTOR_BYTES_MAX (VECTOR_MAX * (2 + 10))

/* Encode `count` values; returns the bytes written to `bytes`, which has room for VECTOR_BYTES_MAX; 0: all are zero. */
size_t vector_encode(const uint64_t *value, size_t count, uint8_t *bytes);

/*
 * Add an encoded vector to `count` values; sums end at UINT64_MAX.  Returns 0; or -EBADMSG if the bytes are not a
 * vector of at most `count` values: nothing is added then.
 */
int vector_add(uint64_t *value, size_t count, const uint8_t *bytes, size_t size);

/* Add the values of `from` to `into`, the first one as a maximum. */
void vector_merge(uint64_t *into, const uint64_t *from, size_t count);

#endif
