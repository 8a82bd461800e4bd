/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arrays: their size, room for more elements, the order of elements, and a search in a sorted one. */
#ifndef COMMON_ARRAY_H
#define COMMON_ARRAY_H

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

/* Elements of an array.  The compiler warns if the argument is a pointer. */
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* The order of two numbers, for qsort(3): -1, 0 or 1.  Evaluates both twice. */
#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

/*
 * Make sure that an array on the heap has room for one element more than `count`: when `count` has reached `room`,
 * double the room, or start with 16 elements.  `array` and `room` are variables of the caller; both stay as they are on
 * failure.  Returns 0 or -ENOMEM.
 */
#define ARRAY_GROW(array, count, room)                                               \
	({                                                                           \
		int grow_result_ = 0;                                                \
		if ((count) == (room)) {                                             \
			size_t grow_room_ = (room) ? 2 * (size_t)(room) : 16;        \
			__typeof__(array) grow_array_ =                              \
				reallocarray((array), grow_room_, sizeof(*(array))); \
			if (grow_array_) {                                           \
				(array) = grow_array_;                               \
				(room) = grow_room_;                                 \
			} else {                                                     \
				grow_result_ = -ENOMEM;                              \
			}                                                            \
		}                                                                    \
		grow_result_;                                                        \
	})

/*
 * The index of the first of `count` elements that is not below the wanted one; `count` if all are.  `below` is an
 * expression about `element`, a pointer to const that this macro declares, and must be true for the first elements and
 * false for all that follow.  Binary search, so it is evaluated about log2(count) times:
 *
 *   LOWER_BOUND(entry, list->entries, list->count, entry->number < number)
 */
#define LOWER_BOUND(element, array, count, below)                                             \
	({                                                                                    \
		const __typeof__((array)[0]) *bound_array_ = (array);                         \
		size_t bound_low_ = 0, bound_high_ = (count);                                 \
		while (bound_low_ < bound_high_) {                                            \
			size_t bound_middle_ = bound_low_ + (bound_high_ - bound_low_) / 2;   \
			const __typeof__((array)[0]) *element = bound_array_ + bound_middle_; \
			if (below)                                                            \
				bound_low_ = bound_middle_ + 1;                               \
			else                                                                  \
				bound_high_ = bound_middle_;                                  \
		}                                                                             \
		bound_low_;                                                                   \
	})

#endif
