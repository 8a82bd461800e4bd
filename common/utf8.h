/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text from outside, such as names of devices, can have any bytes; JSON and metrics must be UTF-8. */
#ifndef COMMON_UTF8_H
#define COMMON_UTF8_H

#include <stddef.h>

/* What stands for a byte that is not part of a valid character: U+FFFD. */
#define UTF8_REPLACEMENT "\xef\xbf\xbd"

/* The length, 1 to 4 bytes, of the character at `bytes`, of which there are `len` > 0; 0 if there is no valid one. */
size_t utf8_bytes(const char *bytes, size_t len);

#endif
