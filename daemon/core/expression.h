/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The words of a tcpdump expression, told apart as libpcap's scanner does
 * (scanner.l), so that it can be said before libpcap sees it what it would look
 * up by name, and afterwards where it stopped.
 */
#ifndef DAEMON_CORE_EXPRESSION_H
#define DAEMON_CORE_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPRESSION_LENGTH_MAX 4096 /* bytes, without the 0 at the end */

/*
 * libpcap's compiler takes time with the square of what it makes of an
 * expression.  With these bounds it is less than 0.1 s.
 */
#define EXPRESSION_WORDS_MAX 512
#define EXPRESSION_TERMS_MAX 64 /* what stands between two of "and" and "or" */

enum expression_kind {
	EXPRESSION_KEYWORD,
	EXPRESSION_VALUE, /* a number, a network or link address */
	EXPRESSION_RANGE, /* two decimal numbers: "80-90" */
	EXPRESSION_NAME,  /* any other word */
	EXPRESSION_MARK,  /* what is not a word */
};

struct expression_word {
	uint16_t offset;
	uint16_t length;
	uint16_t kind; /* enum expression_kind */
};

struct expression {
	const char *text;
	size_t count;
	struct expression_word words[EXPRESSION_WORDS_MAX];
};

/*
 * Split `text`, which must live as long as `expression`.  -E2BIG: it is longer,
 * or has more words or terms, than the bounds above allow.
 */
int expression_split(struct expression *expression, const char *text);

/* Whether `keyword` is one of the words. */
bool expression_has(const struct expression *expression, const char *keyword);

/*
 * The first word that libpcap would give to the resolver (a host, network,
 * service or protocol by name), as its index; `count` when there is none.
 */
size_t expression_unresolved(const struct expression *expression);

/*
 * The keyword nearest to the mistyped word `index`; NULL when none is near, or
 * when a value is what must stand there.
 */
const char *expression_nearest(const struct expression *expression, size_t index);

#endif
