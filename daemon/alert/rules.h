/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rule files: the shipped ones, which are part of the program, and all *.conf of
 * a directory, in the order of their names; a file of the directory replaces the
 * shipped one of its name, and an empty one takes it away.  INI, one section
 * [alert NAME] for each rule; the keys are listed by alert_keys_help() (keys.h).
 * A line that begins with blanks continues the value before it.
 *
 * A mistake costs the rule it is in and nothing else.
 */
#ifndef DAEMON_ALERT_RULES_H
#define DAEMON_ALERT_RULES_H

#include <stddef.h>

#include "daemon/alert/rule.h"

struct names;

#define ALERT_KEY_MAX 49 /* what inih tells apart */

/* What is wrong with a rule file. */
struct alert_fault {
	char *file;
	unsigned int line;	       /* 0: the whole file, or the directory */
	char rule[ALERT_NAME_MAX + 1]; /* empty: in no rule */
	char key[ALERT_KEY_MAX + 1];   /* empty: about no key */
	char *text;		       /* what is wrong, and what would do */
	bool old_runs;		       /* the rule as it was read before runs on */
};

struct alert_rules {
	struct alert_rule **rule; /* names are all different */
	size_t count;
	struct alert_fault *fault;
	size_t faults;
	bool unread; /* the directory is there and could not be read: these are the shipped rules */
};

/*
 * Read the shipped files and `directory`, which need not be there.  `names` are
 * the kernel's drop reasons, NULL where it has none.  What cannot be read is a
 * fault of the result too.  -ENOMEM only.  Free with alert_rules_free.
 */
int alert_rules_read(struct alert_rules **rules, const char *directory, const struct names *names);

/* Add the rules of one text, `file` being what it is called in faults.  -ENOMEM only. */
int alert_rules_parse(struct alert_rules *rules, const char *file, const char *text,
		      const struct names *names);

int alert_rules_new(struct alert_rules **rules);
void alert_rules_free(struct alert_rules **rules);

/* "FILE:LINE: [alert NAME] key: what is wrong", cut to `size` bytes. */
void alert_fault_format(const struct alert_fault *fault, char *text, size_t size);

#endif
