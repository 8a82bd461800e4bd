/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What netflowd makes of a drop: its reason, whose class and function.  All readers of drops (filters, JSON, metrics,
 * alerts, the history) use a verdict, so that they agree; none of them infers by itself.  Pure, and without a lock:
 * any thread may call this.
 */
#ifndef DAEMON_CORE_VERDICT_H
#define DAEMON_CORE_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/knowledge.h"
#include "daemon/core/infer.h"

struct verdict {
	const char *reason;	    /* the kernel's own, or inferred; NULL: not known */
	bool inferred;		    /* `reason` is not what the kernel said */
	bool message;		    /* the skb was not a packet: not a drop */
	enum knowledge_class class; /* KNOWLEDGE_UNKNOWN: nothing says what it is */
	const struct knowledge
		*knowledge;	       /* of `reason`; NULL: no entry, or a record of the past */
	const struct knowledge *place; /* of the function; NULL: there is no entry */
	/* The cases that the evidence leaves, if they are of several reasons. */
	const struct knowledge_case *candidate[KNOWLEDGE_CASES_MAX];
	size_t candidates;
	/* The name that the newest kernel has for it, otherwise that of this one; "": not known. */
	char function[INFER_FUNCTION_MAX];
};

/*
 * `location`: as symbols_format() writes it; NULL: not known.  `reason`: the kernel's own name, which the verdict
 * borrows; NULL: the kernel gave none.  `evidence`: as in struct nf_drop_key; 0: none was read.
 */
void verdict_of(struct verdict *verdict, const char *location, const char *reason,
		uint64_t evidence);

/*
 * A comparison for qsort(): the class that deserves attention first comes first.  0: both say the same of a drop,
 * whatever its place and function are.
 */
int verdict_compare(const struct verdict *a, const struct verdict *b);

/* Which class comes first in lists: 0 fault, 1 unknown, 2 policy, 3 benign. */
int verdict_rank(enum knowledge_class class);

/* A set of classes: a bit for each. */
#define VERDICT_CLASS_BIT(class) (1U << (class))
#define VERDICT_CLASSES_ALL (VERDICT_CLASS_BIT(KNOWLEDGE_CLASSES) - 1)

#endif
