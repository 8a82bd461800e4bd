/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The words of a tcpdump expression, split as libpcap's scanner (scanner.l) splits them.  They show, before libpcap
 * sees the expression, which of them it would look up by name, and afterwards at which of them it stopped.
 */
#ifndef DAEMON_CORE_EXPRESSION_H
#define DAEMON_CORE_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPRESSION_LENGTH_MAX 4096 /* bytes, without the 0 at the end */

/*
 * The time that libpcap's compiler needs grows with the square of the code that it generates.  With these limits it is
 * less than 25 ms on a slow CPU, for which other clients wait.
 */
#define EXPRESSION_WORDS_MAX 512
#define EXPRESSION_TERMS_MAX \
	48 /* parts that "and" or "or" joins; one with a range of ports counts twice */

enum expression_kind {
	EXPRESSION_KEYWORD,
	EXPRESSION_VALUE, /* a number, a network or link address */
	EXPRESSION_RANGE, /* two decimal numbers: "80-90" */
	EXPRESSION_NAME,  /* any other word */
	EXPRESSION_MARK,  /* anything that is not a word */
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

/* Split `text`, which must outlive `expression`.  -E2BIG: the text exceeds one of the limits above. */
int expression_split(struct expression *expression, const char *text);

/* Whether `keyword` is one of the words. */
bool expression_has(const struct expression *expression, const char *keyword);

/*
 * The index of the first word that libpcap would pass to the resolver (a host, network, service or protocol by name);
 * `count` if there is none.
 */
size_t expression_unresolved(const struct expression *expression);

/*
 * The keyword nearest to the mistyped word `index`; NULL if none is near, or if a value must follow the word before it.
 */
const char *expression_nearest(const struct expression *expression, size_t index);

#endif
