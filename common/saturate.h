/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums that end at the largest number: of times that can be "never", and of numbers that a damaged file may have. */
#ifndef COMMON_SATURATE_H
#define COMMON_SATURATE_H

#include <stdint.h>

static inline uint64_t add_saturated(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

#endif
