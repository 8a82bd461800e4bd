/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef COMMON_ARRAY_H
#define COMMON_ARRAY_H

/* Elements of an array; not of a pointer, of which the compiler warns. */
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#endif
