/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/ask/classes.h"

#include <string.h>

const char *const classes_names[] = {"fault", "unknown", "policy", "benign", NULL};

bool classes_are_all(const struct arguments *arguments)
{
	return !arguments->faults && !arguments->classes;
}

bool classes_take(const struct arguments *arguments, const char *name)
{
	if (classes_are_all(arguments) || (arguments->faults && !strcmp(name, classes_names[0])))
		return true;
	return arguments->classes && arguments_have_word(arguments->classes, name);
}

json_t *classes_parameter(const struct arguments *arguments)
{
	json_t *list = classes_are_all(arguments) ? NULL : json_array();

	for (const char *const *name = classes_names; list && *name; name++)
		if (classes_take(arguments, *name))
			json_array_append_new(list, json_string(*name));
	return list;
}
