/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The events of one CPU in a recording, in the order of their times.  libtracecmd finds the pages, and unpacks them
 * where they are compressed.  It could read their events, too, but it allocates memory for each, and believes the
 * lengths in a damaged file.
 */
#ifndef DAEMON_PROBE_REPLAY_CPU_DATA_H
#define DAEMON_PROBE_REPLAY_CPU_DATA_H

#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"

struct cpu_data;
struct tracecmd_input;

struct cpu_data_event {
	const void *data; /* valid until the next event is read */
	size_t size;	  /* bytes; 0: the event does not end within its page */
	uint64_t time_ns;
	int64_t lost; /* events lost before this one; negative: not known how many */
};

/*
 * The data of the CPU that is `index` in this buffer of a recording, whose pages have `page_bytes`.  The input must
 * outlive it, and fault_begin() be in force.  The file has `file_bytes`.  0 or -ENOMEM.  Free with cpu_data_free.
 */
int cpu_data_new(struct cpu_data **data, struct tracecmd_input *input, int index,
		 uint32_t page_bytes, uint64_t file_bytes);
void cpu_data_free(struct cpu_data **data);
#define OWN_CPU_DATA CLEANUP(cpu_data_free)

/* 1: this is the next event; 0: there are no more, or -ENOMEM. */
int cpu_data_next(struct cpu_data *data, struct cpu_data_event *event);

/* The number of the CPU that the last event is from. */
uint32_t cpu_data_cpu(const struct cpu_data *data);

/* Pages that could not be read, up to now. */
uint64_t cpu_data_damaged(const struct cpu_data *data);

#endif
