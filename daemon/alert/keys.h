/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The keys of a rule.  Defaults, limits, parsing and help derive from the rows of one table; defaults
 * that depend on the condition are in alert_kinds (rule.c).
 */
#ifndef DAEMON_ALERT_KEYS_H
#define DAEMON_ALERT_KEYS_H

#include <stdio.h>

#include "daemon/alert/rule.h"

struct names;

#define ALERT_ERROR_MAX 384

/*
 * A rule while it is read.  `over` and `clear` are texts until the end of the section, because the
 * condition, which gives them their unit, can come after them.
 */
struct alert_draft {
	struct alert_rule *rule;
	const struct names *names; /* NULL: the kernel has no drop reasons */
	char *over, *clear;	   /* as given, or NULL */
	bool has_actions;
	unsigned int line[32]; /* of each key in the table's order; 0: not given */
};

struct alert_key;

/* Set the value of a key.  0, -EINVAL with the reason in `error` (ALERT_ERROR_MAX bytes), -ENOMEM. */
typedef int alert_setter(struct alert_draft *draft, const struct alert_key *key, const char *value,
			 char *error);

struct alert_key {
	const char *name;
	alert_setter *set;
	size_t offset;		    /* of a duration (ns) or a text in struct alert_rule */
	uint64_t least, most;	    /* of a duration (ns) or a number */
	const char *(*word)(int i); /* of a word: the i-th that can be given, NULL after the last */
	unsigned int parameter;	    /* enum alert_parameter: only for conditions that take it */
	const char *values;	    /* NULL: `least` and `most`, or `word`, say it */
	const char *initial;	    /* default, as a file would have it; NULL: see `otherwise` */
	const char *otherwise; /* without `initial`: "required", or where the default comes from */
	const char *help;      /* understandable without the other lines */
};

/* All keys, in the order in which help lists them. */
extern const struct alert_key alert_key_table[];
extern const size_t alert_key_count;

#define ALERT_KEY_VALUES_MAX 384

struct alert_key_values {
	char s[ALERT_KEY_VALUES_MAX];
};

/* The words that a key takes, NULL at the end. */
struct alert_key_words {
	const char *word[48];
};

struct alert_key_words alert_key_words(const struct alert_key *key);

/* The values that a key can have: "a duration from 1s to 1d". */
struct alert_key_values alert_key_values(const struct alert_key *key);

/* Begin a rule with the defaults of all keys.  -ENOMEM; clear the draft with alert_draft_clear. */
int alert_draft_new(struct alert_draft *draft, const char *name, const struct names *names);

/* Free what the draft owns, its rule included. */
void alert_draft_clear(struct alert_draft *draft);

/*
 * Set a key.  Returns -EINVAL if the value is refused: `error` (ALERT_ERROR_MAX bytes) then says why
 * and what is allowed, without the name of the key.  -ENOMEM.
 */
int alert_keys_set(struct alert_draft *draft, const char *key, const char *value, unsigned int line,
		   char *error);

/* Refuse keys that the rule's condition does not have.  Errors as above; `key` is the one refused. */
int alert_keys_check(const struct alert_draft *draft, const struct alert_kind *kind,
		     const char **key, char *error);

/*
 * End a rule: check what concerns several keys, and set the defaults of its condition.  Errors as
 * above; `key` is the one refused.
 */
int alert_keys_finish(struct alert_draft *draft, const char **key, char *error);

/* The line at which a key was given; 0: it was not. */
unsigned int alert_keys_line(const struct alert_draft *draft, const char *key);

/* One line for each key and each condition: meaning, values, default. */
void alert_keys_help(FILE *to);

#endif
