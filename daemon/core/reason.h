/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A drop reason that a filter or a rule asks for: by its name, as drops show it, whether the kernel gave it or netflowd
 * inferred it; or by its number, as the kernel gave it.
 */
#ifndef DAEMON_CORE_REASON_H
#define DAEMON_CORE_REASON_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/core/names.h"

struct cause;

struct reason_wanted {
	char name[NAMES_LENGTH_MAX + 1]; /* "": by number */
	uint32_t number;
};

/*
 * Read a name of the running kernel or of the knowledge, with or without its prefix, in upper or lower case; or a
 * number.  `names` NULL: the kernel has no reasons, and no number has a meaning.  -ENOENT: `nearest` is then the name
 * nearest to the text, or NULL.
 */
int reason_read(struct reason_wanted *wanted, const struct names *names, const char *text,
		const char **nearest);

/* Whether a drop of this cause has the reason. */
bool reason_takes(const struct reason_wanted *wanted, const struct cause *cause);

/* The same of a reason by its parts; `name` NULL, `numbered` false: not known. */
bool reason_is(const struct reason_wanted *wanted, const char *name, bool numbered,
	       uint32_t number);

#endif
