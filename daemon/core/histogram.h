/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Arithmetic on the kernel's histograms (struct nf_hist, bpf/records.h).
 *
 * A bucket is at most a quarter as wide as the smallest value in it, so the middle of a bucket is at most 12.5 % off
 * any value in it.  The last bucket is an exception, because it has no upper limit.  Values below 8 ns are exact.
 */
#ifndef DAEMON_CORE_HISTOGRAM_H
#define DAEMON_CORE_HISTOGRAM_H

#include <stdbool.h>
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

/* ---- estimates: not every journey was followed, see struct nf_hist -------------- */

#define HISTOGRAM_Z_95 1.96 /* 95 % of a normal distribution are within 1.96 standard deviations */

/* Half the width of the 95 % interval of a number with this variance, rounded up. */
uint64_t histogram_margin(uint64_t variance);

/* Whether the count is an estimate; otherwise it is exact. */
bool histogram_is_estimate(const struct nf_hist *hist);

/* The journeys that were followed; the count, if it is exact. */
uint64_t histogram_followed(const struct nf_hist *hist);

/* Half the width of the 95 % interval of the count; 0: the count is exact. */
uint64_t histogram_count_margin(const struct nf_hist *hist);

/*
 * How many journeys of equal weight say as much about quantiles as the followed ones (Kish); never more than those.  Of
 * an exact histogram it is the count.
 */
double histogram_effective(const struct nf_hist *hist);

/*
 * The 95 % interval of a quantile, in ns: from the start of the bucket of the lower rank to the end of that of the
 * upper one.  -ENODATA: the effective number of journeys is too small for an upper or a lower end; -EINVAL as above.
 */
int histogram_quantile_interval(const struct nf_hist *hist, double q, uint64_t *low_ns,
				uint64_t *high_ns);

#endif
