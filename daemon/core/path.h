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
};

/*
 * -ENODATA: fewer than two stages are left, so it tells no time, or the stage
 * that all others are measured from is not there; -EINVAL: no such outcome.
 */
int path_read(struct path *path, const struct nf_path_record *record,
	      const struct path_probes *probes);

/* "softirq_entry" */
const char *path_stage_name(enum nf_stage stage);

/* "delivered" */
const char *path_outcome_name(enum nf_outcome outcome);

/* "softirq_raise→softirq_entry" and the 0 at the end. */
#define PATH_SEGMENT_MAX 40

void path_segment_format(enum nf_stage from, enum nf_stage to, char text[static PATH_SEGMENT_MAX]);

/* What somebody asks for by name. */
struct path_segment {
	bool total;
	enum nf_stage from, to;
};

/*
 * "receive→sock_queue", with "->" for the arrow too, or "total".  The short
 * names of histograms are taken: "raise" and "softirq" for softirq_raise and
 * softirq_entry.  -EINVAL: no path has it; `nearest` is then the nearest that
 * one can have, or empty.
 */
int path_segment_parse(struct path_segment *segment, const char *text,
		       char nearest[static PATH_SEGMENT_MAX]);

/* How long it took on this path, stages between included; false when it has not both in order. */
bool path_segment_time(const struct path *path, const struct path_segment *segment, uint64_t *ns);

#endif
