/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The contents of a latency record: the stages that its skb passed, in the order in which it passed them; and the
 * stages that the record lacks although the skb passed them, or may have passed them where a probe does not run, each
 * with the reason.
 *
 * No time in a journey is negative: a stage whose time contradicts the only possible order of the stages is removed and
 * listed as missing.
 */
#ifndef DAEMON_CORE_STAGES_H
#define DAEMON_CORE_STAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/records.h"
#include "common/segment_name.h"

#define STAGE_PROBE_TEXT_MAX 256

/* Why each probe does not run: "sched_waking is unavailable: …"; empty: it runs. */
struct stage_probes {
	char without[NF_PROBE_COUNT][STAGE_PROBE_TEXT_MAX];
};

struct stage_time {
	enum nf_stage stage;
	uint64_t time_ns;
};

struct stage_missing {
	enum nf_stage stage;
	const char *reason; /* valid as long as the stage_probes given to stages_read() */
};

struct stages {
	size_t count; /* at least 2 */
	struct stage_time stage[NF_STAGE_COUNT];
	size_t missing_count; /* 0: the total is comparable with others */
	struct stage_missing missing[NF_STAGE_COUNT];
	uint64_t total_ns;
	size_t dominant; /* the longest time is from stage[dominant] to the next stage */
	enum nf_outcome outcome;
};

/*
 * Read a record; `stages` stays as it is on failure.  -ENODATA: fewer than two stages are left, so the record contains
 * no time, or the stage with which all others are compared is not there; -EINVAL: the outcome is not known.
 */
int stages_read(struct stages *stages, const struct nf_journey_record *record,
		const struct stage_probes *probes);

/* When the skb passed the stage, CLOCK_MONOTONIC; 0 if the journey does not have it. */
uint64_t stages_ns(const struct stages *stages, enum nf_stage stage);

/* "softirq_entry" */
const char *stage_name(enum nf_stage stage);

/* "delivered" */
const char *outcome_name(enum nf_outcome outcome);

/* A segment that has histograms.  It has the same identifier in JSON, settings, alert rules and the knowledge. */
struct segment_histogram {
	const char *name;      /* "receive_to_copy" */
	const char *direction; /* "rx", "fwd" or "tx" */
	enum nf_stage from, to;
	bool total; /* from the first stage of a journey to `to` */
};

extern const struct segment_histogram segment_histograms[NF_SEGMENT_COUNT];

/* Whether it is the time of a whole journey: one of the three totals, of which a packet has one on a device. */
bool segment_is_total(enum nf_segment segment);

/* The identifier for the time between two stages: "raise_to_softirq". */
struct segment_text segment_between(enum nf_stage from, enum nf_stage to);

/* A segment by which a client selects records. */
struct segment {
	bool total;   /* from the first stage of a journey to its last one; if one_way, to `to` */
	bool one_way; /* only of journeys with `outcome` */
	enum nf_outcome outcome;
	enum nf_stage from, to;
};

/*
 * Read the identifier of two stages that a journey can have in that order, or of a total; segment_name_read() says
 * which other forms are valid.  -EINVAL: no journey has this segment; `nearest` is then the nearest identifier, or
 * empty.
 */
int segment_parse(struct segment *segment, const char *text, char nearest[static SEGMENT_NAME_MAX]);

/*
 * The time of the segment on this journey in ns, the stages in between included; false if the journey does not have
 * both stages in this order, or has another outcome.
 */
bool segment_time(const struct stages *stages, const struct segment *segment, uint64_t *ns);

#endif
