/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPUs: the kernel's softnet counters, and how long the softirq waited. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/cleanup.h"
#include "daemon/core/histogram.h"
#include "daemon/kernel/softnet.h"
#include "daemon/metrics/internal.h"

#define SOFTNET_STAT "/proc/net/softnet_stat"

static struct cpu_counts *find(struct metrics *metrics, uint32_t cpu, bool *fresh)
{
	*fresh = false;
	for (size_t i = 0; i < metrics->cpus; i++)
		if (metrics->cpu[i].cpu == cpu)
			return &metrics->cpu[i];
	if (ARRAY_GROW(metrics->cpu, metrics->cpus, metrics->cpus_room) < 0)
		return NULL;
	*fresh = true;
	metrics->cpu[metrics->cpus] = (struct cpu_counts){.cpu = cpu};
	return &metrics->cpu[metrics->cpus++];
}

/* A CPU that is offline keeps its counts.  Without the file there are no rows, and the families have no samples. */
int metrics_update_cpus(struct metrics *metrics)
{
	OWN_FREE struct softnet *row = NULL;
	size_t count;
	int r = softnet_read(SOFTNET_STAT, &row, &count);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	for (size_t i = 0; i < count; i++) {
		const uint32_t now[] = {row[i].processed, row[i].dropped, row[i].time_squeeze};
		struct cpu_counts *cpu;
		bool fresh;

		cpu = find(metrics, row[i].cpu, &fresh);
		if (!cpu)
			return -ENOMEM;
		/* The difference of two counters of 32 bits is right across the wrap. */
		for (size_t j = 0; j < ARRAY_SIZE(now); j++) {
			cpu->sum[j] += fresh ? 0 : (uint32_t)(now[j] - cpu->last[j]);
			cpu->last[j] = now[j];
		}
	}
	return 0;
}

static void label_cpu(struct metrics_text *text, uint32_t cpu, char label[static 16])
{
	snprintf(label, 16, "%" PRIu32, cpu);
	metrics_labels(text, label);
}

static void write_counts(struct metrics_text *text, const struct metrics *metrics)
{
	static const enum metrics_family_id families[] = {
		METRICS_CPU_PROCESSED, METRICS_CPU_DROPPED, METRICS_CPU_TIME_SQUEEZE};
	char label[16];

	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		metrics_family(text, families[i]);
		for (size_t j = 0; j < metrics->cpus; j++) {
			label_cpu(text, metrics->cpu[j].cpu, label);
			metrics_count(text, metrics->cpu[j].sum[i]);
		}
	}
}

static void write_waits(struct metrics_text *text, const struct reading *reading)
{
	const struct nf_hist *wait;
	struct nf_hist all = {0};
	char label[16];

	metrics_family(text, METRICS_CPU_SOFTIRQ_WAIT);
	for (uint32_t cpu = 0; (wait = reading_softirq_wait(reading, cpu)); cpu++) {
		if (!histogram_count(wait))
			continue;
		histogram_merge(&all, wait);
		label_cpu(text, cpu, label);
		metrics_summary(text, wait);
	}
	metrics_family(text, METRICS_SOFTIRQ_WAIT);
	metrics_histogram(text, &all);
}

void metrics_write_cpus(struct metrics_text *text, const struct metrics *metrics,
			const struct metrics_snapshot *snapshot)
{
	write_counts(text, metrics);
	if (snapshot->traced && snapshot->reading[READING_NAPI])
		write_waits(text, snapshot->reading[READING_NAPI]);
}
