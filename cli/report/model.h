/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a report is about: the daemon's replies for one period, and how drops and latencies went in it. */
#ifndef CLI_REPORT_MODEL_H
#define CLI_REPORT_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "cli/ask/session.h"
#include "cli/show/buckets.h"

/* The most parts of a period.  The daemon is asked twice for each, so there are few: an hour has parts of 2 min. */
#define MODEL_CELLS 32

/* A part of the period; times are ns since 1970. */
struct model_cell {
	uint64_t from_ns, to_ns;
	uint64_t covered_ns; /* how much of it netflowd recorded */
	uint64_t packets;    /* dropped */
};

/* A reason of drops; `row` is its row in model.drops. */
struct model_reason {
	const json_t *row;
	uint64_t packets; /* in the whole period */
	uint64_t cells[MODEL_CELLS];
};

/* A segment; `total` is its row in model.latency. */
struct model_segment {
	const json_t *total;
	struct buckets all;
	struct buckets cells[MODEL_CELLS];
};

/* The replies belong to the model; each is NULL if there was no reply. */
struct model {
	json_t *status;	   /* GetStatus, now */
	json_t *drops;	   /* GetDrops by reason, all rows */
	json_t *places;	   /* GetDrops by key, the first rows */
	json_t *records;   /* GetDropRecords, the newest */
	json_t *latency;   /* GetLatency */
	json_t *slow;	   /* GetLatencyRecords, slow ones, the newest */
	json_t *napi;	   /* GetNapi, the first rows */
	json_t *slots;	   /* GetSlots */
	json_t *sources;   /* GetSlots, now: which probes count slots */
	json_t *alerts;	   /* GetAlerts, now */
	json_t *events;	   /* GetAlerts of the period; only for the past */
	json_t *incidents; /* GetIncidents of the period; only for the past */
	bool past;	   /* the period is from the history; otherwise since the daemon started */
	bool blind;	   /* no probe runs, so there are neither drops nor latencies */
	/* The timeline; without cells there is none. */
	struct model_cell cells[MODEL_CELLS];
	size_t cell_count;
	struct model_reason *reasons; /* most packets first */
	size_t reason_count;
	struct model_segment *segments; /* in the order of the path */
	size_t segment_count;
	bool uneven; /* parts of the period have more packets than the whole: the history changed while it was read */
};

void model_done(struct model *model);
#define OWN_MODEL CLEANUP(model_done)

/*
 * Ask the daemon for everything.  The period is --since to --until of `session`; without both the last hour, or
 * without a history the time since the daemon started.  A failure is reported.
 */
enum report_status model_ask(struct session *session, struct model *model);

/* ---- the timeline, in series.c ------------------------------------------------------------- */

/* Divide the period into cells and ask for each.  model->drops and model->latency are there.  A failure is reported. */
enum report_status series_ask(struct session *session, struct model *model);

/* The length of a cell in seconds: the least multiple of `resolution_s` with which MODEL_CELLS are enough. */
uint64_t series_step(uint64_t period_s, uint64_t resolution_s);

#endif
