/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The keys of a rule: one table gives the reading, the limits and the help. */
#ifndef DAEMON_ALERT_KEYS_H
#define DAEMON_ALERT_KEYS_H

#include <stdio.h>

#include "daemon/alert/rule.h"

struct names;

#define ALERT_ERROR_MAX 384

/* A rule on its way from a file: values whose unit depends on the kind wait for the end. */
struct alert_draft {
	struct alert_rule *rule;
	const struct names *names; /* NULL: the kernel has no drop reasons */
	char *over, *clear;	   /* as given, or NULL */
	bool has_quantile, has_at_least, has_actions;
	unsigned int given;    /* enum alert_parameter */
	unsigned int line[32]; /* of each key in the table's order, 0 = not given */
};

/* Free what the draft owns, its rule included. */
void alert_draft_clear(struct alert_draft *draft);

/*
 * Set a key.  -EINVAL with `error` (ALERT_ERROR_MAX bytes) saying what is wrong
 * and what would do, the key itself left out of the text; -ENOMEM.
 */
int alert_keys_set(struct alert_draft *draft, const char *key, const char *value, unsigned int line,
		   char *error);

/* What is given and means nothing to a rule of that kind.  As above; `key` is the one to blame. */
int alert_keys_check(const struct alert_draft *draft, const struct alert_kind *kind,
		     const char **key, char *error);

/*
 * What no key alone can say, and the defaults of the rule's kind.  As above;
 * `key` is then the one to blame.
 */
int alert_keys_finish(struct alert_draft *draft, const char **key, char *error);

/* The line at which a key was given, 0 = it was not. */
unsigned int alert_keys_line(const struct alert_draft *draft, const char *key);

/* All keys, as comments of a shipped file are. */
void alert_keys_help(FILE *to);

#endif
