/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers of variable length (LEB128): seven bits in a byte, the lowest first.  Pure arithmetic. */
#ifndef DAEMON_HISTORY_VARINT_H
#define DAEMON_HISTORY_VARINT_H

#include <stddef.h>
#include <stdint.h>

#define VARINT_MAX 10 /* bytes of the longest */

/* The bytes written to `bytes`, which has room for VARINT_MAX. */
size_t varint_put(uint8_t *bytes, uint64_t value);
/* The bytes read; 0: there is no complete number of 64 bits. */
size_t varint_get(const uint8_t *bytes, size_t size, uint64_t *value);

#endif
