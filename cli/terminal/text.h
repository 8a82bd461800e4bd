/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text for a terminal: its width, and a form of it without characters that the terminal would obey.  All text passes
 * through here, because users choose the names of tasks, and of devices in network namespaces of their own.
 */
#ifndef CLI_TERMINAL_TEXT_H
#define CLI_TERMINAL_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * The printable form of `text`, which the caller frees; NULL when out of memory.  Each byte of a control character, of
 * invalid UTF-8, and of a mark that changes the direction of text becomes \xNN.  Without `utf8`, the few characters
 * that netflowctl itself uses become ASCII (µ u, → ->, … ...), and each byte of any other becomes \xNN.
 */
char *text_printable(const char *text, bool utf8);

/* Format as vprintf() does, then do text_printable(). */
char *text_format(bool utf8, const char *format, va_list list)
	__attribute__((format(printf, 2, 0)));

/* The width of printable text in columns. */
size_t text_width(const char *printable);

/* The length in bytes of the longest beginning of printable text that fits into `columns`. */
size_t text_fit(const char *printable, size_t columns);

/*
 * A copy of printable text, cut to at most `columns`.  If it was cut, it ends with "…", or with "~" without `utf8`.
 * The caller frees it; NULL when out of memory.
 */
char *text_cut(const char *printable, size_t columns, bool utf8);

#endif
