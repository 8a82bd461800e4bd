/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Receive softirqs by CPU, and NAPI polls by device and CPU. */
#include <errno.h>
#include <string.h>

#include "cli/ask/field.h"
#include "cli/live/table_parts.h"
#include "cli/live/view.h"
#include "cli/terminal/table.h"
#include "common/array.h"

static const char *const orders[] = {"device", "polls", "full budgets", NULL};

typedef const struct polls_device *device_pointer;

static int by_device(const void *one, const void *other)
{
	device_pointer a = *(const device_pointer *)one, b = *(const device_pointer *)other;
	int order = strcmp(a->name, b->name);

	return order ? order : (a->cpu > b->cpu) - (a->cpu < b->cpu);
}

static int by_polls(const void *one, const void *other)
{
	device_pointer a = *(const device_pointer *)one, b = *(const device_pointer *)other;

	return (a->polls_rate < b->polls_rate) - (a->polls_rate > b->polls_rate);
}

static int by_full(const void *one, const void *other)
{
	device_pointer a = *(const device_pointer *)one, b = *(const device_pointer *)other;

	return (a->full_rate < b->full_rate) - (a->full_rate > b->full_rate);
}

static int (*const compare[])(const void *, const void *) = {by_device, by_polls, by_full};

static int put_cpus(struct page *page, const struct polls *polls)
{
	static const char *const titles[] = {"CPU",	 "processed", "dropped", "squeezed",
					     "wait p50", "p99",	      "max"};
	static const char *const waits[] = {"wait_p50_ns", "wait_p99_ns", "wait_max_ns"};
	OWN_TABLE struct table *table = NULL;
	int r = table_new(&table, page_term(page), 0);

	if (r)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(titles); i++) {
		table_column(table, TABLE_RIGHT, titles[i]);
		table_least(table, i ? 9 : 3);
	}
	for (size_t i = 0; i < polls->cpus_count; i++) {
		const struct polls_cpu *cpu = &polls->cpus[i];

		table_row(table);
		table_cell(table, PAGE_PLAIN, "%s", field_units_number(cpu->row, "cpu").s);
		table_parts_rate(table, cpu->processed_rate, PAGE_PLAIN);
		table_parts_rate(table, cpu->dropped_rate, PAGE_BAD);
		table_parts_rate(table, cpu->squeezed_rate, PAGE_WARN);
		for (size_t w = 0; w < ARRAY_SIZE(waits); w++)
			table_cell(table, PAGE_PLAIN, "%s",
				   field_units_duration(cpu->row, waits[w]).s);
	}
	return table_put(table, page);
}

static void put_device(struct table *table, const struct polls_device *device)
{
	table_row(table);
	table_cell(table, PAGE_PLAIN, "%s", device->name);
	if (device->netns)
		table_cell(table, PAGE_PLAIN, "%llu", (unsigned long long)device->netns);
	else
		table_cell(table, PAGE_DIM, "%s", UNITS_UNKNOWN);
	table_cell(table, PAGE_PLAIN, "%llu", (unsigned long long)device->cpu);
	table_parts_rate(table, device->polls_rate, PAGE_PLAIN);
	table_parts_rate(table, device->packets_rate, PAGE_PLAIN);
	if (device->polls_rate > 0)
		table_cell(table, PAGE_PLAIN, "%.3g", device->packets_rate / device->polls_rate);
	else
		table_cell(table, PAGE_DIM, "%s", UNITS_UNKNOWN);
	table_parts_rate(table, device->full_rate, PAGE_WARN);
}

static int put_devices(struct page *page, device_pointer *devices, size_t count)
{
	static const char *const titles[] = {"CPU", "polls", "packets", "per poll", "full budgets"};
	OWN_TABLE struct table *table = NULL;
	int r = table_new(&table, page_term(page), 0);

	if (r)
		return r;
	table_column(table, TABLE_LEFT, "device");
	table_least(table, 15);
	table_column(table, TABLE_RIGHT, "netns");
	for (size_t i = 0; i < ARRAY_SIZE(titles); i++) {
		table_column(table, TABLE_RIGHT, titles[i]);
		table_least(table, i ? 9 : 3);
	}
	for (size_t i = 0; i < count; i++)
		put_device(table, devices[i]);
	return table_put(table, page);
}

static int put(struct view_state *state, struct page *page, const struct live_reading *reading,
	       size_t *rows)
{
	const struct polls *polls = &reading->polls;
	size_t count = polls->devices_count;
	size_t skip = state->scroll < count ? state->scroll : count;
	OWN_FREE device_pointer *devices = calloc(count + 1, sizeof(device_pointer));
	int r;

	if (!devices)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		devices[i] = &polls->devices[i];
	if (count)
		qsort(devices, count, sizeof(device_pointer), compare[state->order[VIEW_NAPI]]);
	*rows = count;
	r = put_cpus(page, polls);
	page_end(page);
	if (count)
		return r ? r : put_devices(page, devices + skip, count - skip);
	page_line(page, PAGE_DIM, "netflowd has seen no poll since it started");
	return r;
}

const struct view view_napi = {.name = "napi", .orders = orders, .put = put};
