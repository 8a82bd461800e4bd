/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text on its way to a terminal: how wide it is, and nothing in it that the
 * terminal would obey.  Names that come from the kernel (of tasks, of devices)
 * are anybody's choice, so all text passes through here.
 */
#ifndef CLI_TERMINAL_TEXT_H
#define CLI_TERMINAL_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * `text` as it may be printed; the caller frees it; NULL when out of memory.
 * Control characters, what is not UTF-8, and what would change the direction of
 * the text become \xNN, byte by byte.  Without `utf8` the few characters that
 * this program uses itself become ASCII (µ u, → ->, … ...), all others \xNN.
 */
char *text_printable(const char *text, bool utf8);

/* Columns that printable text takes. */
size_t text_width(const char *printable);

/* Bytes of the longest beginning of printable text that takes no more than `columns`. */
size_t text_fit(const char *printable, size_t columns);

/*
 * Printable text cut to at most `columns`, its last one then "…" (or "~"
 * without `utf8`); what fits is only copied.  The caller frees it; NULL when
 * out of memory.
 */
char *text_cut(const char *printable, size_t columns, bool utf8);

#endif
