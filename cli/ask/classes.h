/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The classes of drops that a command line asks for: --class and --faults. */
#ifndef CLI_ASK_CLASSES_H
#define CLI_ASK_CLASSES_H

#include <stdbool.h>

#include <jansson.h>

#include "cli/ask/arguments.h"

/* Their names, fault first, NULL at the end: the order of lists. */
extern const char *const classes_names[];

/* The names as an array, which the caller owns; NULL: all classes, or no memory. */
json_t *classes_parameter(const struct arguments *arguments);

/* Whether it asks for drops of this class. */
bool classes_take(const struct arguments *arguments, const char *name);

/* Whether it asks for all classes. */
bool classes_are_all(const struct arguments *arguments);

#endif
