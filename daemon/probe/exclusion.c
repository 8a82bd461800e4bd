/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/probe/exclusion.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEPARATORS ", \t"

/* What ends a string of the kernel's filters, or is a sign in its patterns; devices do not need them. */
#define FORBIDDEN "\"'\\![]/"

static bool is_pattern(const char *name)
{
	return strpbrk(name, "*?") != NULL;
}

__attribute__((format(printf, 2, 3))) static int refuse(char *error, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(error, EXCLUSION_ERROR_MAX, format, list);
	va_end(list);
	return -EINVAL;
}

static int add(struct exclusion *exclusion, const char *name, size_t length, char *error)
{
	int shown = length > 60 ? 60 : (int)length;

	for (size_t i = 0; i < length; i++)
		if (name[i] <= ' ' || name[i] > '~' || strchr(FORBIDDEN, name[i]))
			return refuse(
				error,
				"a name has a character that it cannot have: quotes, \\ ! [ ] /, control characters and others than ASCII; replace it with ?");
	if (length >= NF_DEVICE_NAME)
		return refuse(
			error,
			"%.*s is not the name of a device: names have at most %d characters; shorten it with *",
			shown, name, NF_DEVICE_NAME - 1);
	if (strspn(name, "*") >= length)
		return refuse(
			error,
			"%.*s excludes all devices, so that nothing is left to follow; name those to exclude",
			shown, name);
	if (exclusion->names == EXCLUSION_NAMES)
		return refuse(error, "more than %d names; name fewer, with patterns such as veth*",
			      EXCLUSION_NAMES);
	memcpy(exclusion->name[exclusion->names++], name, length);
	return 0;
}

int exclusion_parse(struct exclusion *exclusion, const char *text,
		    char error[static EXCLUSION_ERROR_MAX])
{
	struct exclusion fresh = {};

	for (;;) {
		size_t length;
		int r;

		text += strspn(text, SEPARATORS);
		length = strcspn(text, SEPARATORS);
		if (!length)
			break;
		r = add(&fresh, text, length, error);
		if (r < 0)
			return r;
		text += length;
	}
	*exclusion = fresh;
	return 0;
}

void exclusion_format(const struct exclusion *exclusion, char text[static EXCLUSION_TEXT_MAX])
{
	size_t used = 0;

	text[0] = 0;
	for (uint64_t i = 0; i < exclusion->names; i++)
		used += (size_t)snprintf(text + used, EXCLUSION_TEXT_MAX - used, "%s%s",
					 i ? ", " : "", exclusion->name[i]);
}

/* The kernel has no "does not match", but a `!` before a bracket; so has 5.10. */
static void print_names(const struct exclusion *exclusion, const char *device, FILE *to)
{
	for (uint64_t i = 0; i < exclusion->names; i++)
		fprintf(to, is_pattern(exclusion->name[i]) ? "%s!(%s ~ \"%s\")" : "%s%s != \"%s\"",
			i ? " && " : "", device, exclusion->name[i]);
}

int exclusion_filter(const struct exclusion *exclusion, const char *device, const char *other,
		     char **filter)
{
	bool excludes = device && exclusion && exclusion->names;
	char *text = NULL;
	size_t size;
	FILE *to;

	*filter = NULL;
	if (!excludes && !other)
		return 0;
	to = open_memstream(&text, &size);
	if (!to)
		return -ENOMEM;
	if (excludes && other)
		fprintf(to, "(%s) && ", other);
	else if (other)
		fputs(other, to);
	if (excludes)
		print_names(exclusion, device, to);
	if (fclose(to) != 0) {
		free(text);
		return -ENOMEM;
	}
	*filter = text;
	return 0;
}
