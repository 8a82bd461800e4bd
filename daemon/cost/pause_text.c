/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/cost/pause_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/time.h"
#include "common/when.h"

#define LINE_MAX_LENGTH 127

static const char *const level_names[] = {
	[PAUSE_NONE] = "none",
	[PAUSE_STAGES] = "stages",
	[PAUSE_ALL] = "all",
};

const char *pause_level_name(enum pause_level level)
{
	return level_names[level];
}

/* What was read so far. */
struct draft {
	struct pause_order order;
	bool level, since, until, uid;
};

static int set_level(struct draft *draft, const char *value, enum pause_level level)
{
	if (*value || draft->level)
		return -EINVAL;
	draft->level = true;
	draft->order.level = level;
	return 0;
}

static int set_stages(struct draft *draft, const char *value)
{
	return set_level(draft, value, PAUSE_STAGES);
}

static int set_all(struct draft *draft, const char *value)
{
	return set_level(draft, value, PAUSE_ALL);
}

static int set_until(struct draft *draft, const char *value)
{
	if (draft->until)
		return -EINVAL;
	draft->until = true;
	return when_parse_rfc3339(value, &draft->order.until_ns);
}

static int set_own_until(struct draft *draft, const char *value)
{
	if (strcmp(value, "resume"))
		return set_until(draft, value);
	if (draft->until)
		return -EINVAL;
	draft->until = true;
	return 0;
}

static int set_since(struct draft *draft, const char *value)
{
	if (draft->since)
		return -EINVAL;
	draft->since = true;
	return when_parse_rfc3339(value, &draft->order.since_ns);
}

static int set_uid(struct draft *draft, const char *value)
{
	unsigned long uid;
	char *end;

	if (draft->uid || *value < '0' || *value > '9')
		return -EINVAL;
	errno = 0;
	uid = strtoul(value, &end, 10);
	if (errno || *end || uid > UINT32_MAX)
		return -EINVAL;
	draft->uid = true;
	draft->order.uid = (uint32_t)uid;
	return 0;
}

struct word {
	const char *name;
	bool own, others; /* in which file it is known */
	int (*set)(struct draft *draft, const char *value);
};

static const struct word words[] = {
	{"stages", true, true, set_stages}, {"all", true, true, set_all},
	{"until", false, true, set_until},  {"until", true, false, set_own_until},
	{"since", true, false, set_since},  {"uid", true, false, set_uid},
};

static int take_line(struct draft *draft, char *line, bool own)
{
	char *value;

	line[strcspn(line, "#")] = 0;
	for (size_t end = strlen(line); end && strchr(" \t\r", line[end - 1]); end--)
		line[end - 1] = 0;
	line += strspn(line, " \t");
	if (!*line)
		return 0;
	value = line + strcspn(line, " \t");
	if (*value)
		*value++ = 0;
	value += strspn(value, " \t");
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if ((own ? words[i].own : words[i].others) && !strcmp(words[i].name, line))
			return words[i].set(draft, value);
	return -EINVAL;
}

static int take_text(struct draft *draft, const char *text, size_t length, bool own, char *error)
{
	for (unsigned int number = 1; length; number++) {
		const char *end = memchr(text, '\n', length);
		size_t line_length = end ? (size_t)(end - text) : length;
		char line[LINE_MAX_LENGTH + 1];

		snprintf(line, sizeof(line), "%.*s", (int)line_length, text);
		if (line_length > LINE_MAX_LENGTH || memchr(text, 0, line_length) ||
		    take_line(draft, line, own) < 0) {
			snprintf(
				error, PAUSE_ERROR_MAX,
				"line %u: must be stages, all, or until and a time such as 2026-11-25T03:00:00+01:00, each once",
				number);
			return -EINVAL;
		}
		text += line_length + !!end;
		length -= line_length + !!end;
	}
	return 0;
}

int pause_text_parse(const char *text, size_t length, bool own, struct pause_order *order,
		     char error[static PAUSE_ERROR_MAX])
{
	struct draft draft = {.order.level = PAUSE_STAGES};
	int r = take_text(&draft, text, length, own, error);

	if (r < 0)
		return r;
	/* A part of netflowd's file could be a pause without an end. */
	if (own && !(draft.level && draft.since && draft.until && draft.uid)) {
		snprintf(error, PAUSE_ERROR_MAX, "it is not complete");
		return -EINVAL;
	}
	*order = draft.order;
	return 0;
}

size_t pause_text_format(const struct pause_order *order, char text[static PAUSE_TEXT_MAX])
{
	char since[TIME_TEXT_MAX], until[TIME_TEXT_MAX] = "resume";

	time_format_realtime(order->since_ns, since);
	if (order->until_ns)
		time_format_realtime(order->until_ns, until);
	return (size_t)snprintf(text, PAUSE_TEXT_MAX,
				"# netflowctl pause; netflowctl resume removes this file\n"
				"%s\nsince %s\nuntil %s\nuid %" PRIu32 "\n",
				pause_level_name(order->level), since, until, order->uid);
}
