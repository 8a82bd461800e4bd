/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Arithmetic on the kernel's histograms (struct nf_hist, bpf/records.h).
 *
 * A bucket is at most a quarter as wide as the smallest value in it, so the middle of a bucket is at most 12.5 % off
 * any value in it.  The last bucket is an exception, because it has no upper limit.  Values below 8 ns are exact.
 */
#ifndef DAEMON_CORE_HISTOGRAM_H
#define DAEMON_CORE_HISTOGRAM_H

#include <stdint.h>

struct nf_hist;

/* The values of a bucket: from ≤ value < below. */
struct histogram_bounds {
	uint64_t from;	/* ns */
	uint64_t below; /* ns; UINT64_MAX for the last bucket, which is open */
};

/* `bucket` must be less than NF_HIST_BUCKETS. */
struct histogram_bounds histogram_bounds(unsigned int bucket);

/* Add `from` to `into`. */
void histogram_merge(struct nf_hist *into, const struct nf_hist *from);

uint64_t histogram_count(const struct nf_hist *hist);

/* The exact mean in ns.  -ENODATA: the histogram is empty. */
int histogram_mean(const struct nf_hist *hist, double *mean);

/*
 * The value in ns at or below which the share `q` (0 … 1) of all values lies: the middle of the bucket that holds the
 * value of the nearest rank, but never more than max_ns.  At most 12.5 % off.  -ENODATA: the histogram is empty;
 * -EINVAL: `q` is out of range.
 */
int histogram_quantile(const struct nf_hist *hist, double q, uint64_t *ns);

#endif
