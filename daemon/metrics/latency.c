/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Latency by kind of device and segment.
 *
 * A kind's histogram is the sum over its devices, and over those that are gone.  It does not decrease, unless the
 * backend runs out of room for kinds and adds a gone device to the kind "other".  So what is shown adds up the growth
 * of each bucket; in that case the packets of that device count twice.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "daemon/core/histogram.h"
#include "daemon/core/stages.h"
#include "daemon/metrics/internal.h"

struct kind {
	char name[NF_DEVICE_KIND + 1];
	struct nf_hist now[NF_SEGMENT_COUNT];
	struct nf_hist last[NF_SEGMENT_COUNT];
	struct nf_hist shown[NF_SEGMENT_COUNT];
};

struct kinds {
	struct kind **kind;
	size_t count, room;
};

int kinds_new(struct kinds **kinds)
{
	*kinds = calloc(1, sizeof(**kinds));
	return *kinds ? 0 : -ENOMEM;
}

void kinds_free(struct kinds **kinds)
{
	struct kinds *old = *kinds;

	if (!old)
		return;
	for (size_t i = 0; i < old->count; i++)
		free(old->kind[i]);
	free(old->kind);
	free(old);
	*kinds = NULL;
}

/* The kinds are those of the kernel's drivers. */
static struct kind *find(struct kinds *kinds, const char *name)
{
	struct kind *fresh;

	for (size_t i = 0; i < kinds->count; i++)
		if (!strcmp(kinds->kind[i]->name, name))
			return kinds->kind[i];
	if (ARRAY_GROW(kinds->kind, kinds->count, kinds->room) < 0)
		return NULL;
	fresh = calloc(1, sizeof(*fresh));
	if (!fresh)
		return NULL;
	memcpy(fresh->name, name, strnlen(name, NF_DEVICE_KIND));
	kinds->kind[kinds->count++] = fresh;
	return fresh;
}

static uint64_t growth(uint64_t now, uint64_t last)
{
	return now > last ? now - last : 0;
}

static void show(struct nf_hist *shown, const struct nf_hist *now, const struct nf_hist *last)
{
	shown->sum_ns += growth(now->sum_ns, last->sum_ns);
	shown->journeys += growth(now->journeys, last->journeys);
	for (int i = 0; i < NF_HIST_BUCKETS; i++)
		shown->bucket[i] += growth(now->bucket[i], last->bucket[i]);
}

int kinds_update(struct kinds *kinds, const struct metrics_snapshot *snapshot)
{
	const struct reading *reading = snapshot->reading[READING_DEVICES];

	for (size_t i = 0; i < kinds->count; i++)
		memset(kinds->kind[i]->now, 0, sizeof(kinds->kind[i]->now));
	for (size_t i = 0; i < reading_count(reading); i++) {
		struct backend_device device;
		struct kind *kind;

		reading_device(reading, i, &device);
		kind = find(kinds, device.kind ? device.kind : BACKEND_KIND_OTHER);
		if (!kind)
			return -ENOMEM;
		for (int j = 0; j < NF_SEGMENT_COUNT; j++) {
			struct nf_hist hist;

			if (!(device.used & UINT32_C(1) << j))
				continue;
			reading_segment(reading, i, (enum nf_segment)j, &hist);
			histogram_merge(&kind->now[j], &hist);
		}
	}
	for (size_t i = 0; i < kinds->count; i++) {
		struct kind *kind = kinds->kind[i];

		for (int j = 0; j < NF_SEGMENT_COUNT; j++)
			show(&kind->shown[j], &kind->now[j], &kind->last[j]);
		memcpy(kind->last, kind->now, sizeof(kind->last));
	}
	return 0;
}

void metrics_write_latency(struct metrics_text *text, const struct metrics *metrics)
{
	metrics_family(text, METRICS_LATENCY);
	for (size_t i = 0; i < metrics->kinds->count; i++) {
		const struct kind *kind = metrics->kinds->kind[i];

		for (int j = 0; j < NF_SEGMENT_COUNT; j++) {
			const struct segment_histogram *segment = &segment_histograms[j];

			if (!histogram_count(&kind->shown[j]))
				continue;
			metrics_labels(text, kind->name, segment->direction, segment->name);
			metrics_histogram(text, &kind->shown[j]);
		}
	}
	metrics_family(text, METRICS_LATENCY_FOLLOWED);
	for (size_t i = 0; i < metrics->kinds->count; i++) {
		const struct kind *kind = metrics->kinds->kind[i];

		for (int j = 0; j < NF_SEGMENT_COUNT; j++) {
			const struct segment_histogram *segment = &segment_histograms[j];

			if (!histogram_count(&kind->shown[j]))
				continue;
			metrics_labels(text, kind->name, segment->direction, segment->name);
			metrics_count(text, kind->shown[j].journeys);
		}
	}
}
