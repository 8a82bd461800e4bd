/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a latency record says: the stages that its skb passed, in the order in
 * which it passed them, and those that it must have passed, or may have where a
 * probe is not there, but that are not in the record, each with why.
 *
 * No time that this tells is negative: a stage whose time is at odds with the
 * order in which an skb can only pass them is taken out and told as missing.
 */
#ifndef DAEMON_CORE_PATH_H
#define DAEMON_CORE_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/records.h"
#include "common/segment_name.h"

#define PATH_PROBE_TEXT_MAX 256

/* Which probes do not run: "sched_waking is unavailable: …"; empty = this one runs. */
struct path_probes {
	char without[NF_PROBE_COUNT][PATH_PROBE_TEXT_MAX];
};

struct path_stage {
	enum nf_stage stage;
	uint64_t time_ns;
};

struct path_missing {
	enum nf_stage stage;
	const char *reason; /* lives as long as the path_probes it was read with */
};

struct path {
	size_t count; /* at least 2 */
	struct path_stage stage[NF_STAGE_COUNT];
	size_t missing_count; /* 0: the total may be compared with others */
	struct path_missing missing[NF_STAGE_COUNT];
	uint64_t total_ns;
	size_t dominant; /* the longest time is that from stage[dominant] to the next */
	enum nf_outcome outcome;
};

/*
 * -ENODATA: fewer than two stages are left, so it tells no time, or the stage
 * that all others are measured from is not there; -EINVAL: no such outcome.
 */
int path_read(struct path *path, const struct nf_path_record *record,
	      const struct path_probes *probes);

/* When the skb passed the stage, CLOCK_MONOTONIC; 0 if the path does not have it. */
uint64_t path_stage_ns(const struct path *path, enum nf_stage stage);

/* "softirq_entry" */
const char *path_stage_name(enum nf_stage stage);

/* "delivered" */
const char *path_outcome_name(enum nf_outcome outcome);

/* A segment that has histograms, the same identifiers in JSON, settings, alert rules and the knowledge. */
struct path_histogram {
	const char *name;      /* "receive_to_copy" */
	const char *direction; /* "rx", "fwd" or "tx" */
	enum nf_stage from, to;
	bool total; /* from the first stage of a path to `to` */
};

extern const struct path_histogram path_histograms[NF_SEGMENT_COUNT];

/* The identifier for the time between two stages: "raise_to_softirq". */
struct segment_text path_segment_name(enum nf_stage from, enum nf_stage to);

/* A segment that a client selects by. */
struct path_segment {
	bool total;   /* from the first stage of a path to its last one, or with one_way to `to` */
	bool one_way; /* only of paths with this outcome: */
	enum nf_outcome outcome;
	enum nf_stage from, to;
};

/*
 * The identifier of two stages that a path can have in that order, or of a
 * total; other forms as in segment_name_read().  -EINVAL: no path has it;
 * `nearest` is then the nearest identifier, or empty.
 */
int path_segment_parse(struct path_segment *segment, const char *text,
		       char nearest[static SEGMENT_NAME_MAX]);

/* How long it took on this path, stages between included; false when it has not both in order. */
bool path_segment_time(const struct path *path, const struct path_segment *segment, uint64_t *ns);

#endif
