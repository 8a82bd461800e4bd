/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Segments of a path by name. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/array.h"
#include "common/nearest.h"
#include "daemon/core/path.h"

#define ARROW "→"
#define TOTAL "total"

/* What GetLatency calls them. */
static const struct {
	const char *name;
	enum nf_stage stage;
} short_names[] = {
	{"raise", NF_STAGE_SOFTIRQ_RAISE},
	{"softirq", NF_STAGE_SOFTIRQ_ENTRY},
};

void path_segment_format(enum nf_stage from, enum nf_stage to, char text[static PATH_SEGMENT_MAX])
{
	snprintf(text, PATH_SEGMENT_MAX, "%s" ARROW "%s", path_stage_name(from),
		 path_stage_name(to));
}

/* Whether some path has one after the other. */
static bool possible(enum nf_stage from, enum nf_stage to)
{
	if (from == NF_STAGE_SOFTIRQ_RAISE && to == NF_STAGE_IRQ)
		return true;
	if (from > NF_STAGE_RECEIVE && from <= NF_STAGE_COPY && to > NF_STAGE_COPY)
		return false;
	return from < to;
}

static int find_stage(const char *name, size_t length, enum nf_stage *stage)
{
	for (size_t i = 0; i < ARRAY_SIZE(short_names); i++)
		if (strlen(short_names[i].name) == length &&
		    !memcmp(short_names[i].name, name, length)) {
			*stage = short_names[i].stage;
			return 0;
		}
	for (int i = 0; i < NF_STAGE_COUNT; i++) {
		const char *one = path_stage_name((enum nf_stage)i);

		if (strlen(one) == length && !memcmp(one, name, length)) {
			*stage = (enum nf_stage)i;
			return 0;
		}
	}
	return -ENOENT;
}

static void find_nearest(const char *text, char best[static PATH_SEGMENT_MAX])
{
	struct nearest nearest;
	char name[PATH_SEGMENT_MAX];

	best[0] = '\0';
	nearest_init(&nearest, text);
	nearest_consider(&nearest, TOTAL);
	if (nearest.best)
		strcpy(best, TOTAL);
	for (int from = 0; from < NF_STAGE_COUNT; from++)
		for (int to = 0; to < NF_STAGE_COUNT; to++) {
			if (!possible((enum nf_stage)from, (enum nf_stage)to))
				continue;
			path_segment_format((enum nf_stage)from, (enum nf_stage)to, name);
			nearest_consider(&nearest, name);
			if (nearest.best == name) {
				strcpy(best, name);
				nearest.best = best;
			}
		}
}

int path_segment_parse(struct path_segment *segment, const char *text,
		       char nearest[static PATH_SEGMENT_MAX])
{
	const char *arrow = strstr(text, ARROW), *after = arrow ? arrow + strlen(ARROW) : NULL;
	char normal[128];
	enum nf_stage from, to;

	if (!strcmp(text, TOTAL)) {
		*segment = (struct path_segment){.total = true};
		return 0;
	}
	if (!arrow && (arrow = strstr(text, "->")))
		after = arrow + 2;
	if (arrow && !find_stage(text, (size_t)(arrow - text), &from) &&
	    !find_stage(after, strlen(after), &to) && possible(from, to)) {
		*segment = (struct path_segment){.from = from, .to = to};
		return 0;
	}
	if (arrow)
		snprintf(normal, sizeof(normal), "%.*s" ARROW "%s", (int)(arrow - text), text,
			 after);
	find_nearest(arrow ? normal : text, nearest);
	return -EINVAL;
}

/* When the path passed a stage; false when it did not. */
static bool passed(const struct path *path, enum nf_stage stage, uint64_t *time_ns)
{
	for (size_t i = 0; i < path->count; i++)
		if (path->stage[i].stage == stage) {
			*time_ns = path->stage[i].time_ns;
			return true;
		}
	return false;
}

bool path_segment_time(const struct path *path, const struct path_segment *segment, uint64_t *ns)
{
	uint64_t from, to;

	if (segment->total) {
		*ns = path->total_ns;
		return true;
	}
	if (!passed(path, segment->from, &from) || !passed(path, segment->to, &to) || to < from)
		return false;
	*ns = to - from;
	return true;
}
