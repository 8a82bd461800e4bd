/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The contents of a latency record: the stages that its skb passed, in the order in which it passed them; and the
 * stages that the record lacks although the skb passed them, or may have passed them where a probe does not run, each
 * with the reason.
 *
 * No time in a path is negative: a stage whose time contradicts the only possible order of the stages is removed and
 * listed as missing.
 */
#ifndef DAEMON_CORE_PATH_H
#define DAEMON_CORE_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/records.h"
#include "common/segment_name.h"

#define PATH_PROBE_TEXT_MAX 256

/* Why each probe does not run: "sched_waking is unavailable: …"; empty: it runs. */
struct path_probes {
	char without[NF_PROBE_COUNT][PATH_PROBE_TEXT_MAX];
};

struct path_stage {
	enum nf_stage stage;
	uint64_t time_ns;
};

struct path_missing {
	enum nf_stage stage;
	const char *reason; /* valid as long as the path_probes given to path_read() */
};

struct path {
	size_t count; /* at least 2 */
	struct path_stage stage[NF_STAGE_COUNT];
	size_t missing_count; /* 0: the total is comparable with others */
	struct path_missing missing[NF_STAGE_COUNT];
	uint64_t total_ns;
	size_t dominant; /* the longest time is from stage[dominant] to the next stage */
	enum nf_outcome outcome;
};

/*
 * Read a record; `path` stays as it is on failure.  -ENODATA: fewer than two stages are left, so the record contains no
 * time, or the stage with which all others are compared is not there; -EINVAL: the outcome is not known.
 */
int path_read(struct path *path, const struct nf_path_record *record,
	      const struct path_probes *probes);

/* When the skb passed the stage, CLOCK_MONOTONIC; 0 if the path does not have it. */
uint64_t path_stage_ns(const struct path *path, enum nf_stage stage);

/* "softirq_entry" */
const char *path_stage_name(enum nf_stage stage);

/* "delivered" */
const char *path_outcome_name(enum nf_outcome outcome);

/* A segment that has histograms.  It has the same identifier in JSON, settings, alert rules and the knowledge. */
struct path_histogram {
	const char *name;      /* "receive_to_copy" */
	const char *direction; /* "rx", "fwd" or "tx" */
	enum nf_stage from, to;
	bool total; /* from the first stage of a path to `to` */
};

extern const struct path_histogram path_histograms[NF_SEGMENT_COUNT];

/* The identifier for the time between two stages: "raise_to_softirq". */
struct segment_text path_segment_name(enum nf_stage from, enum nf_stage to);

/* A segment by which a client selects records. */
struct path_segment {
	bool total;   /* from the first stage of a path to its last one; if one_way, to `to` */
	bool one_way; /* only of paths with `outcome` */
	enum nf_outcome outcome;
	enum nf_stage from, to;
};

/*
 * Read the identifier of two stages that a path can have in that order, or of a total; segment_name_read() says which
 * other forms are valid.  -EINVAL: no path has this segment; `nearest` is then the nearest identifier, or empty.
 */
int path_segment_parse(struct path_segment *segment, const char *text,
		       char nearest[static SEGMENT_NAME_MAX]);

/*
 * The time of the segment on this path in ns, the stages in between included; false if the path does not have both
 * stages in this order, or has another outcome.
 */
bool path_segment_time(const struct path *path, const struct path_segment *segment, uint64_t *ns);

#endif
