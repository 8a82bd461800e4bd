/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The series that counters belong to.  A series is named once, when its key is first used, with the names that the
 * host has then, and kept for as long as the key is in use.
 */
#ifndef DAEMON_HISTORY_NAMES_H
#define DAEMON_HISTORY_NAMES_H

#include <stdint.h>

#include "daemon/history/series.h"

struct attribution;
struct backend;
struct backend_drops;
struct backend_slots;
struct device;
struct records;
struct series_names;

/* All must outlive the names. */
struct series_sources {
	const struct backend *backend;
	struct records *records;	 /* name causes */
	struct attribution *attribution; /* names namespaces and cgroups; NULL: none */
};

/* -ENOMEM. */
int series_names_new(struct series_names **names, const struct series_sources *sources);
void series_names_free(struct series_names **names);

/*
 * The series of a counter, which the names own until series_names_tidy(); NULL: no memory.  The first look at a key
 * takes about 20 µs, and up to 3 ms where a namespace's name must be found; later ones 0.1 µs.
 */
struct series *series_of_drops(struct series_names *names, const struct backend_drops *drops);
/* All drops of a reason, location and evidence whose other fields are no longer known; location 0: of the reason. */
struct series *series_of_gone(struct series_names *names, const struct nf_drop_key *key);
struct series *series_of_segment(struct series_names *names, unsigned int segment);
/*
 * By its identity, its numbers and its name, a string; NULL: all devices without a row of their own.
 */
struct series *series_of_device(struct series_names *names, unsigned int segment,
				const struct device *device);
struct series *series_of_napi(struct series_names *names, const struct device *device,
			      uint32_t cpu);
struct series *series_of_cpu(struct series_names *names, uint32_t cpu);
struct series *series_of_slots(struct series_names *names, const struct backend_slots *slots);
struct series *series_of_probe(struct series_names *names, unsigned int probe);
/* `device` NULL: all devices without a row of their own. */
struct series *series_of_traffic(struct series_names *names, const struct device *device);
struct series *series_of_seen(struct series_names *names);

/* Unused series that are kept, of about 400 bytes each. */
#define SERIES_UNUSED_MAX 2048

/*
 * Call this at the end of each interval: forgets the series that were not used for 360 of them and, if more than
 * SERIES_UNUSED_MAX were not used in this one, those that were not used for longest.
 */
void series_names_tidy(struct series_names *names);
/* How many series the names own. */
size_t series_names_count(const struct series_names *names);

#endif
