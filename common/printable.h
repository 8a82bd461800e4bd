/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text of unknown origin as one line of printable ASCII. */
#ifndef COMMON_PRINTABLE_H
#define COMMON_PRINTABLE_H

/*
 * Replace every byte of `text` that is not printable ASCII by "?", in place.  Libraries quote parts of their input in
 * their errors, which may be any bytes: a line feed, or half a character of UTF-8.
 */
void printable_ascii(char *text);

#endif
