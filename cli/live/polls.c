/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/live/polls.h"

#include <errno.h>
#include <string.h>

#include "cli/ask/field.h"
#include "cli/live/rate.h"
#include "cli/show/napi_tables.h"

static const struct polls_device *find_device(const struct polls *polls,
					      const struct polls_device *like)
{
	for (size_t i = 0; polls && i < polls->devices_count; i++) {
		const struct polls_device *device = &polls->devices[i];

		if (device->cpu == like->cpu && device->netns == like->netns &&
		    !strcmp(device->name, like->name))
			return device;
	}
	return NULL;
}

static void add_device(struct polls *polls, const json_t *row, const char *only,
		       const struct polls *before, double seconds)
{
	static const struct polls_device nothing;
	struct polls_device device = {
		.name = napi_device(row),
		.netns = field_count_or(row, "netns", 0),
		.cpu = field_count_or(row, "cpu", 0),
		.polls = field_count_or(row, "polls", 0),
		.packets = field_count_or(row, "packets", 0),
		.full_budgets = field_count_or(row, "full_budgets", 0),
	};
	const struct polls_device *old = find_device(before, &device);

	if (only && strcmp(only, device.name))
		return;
	if (!old)
		old = &nothing;
	seconds = before ? seconds : 0;
	device.polls_rate = rate_between(old->polls, device.polls, seconds);
	device.packets_rate = rate_between(old->packets, device.packets, seconds);
	device.full_rate = rate_between(old->full_budgets, device.full_budgets, seconds);
	polls->devices[polls->devices_count++] = device;
}

static void add_cpu(struct polls *polls, const json_t *row, const struct polls *before,
		    double seconds)
{
	struct polls_cpu *cpu = &polls->cpus[polls->cpus_count++];
	const json_t *old = NULL;

	for (size_t i = 0; before && !old && i < before->cpus_count; i++)
		if (field_count_or(before->cpus[i].row, "cpu", 0) == field_count_or(row, "cpu", 0))
			old = before->cpus[i].row;
	/* The counters run since boot, so a CPU that is new in this reply has no rate. */
	seconds = old ? seconds : 0;
	*cpu = (struct polls_cpu){
		.row = row,
		.processed = field_count_or(row, "processed", 0),
		.dropped = field_count_or(row, "dropped", 0),
		.squeezed = field_count_or(row, "time_squeeze", 0),
	};
	cpu->processed_rate =
		rate_between(field_count_or(old, "processed", 0), cpu->processed, seconds);
	cpu->dropped_rate = rate_between(field_count_or(old, "dropped", 0), cpu->dropped, seconds);
	cpu->squeezed_rate =
		rate_between(field_count_or(old, "time_squeeze", 0), cpu->squeezed, seconds);
}

int polls_read(struct polls *polls, json_t *reply, const char *device, const struct polls *before,
	       double seconds)
{
	const json_t *napi = json_object_get(reply, "napi");
	const json_t *cpus = json_object_get(reply, "cpus");
	const json_t *row;
	size_t i;

	polls->reply = reply;
	polls->devices = calloc(json_array_size(napi) + 1, sizeof(*polls->devices));
	polls->cpus = calloc(json_array_size(cpus) + 1, sizeof(*polls->cpus));
	if (!polls->devices || !polls->cpus) {
		polls_free(polls);
		return -ENOMEM;
	}
	json_array_foreach(napi, i, row) add_device(polls, row, device, before, seconds);
	json_array_foreach(cpus, i, row) add_cpu(polls, row, before, seconds);
	return 0;
}

void polls_free(struct polls *polls)
{
	json_decref(polls->reply);
	free(polls->devices);
	free(polls->cpus);
	*polls = (struct polls){};
}
