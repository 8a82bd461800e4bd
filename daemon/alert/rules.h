/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rule files: the shipped ones, which are part of the program, and all *.conf of a directory, in the
 * order of their names.  A file of the directory replaces the shipped one of the same name; an empty file
 * removes its rules.  A rule of the directory replaces the shipped one of the same name.  A file is INI with a
 * section [alert NAME] for each rule; alert_keys_help() (keys.h) lists the keys.  A line that begins with blanks
 * continues the value before it.
 *
 * Rules with a mistake anywhere are not used: the daemon does not start with them, and a reload changes nothing.
 */
#ifndef DAEMON_ALERT_RULES_H
#define DAEMON_ALERT_RULES_H

#include <stddef.h>

#include "common/cleanup.h"
#include "daemon/alert/rule.h"

struct names;

#define ALERT_KEY_MAX 49 /* inih cuts the name of a continued key to this length */

/* A mistake in a rule file. */
struct alert_fault {
	char *file;
	unsigned int line;	       /* 0: the fault is of the whole file, or of the directory */
	char rule[ALERT_NAME_MAX + 1]; /* empty: not in a rule */
	char key[ALERT_KEY_MAX + 1];   /* empty: not about a key */
	char *text;		       /* the mistake, and what is allowed */
};

struct alert_rules {
	struct alert_rule **rule; /* all names are different */
	size_t count;
	struct alert_fault *fault;
	size_t faults;
};

/*
 * Read the shipped files and those of `directory`, which need not exist.  `names` are the kernel's drop
 * reasons, NULL if it has none.  A file or a directory that cannot be read is a fault in the result.  Fails only with
 * -ENOMEM.  Free with alert_rules_free.
 */
int alert_rules_read(struct alert_rules **rules, const char *directory, const struct names *names);

/* Add the rules of one text; faults name it `file`.  Fails only with -ENOMEM. */
int alert_rules_parse(struct alert_rules *rules, const char *file, const char *text,
		      const struct names *names);

int alert_rules_new(struct alert_rules **rules);
void alert_rules_free(struct alert_rules **rules);
#define OWN_RULES CLEANUP(alert_rules_free)

/* "FILE:LINE: [alert NAME] key: the mistake", cut to `size` bytes. */
void alert_fault_format(const struct alert_fault *fault, char *text, size_t size);

/* Log all faults as errors. */
void alert_rules_log_faults(const struct alert_rules *rules);

#endif
