/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The quantiles of segments that are compared. */
#ifndef CLI_DIFF_QUANTILES_H
#define CLI_DIFF_QUANTILES_H

#include <stdbool.h>

#define DIFF_QUANTILES 4

struct diff_quantile {
	const char *name;   /* in the comparison */
	const char *member; /* of a Latency */
	double quantile;
};

extern const struct diff_quantile diff_quantiles[DIFF_QUANTILES];

/* Whether the events of a probe are needed to compare a segment. */
bool diff_needs(const char *probe, const char *segment);

#endif
