/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hashes for tables in memory: never written to a file.  Their high bits are the best ones.  Keys that a stranger
 * chooses need a random hash to begin with.
 */
#ifndef COMMON_HASH_H
#define COMMON_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Fibonacci hashing: 2^64 divided by the golden ratio. */
#define HASH_FACTOR UINT64_C(0x9e3779b97f4a7c15)

/* The hash of all that `hash` stands for, and of a word. */
static inline uint64_t hash_word(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * HASH_FACTOR;
	return hash ^ hash >> 29;
}

/* The same for bytes, padding included; `size` is a multiple of 8. */
static inline uint64_t hash_words(uint64_t hash, const void *words, size_t size)
{
	for (size_t i = 0; i < size; i += sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, (const char *)words + i, sizeof(word));
		hash = hash_word(hash, word);
	}
	return hash;
}

static inline uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = hash_word(hash, (unsigned char)*text);
	return hash;
}

#endif
