/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/store/labels.h"

#include <errno.h>
#include <search.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct label {
	size_t holders;
	char text[];
};

struct labels {
	void *tree; /* of struct label, by text; see tsearch(3) */
	size_t count;
};

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct label *)a)->text, ((const struct label *)b)->text);
}

static struct label *label_of(const char *text)
{
	return (struct label *)(text - offsetof(struct label, text));
}

int labels_new(struct labels **labels)
{
	struct labels *fresh = calloc(1, sizeof(*fresh));

	if (!fresh)
		return -ENOMEM;
	*labels = fresh;
	return 0;
}

void labels_free(struct labels **labels)
{
	if (!*labels)
		return;
	tdestroy((*labels)->tree, free);
	free(*labels);
	*labels = NULL;
}

const char *labels_hold(struct labels *labels, const char *text)
{
	size_t size = text ? strlen(text) + 1 : 0;
	struct label *fresh = text ? malloc(sizeof(*fresh) + size) : NULL, **found;

	if (!fresh)
		return NULL;
	fresh->holders = 1;
	memcpy(fresh->text, text, size);
	found = tsearch(fresh, &labels->tree, compare);
	if (!found || *found != fresh)
		free(fresh);
	else
		labels->count++;
	if (!found)
		return NULL;
	if (*found != fresh)
		(*found)->holders++;
	return (*found)->text;
}

void labels_release(struct labels *labels, const char *label)
{
	struct label *held = label ? label_of(label) : NULL;

	if (!held || --held->holders)
		return;
	tdelete(held, &labels->tree, compare);
	free(held);
	labels->count--;
}

size_t labels_count(const struct labels *labels)
{
	return labels->count;
}
