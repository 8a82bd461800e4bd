/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/show/groups.h"

#include <errno.h>
#include <string.h>

#include "cli/ask/field.h"
#include "cli/show/segment.h"
#include "cli/show/timeline.h"
#include "common/array.h"
#include "common/segment_name.h"

static const struct {
	const char *member;
	double quantile;
} quantiles[] = {{"p50_ns", 0.5}, {"p90_ns", 0.9}, {"p99_ns", 0.99}, {"p999_ns", 0.999}};

static int set_number(json_t *object, const char *name, uint64_t value)
{
	json_int_t number = value < INT64_MAX ? (json_int_t)value : INT64_MAX;

	return json_object_set_new(object, name, json_integer(number)) ? -ENOMEM : 0;
}

/* ---- durations of records -------------------------------------------------- */

struct group {
	char *key; /* "comm[pid]" or the cgroup's path; NULL if it is not known */
	const char *direction;
	char *segment;
	size_t order; /* segments are listed in the order of their first record, the total last */
	uint64_t *durations;
	size_t count;
	size_t size;
};

struct groups {
	struct group *at;
	size_t count;
};

static void groups_free(struct groups *groups)
{
	for (size_t i = 0; i < groups->count; i++) {
		free(groups->at[i].key);
		free(groups->at[i].segment);
		free(groups->at[i].durations);
	}
	free(groups->at);
}

#define OWN_GROUPS CLEANUP(groups_free)

static bool same_key(const char *one, const char *other)
{
	return one && other ? !strcmp(one, other) : one == other;
}

static struct group *find_group(struct groups *groups, const char *key, const char *direction,
				const char *segment)
{
	struct group *more, new = {.direction = direction};

	for (size_t i = 0; i < groups->count; i++)
		if (!strcmp(groups->at[i].segment, segment) &&
		    !strcmp(groups->at[i].direction, direction) && same_key(groups->at[i].key, key))
			return &groups->at[i];
	more = reallocarray(groups->at, groups->count + 1, sizeof(*more));
	if (!more)
		return NULL;
	groups->at = more;
	new.key = key ? strdup(key) : NULL;
	new.segment = strdup(segment);
	if (!new.segment || (key && !new.key)) {
		free(new.key);
		free(new.segment);
		return NULL;
	}
	new.order = segment_name_is_total(segment) ? SIZE_MAX : groups->count;
	groups->at[groups->count] = new;
	return &groups->at[groups->count++];
}

static int add_duration(struct groups *groups, const char *key, const char *direction,
			const char *segment, uint64_t duration_ns)
{
	struct group *group = find_group(groups, key, direction, segment);

	if (!group || ARRAY_GROW(group->durations, group->count, group->size))
		return -ENOMEM;
	group->durations[group->count++] = duration_ns;
	return 0;
}

/* The group of a record: "comm[pid]" or the cgroup's path, which the caller frees; NULL if it is not known. */
static char *key_of(const json_t *record, const char *by)
{
	const json_t *task = json_object_get(record, "task");
	const char *cgroup = field_text_or(json_object_get(record, "owner"), "cgroup", NULL);
	char *key = NULL;

	if (!strcmp(by, "cgroup"))
		return cgroup ? strdup(cgroup) : NULL;
	if (!json_is_object(task) || asprintf(&key, "%s[%s]", field_text(task, "comm"),
					      field_units_number(task, "pid").s) < 0)
		return NULL;
	return key;
}

/*
 * The total of a direction, as its histogram has it: a packet that leaves through a device has
 * left at xmit, while its record may go on until the driver frees it.
 */
static bool total_of(const json_t *record, const char *direction, uint64_t *total_ns)
{
	const char *last = strcmp(direction, "rx") ? "xmit" : "copy";
	const json_t *stage;
	size_t i;

	json_array_foreach(json_object_get(record, "stages"), i, stage)
	{
		if (!strcmp(field_text(stage, "stage"), last))
			return field_count(stage, "at_ns", total_ns);
	}
	return false;
}

static int add_record(struct groups *groups, const json_t *record, const char *by)
{
	OWN_FREE char *key = key_of(record, by);
	const char *direction = timeline_direction(record);
	uint64_t total_ns;
	const json_t *time;
	size_t i;

	json_array_foreach(json_object_get(record, "times"), i, time)
	{
		struct segment_text segment =
			segment_name_join(field_text(time, "from"), field_text(time, "to"));
		int r = add_duration(groups, key, direction, segment.s,
				     field_count_or(time, "duration_ns", 0));

		if (r)
			return r;
	}
	if (!field_true(record, "comparable") || !total_of(record, direction, &total_ns))
		return 0;
	return add_duration(groups, key, direction, segment_name_total(direction), total_ns);
}

static int by_duration(const void *one, const void *other)
{
	uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

	return a < b ? -1 : a > b;
}

/* The quantile by the nearest-rank method; the durations are sorted. */
static uint64_t quantile_of(const struct group *group, double quantile)
{
	size_t rank = (size_t)(quantile * (double)group->count);

	if ((double)rank < quantile * (double)group->count)
		rank++;
	return group->durations[rank ? rank - 1 : 0];
}

static json_t *group_json(struct group *group, const char *by)
{
	double sum = 0;
	json_t *json;

	qsort(group->durations, group->count, sizeof(*group->durations), by_duration);
	for (size_t i = 0; i < group->count; i++)
		sum += (double)group->durations[i];
	json = json_pack("{s:s?, s:s, s:s, s:I, s:f, s:I}", by, group->key, "direction",
			 group->direction, "segment", group->segment, "count",
			 (json_int_t)group->count, "mean_ns", sum / (double)group->count, "max_ns",
			 (json_int_t)group->durations[group->count - 1]);
	for (size_t i = 0; i < ARRAY_SIZE(quantiles); i++)
		set_number(json, quantiles[i].member, quantile_of(group, quantiles[i].quantile));
	return json;
}

/* Sort by the group's name, unknown groups last, then by direction and the order of segments. */
static int by_key(const void *one, const void *other)
{
	const struct group *a = one, *b = other;
	int order;

	if (!a->key || !b->key)
		order = !a->key - !b->key;
	else
		order = strcmp(a->key, b->key);
	if (!order)
		order = strcmp(a->direction, b->direction);
	return order ? order : (a->order > b->order) - (a->order < b->order);
}

int groups_of_records(const json_t *records, const char *by, json_t **groups)
{
	OWN_GROUPS struct groups collected = {};
	json_t *array = json_array();
	const json_t *record;
	size_t i;
	int r = array ? 0 : -ENOMEM;

	json_array_foreach(records, i, record)
	{
		if (!r)
			r = add_record(&collected, record, by);
	}
	if (collected.count)
		qsort(collected.at, collected.count, sizeof(*collected.at), by_key);
	for (i = 0; !r && i < collected.count; i++)
		if (json_array_append_new(array, group_json(&collected.at[i], by)))
			r = -ENOMEM;
	if (r) {
		json_decref(array);
		return r;
	}
	*groups = array;
	return 0;
}
