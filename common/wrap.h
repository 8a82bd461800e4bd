/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text broken into lines, for help and generated files. */
#ifndef COMMON_WRAP_H
#define COMMON_WRAP_H

#include <stddef.h>
#include <stdio.h>

/*
 * Write `text`, broken at blanks so that no line is wider than `width` characters of UTF-8; a longer word has a line of
 * its own.  `column` characters are already on the first line.  Each further line begins with `prefix`.  A newline ends
 * the last line.
 */
void wrap_text(FILE *to, const char *text, size_t column, const char *prefix, size_t width);

#endif
