/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/show/timeline.h"

#include <string.h>

#include "cli/ask/field.h"
#include "cli/terminal/chart.h"
#include "common/segment_name.h"

#define INDENT 2
/* The longest stages, "softirq_raise" and "softirq_entry", and a gap. */
#define STAGE_WIDTH 15
#define TIME_WIDTH 10
#define SHARE_WIDTH 8
#define BAR_START (INDENT + STAGE_WIDTH + TIME_WIDTH + 1 + TIME_WIDTH + SHARE_WIDTH + 2)
#define BAR_MIN 8
#define BAR_MAX 40

const char *timeline_direction(const json_t *record)
{
	const char *outcome = field_text(record, "outcome");

	if (!strcmp(outcome, "delivered"))
		return "rx";
	return strcmp(outcome, "forwarded") ? "tx" : "fwd";
}

char *timeline_devices(const json_t *record)
{
	const json_t *devices = json_object_get(record, "devices"), *device;
	size_t i, size;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	json_array_foreach(devices, i, device)
	{
		const char *netns = field_text_or(device, "netns_name", NULL);

		fprintf(out, "%s%s%s%s", i ? " → " : "", field_text(device, "device"),
			netns ? "@" : "", netns ? netns : "");
	}
	if (field_true(record, "more_devices"))
		fprintf(out, " → …");
	if (!json_array_size(devices))
		fprintf(out, "%s", UNITS_UNKNOWN);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

/* The task that read or sent the packet, comm[pid], its container, unit or cgroup, and its pod. */
static void put_owner(struct page *page, const json_t *record)
{
	const json_t *task = json_object_get(record, "task");
	const json_t *owner = json_object_get(record, "owner");
	const char *group = field_text_or(owner, "container", NULL);
	const char *pod = field_text_or(owner, "pod", NULL);

	if (!group)
		group = field_text_or(owner, "unit", field_text_or(owner, "cgroup", NULL));
	if (json_is_object(task))
		page_put(page, PAGE_PLAIN, "  %s[%s]", field_text(task, "comm"),
			 field_units_number(task, "pid").s);
	if (group)
		page_put(page, PAGE_DIM, "  %s", group);
	if (pod)
		page_put(page, PAGE_DIM, "  pod %s", pod);
}

static void put_head(struct page *page, const json_t *record, const char *now)
{
	OWN_FREE char *devices = timeline_devices(record);
	bool slow = field_true(record, "slow");

	page_put(page, PAGE_PLAIN, "%s  ", field_time(record, "time", now).s);
	page_put(page, slow ? PAGE_BAD : PAGE_GOOD, "%s", slow ? "slow" : "sample");
	if (json_object_get(record, "one_in"))
		page_put(page, PAGE_DIM, "  1 in %s", field_units_count(record, "one_in").s);
	page_put(page, PAGE_PLAIN, "  %s in ", field_text(record, "outcome"));
	page_put(page, PAGE_TITLE, "%s", field_units_duration(record, "total_ns").s);
	page_put(page, PAGE_PLAIN, "  %s",
		 field_text_or(record, "flow", field_text(record, "protocol")));
	page_put(page, PAGE_PLAIN, "  %s  CPU %s", devices ? devices : "?",
		 field_units_number(record, "cpu").s);
	put_owner(page, record);
	page_end(page);
}

static size_t bar_width(const struct page *page)
{
	size_t columns = page_term(page)->columns;

	if (!columns)
		return BAR_MAX;
	columns = columns > BAR_START + BAR_MIN ? columns - BAR_START : BAR_MIN;
	return columns < BAR_MAX ? columns : BAR_MAX;
}

/* Put the time from the previous stage to this one: duration, share of the total, and a bar. */
static void put_time(struct page *page, const json_t *record, const json_t *time, bool dominant)
{
	uint64_t duration = field_count_or(time, "duration_ns", 0);
	uint64_t total = field_count_or(record, "total_ns", 0);
	enum page_style style = dominant ? PAGE_BAD : PAGE_PLAIN;

	page_put(page, PAGE_DIM, " +");
	page_put_right(page, style, units_duration(duration).s, TIME_WIDTH);
	page_put_right(page, style, units_share(duration, total).s, SHARE_WIDTH);
	page_put(page, dominant ? PAGE_BAD : PAGE_GOOD, "  %s",
		 chart_bar(duration, total, bar_width(page), page_term(page)->utf8).s);
}

/* Whether `dominant` is the segment of this StageTime. */
static bool is_dominant(const char *dominant, const json_t *time)
{
	return !strcmp(dominant,
		       segment_name_join(field_text(time, "from"), field_text(time, "to")).s);
}

static void put_stages(struct page *page, const json_t *record)
{
	const char *dominant = field_text(record, "dominant");
	const json_t *times = json_object_get(record, "times");
	const json_t *stage;
	size_t i;

	json_array_foreach(json_object_get(record, "stages"), i, stage)
	{
		const json_t *time = i ? json_array_get(times, i - 1) : NULL;
		bool marked = time && is_dominant(dominant, time);

		page_put(page, marked ? PAGE_BAD : PAGE_PLAIN, "%s", marked ? "* " : "  ");
		page_put(page, marked ? PAGE_BAD : PAGE_PLAIN, "%s", field_text(stage, "stage"));
		page_pad(page, INDENT + STAGE_WIDTH, 0);
		page_put_right(page, PAGE_PLAIN, field_units_duration(stage, "at_ns").s,
			       TIME_WIDTH);
		if (time)
			put_time(page, record, time, marked);
		page_end(page);
	}
}

static void put_missing(struct page *page, const json_t *record)
{
	const json_t *missing = json_object_get(record, "missing"), *one;
	OWN_FREE char *text = NULL;
	size_t i, size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return;
	json_array_foreach(missing, i, one)
		fprintf(out, "%s%s (%s)", i ? ", " : "", field_text(one, "stage"),
			field_text(one, "reason"));
	if (fclose(out) || !text)
		return;
	page_pad(page, INDENT, 0);
	page_paragraph(page, PAGE_DIM, INDENT, "total not comparable%s%s",
		       *text ? "; stages not known: " : "", text);
}

/* The drop that made this segment wait. */
static void put_missing_segment(struct page *page, const json_t *record, const char *now)
{
	const json_t *drop = json_object_get(record, "missing_segment");
	const char *device = field_text_or(drop, "device", NULL);

	if (!drop)
		return;
	page_pad(page, INDENT, 0);
	page_paragraph(page, PAGE_BAD, INDENT,
		       "the missing segment was dropped on this host at %s: %s in %s%s%s",
		       field_time(drop, "time", now).s, field_text(drop, "reason"),
		       field_text(drop, "location"), device ? ", device " : "",
		       device ? device : "");
}

void timeline_put(struct page *page, const json_t *record, const char *now)
{
	put_head(page, record, now);
	put_stages(page, record);
	put_missing_segment(page, record, now);
	if (!field_true(record, "comparable"))
		put_missing(page, record);
}
