/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names of evidence: what an skb and its socket said when they were dropped, see NF_EVIDENCE_LIST in
 * bpf/records.h.  Pure look-ups.
 */
#ifndef DAEMON_CORE_EVIDENCE_H
#define DAEMON_CORE_EVIDENCE_H

#include <stddef.h>
#include <stdint.h>

/*
 * The words of the bits that are set in `evidence`, by ascending bit; static strings.  Writes at most `max` of them
 * to `words` and returns the number written.  Bits without a name have no word.
 */
#define EVIDENCE_WORDS_MAX 64
size_t evidence_words(uint64_t evidence, const char *words[], size_t max);

/* The bits whose absence from `evidence` means something, and those that are set.  0 for 0: nothing was read. */
uint64_t evidence_readable(uint64_t evidence);

#endif
