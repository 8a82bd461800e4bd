/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/segment_name.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/array.h"

#define ARROW "→"
#define JOINT "_to_"

static const struct {
	const char *direction, *name;
} totals[] = {{"rx", "rx_total"}, {"fwd", "forward_total"}, {"tx", "tx_total"}};

/* Segments with a name of their own. */
static const struct {
	const char *from, *to, *name;
} own_names[] = {{"receive", "gap_filled", "gap_wait"}};

static const struct {
	const char *stage, *name;
} short_names[] = {{"softirq_raise", "raise"}, {"softirq_entry", "softirq"}};

/* One of the two halves; not ended by a 0. */
struct half {
	const char *text;
	int length;
};

static bool is_stage(struct half half, const char *stage)
{
	return strlen(stage) == (size_t)half.length &&
	       !strncasecmp(stage, half.text, (size_t)half.length);
}

static struct half shorten(struct half half)
{
	for (size_t i = 0; i < ARRAY_SIZE(short_names); i++)
		if (is_stage(half, short_names[i].stage))
			return (struct half){short_names[i].name, (int)strlen(short_names[i].name)};
	return half;
}

static struct segment_text join(struct half from, struct half to)
{
	struct segment_text name;

	for (size_t i = 0; i < ARRAY_SIZE(own_names); i++) {
		if (!is_stage(from, own_names[i].from) || !is_stage(to, own_names[i].to))
			continue;
		snprintf(name.s, sizeof(name.s), "%s", own_names[i].name);
		return name;
	}
	from = shorten(from);
	to = shorten(to);
	snprintf(name.s, sizeof(name.s), "%.*s" JOINT "%.*s", from.length, from.text, to.length,
		 to.text);
	return name;
}

struct segment_text segment_name_join(const char *from, const char *to)
{
	return join((struct half){from, (int)strlen(from)}, (struct half){to, (int)strlen(to)});
}

const char *segment_name_total(const char *direction)
{
	for (size_t i = 0; i < ARRAY_SIZE(totals); i++)
		if (!strcmp(totals[i].direction, direction))
			return totals[i].name;
	return SEGMENT_NAME_TOTAL;
}

bool segment_name_is_total(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(totals); i++)
		if (!strcmp(totals[i].name, name))
			return true;
	return false;
}

/* The direction that `text` begins with, and `text` moved behind it and the blanks; or NULL. */
static const char *skip_direction(const char **text)
{
	for (size_t i = 0; i < ARRAY_SIZE(totals); i++) {
		size_t length = strlen(totals[i].direction);

		if (strncasecmp(*text, totals[i].direction, length) || (*text)[length] != ' ')
			continue;
		*text += length;
		*text += strspn(*text, " ");
		return totals[i].direction;
	}
	return NULL;
}

/* Where the first stage ends, and the length of what separates it from the second; or NULL. */
static const char *find_joint(const char *text, size_t *length)
{
	static const char *const joints[] = {ARROW, "->", JOINT};

	for (size_t i = 0; i < ARRAY_SIZE(joints); i++) {
		const char *joint = strcasestr(text, joints[i]);

		*length = strlen(joints[i]);
		if (joint)
			return joint;
	}
	return NULL;
}

struct segment_text segment_name_read(const char *text)
{
	const char *direction = skip_direction(&text), *joint;
	struct segment_text name;
	size_t length;

	if (direction && !strcasecmp(text, SEGMENT_NAME_TOTAL))
		text = segment_name_total(direction);
	joint = find_joint(text, &length);
	if (joint) {
		const char *after = joint + length;

		return join((struct half){text, (int)(joint - text)},
			    (struct half){after, (int)strlen(after)});
	}
	snprintf(name.s, sizeof(name.s), "%s", text);
	return name;
}

struct segment_text segment_name_text(const char *name)
{
	const char *joint = strstr(name, JOINT);
	struct segment_text text;

	if (joint)
		snprintf(text.s, sizeof(text.s), "%.*s" ARROW "%s", (int)(joint - name), name,
			 joint + strlen(JOINT));
	else
		snprintf(text.s, sizeof(text.s), "%s",
			 segment_name_is_total(name) ? SEGMENT_NAME_TOTAL : name);
	return text;
}
