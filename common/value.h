/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values as people write them.  Settings, alert rules, options and --since read them here, so that 1h30m, 64MiB and yes
 * mean the same in each of them.
 *
 * Every reader returns 0, or -EINVAL and changes nothing if the text is no such value or exceeds `most`.
 */
#ifndef COMMON_VALUE_H
#define COMMON_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A whole number in decimal digits. */
int value_count(const char *text, uint64_t most, uint64_t *count);
/* The same with a unit, as in 64MiB or 64 MiB: B, KiB, MiB, GiB, TiB, or K, M, G and T for these.  None: bytes. */
int value_bytes(const char *text, uint64_t most, uint64_t *bytes);
/*
 * One or more numbers with their units, ns, us or µs, ms, s, min or m, h, d, each smaller than the one before: 5ms,
 * 10 min, 1h30m.  The last number may have a fraction, as in 1.5s.  Only 0 needs no unit.  In ns, rounded.
 */
int value_duration(const char *text, uint64_t most, uint64_t *ns);
/* A number that is not negative, such as 100, 0.25 or 1e6. */
int value_real(const char *text, double *number);
/* yes, on, true or 1; or no, off, false or 0. */
int value_switch(const char *text, bool *on);
/* The index of a word in a list that NULL ends; -EINVAL: it has none, and *nearest is the most similar one, or NULL. */
int value_word(const char *const *words, const char *text, const char **nearest);

/* ---- printing ---- */

#define VALUE_TEXT_MAX 32

struct value_text {
	char s[VALUE_TEXT_MAX];
};

/* Whole numbers of the largest unit that divides them, as their readers read it: "90s", "1min", "0"; "48MiB", "0". */
struct value_text value_duration_text(uint64_t ns);
struct value_text value_bytes_text(uint64_t bytes);

/* "auto, fentry or kprobe", cut to `size` bytes with the 0 at the end. */
void value_words_text(const char *const *words, char *text, size_t size);

/* How the values of a kind are written, for messages. */
#define VALUE_DURATION_FORMS "such as 250us, 5ms, 1.5s, 10min or 1h30m"

#endif
