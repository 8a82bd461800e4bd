/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A parameter that is a list of words out of a few, such as classes of drops. */
#ifndef DAEMON_SOURCES_WORDS_H
#define DAEMON_SOURCES_WORDS_H

#include <jansson.h>

struct call;

/*
 * Read the list `key` of `parameters` into *set: bit n stands for word(n), n below `count`, which is at most 32.  *set
 * is unchanged if there is no list.  -EINVAL: the list is empty or has another word, and the call has ended with an
 * error that names the nearest one.
 */
int words_read(struct call *call, const json_t *parameters, const char *key, unsigned int count,
	       const char *(*word)(unsigned int number), unsigned int *set);

#endif
