/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Metrics as text, in one of two formats: Prometheus's text format 0.0.4, or OpenMetrics 1.0.0.
 *
 * Write a family, then all its samples, then the next family.  A failure to allocate is kept, and
 * metrics_text_end() returns it.
 */
#ifndef DAEMON_METRICS_TEXT_H
#define DAEMON_METRICS_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "daemon/metrics/families.h"

enum metrics_format {
	METRICS_PROMETHEUS,
	METRICS_OPENMETRICS,
	METRICS_FORMATS,
};

struct metrics_text {
	enum metrics_format format;
	char *bytes; /* owned */
	size_t length, room;
	int error;				/* negative errno of the first failure; 0: none */
	const struct metrics_family *family;	/* the one that was begun */
	const char *labels[METRICS_LABELS_MAX]; /* of the sample, borrowed */
};

void metrics_text_begin(struct metrics_text *text, enum metrics_format format);
/* Returns 0 or -ENOMEM.  The bytes have no NUL byte at the end. */
int metrics_text_end(struct metrics_text *text);
void metrics_text_free(struct metrics_text *text);
#define OWN_METRICS_TEXT CLEANUP(metrics_text_free)

void metrics_family(struct metrics_text *text, enum metrics_family_id id);

/*
 * Set the values of the labels of the next samples, in the order of the family's labels.  NULL and the empty text leave
 * a label out, as Prometheus treats both the same.  Bytes that are not UTF-8 become U+FFFD.
 */
#define metrics_labels(text, ...) metrics_set_labels(text, (const char *const[]){__VA_ARGS__, NULL})
void metrics_set_labels(struct metrics_text *text, const char *const *values);

/* A sample of a counter, gauge or info with the current labels. */
void metrics_count(struct metrics_text *text, uint64_t value);
void metrics_real(struct metrics_text *text, double value);
/* In seconds, exact to the nanosecond. */
void metrics_seconds(struct metrics_text *text, uint64_t ns);

/* The same for a family with at most one label. */
void metrics_one(struct metrics_text *text, enum metrics_family_id id, uint64_t value);

struct nf_hist;

/* A histogram with the current labels; a histogram without values, too. */
void metrics_histogram(struct metrics_text *text, const struct nf_hist *hist);
/* Its sum and count only: a summary. */
void metrics_summary(struct metrics_text *text, const struct nf_hist *hist);

#endif
