/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Type Latency. */
#include "common/array.h"
#include "daemon/core/histogram.h"
#include "daemon/core/stages.h"
#include "daemon/json/internal.h"
#include "daemon/json/json.h"
#include "daemon/rows/latency_row.h"

static json_t *bucket(unsigned int index, uint64_t count)
{
	struct histogram_bounds bounds = histogram_bounds(index);
	struct fill f = fill_new();

	fill_int(&f, "from_ns", bounds.from);
	fill_int(&f, "below_ns", bounds.below);
	fill_int(&f, "count", count);
	return f.object;
}

static json_t *buckets(const struct nf_hist *hist)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < NF_HIST_BUCKETS; i++)
		if (hist->bucket[i])
			fill_append(&list, bucket(i, hist->bucket[i]));
	return list;
}

static void put_quantiles(struct fill *f, const struct nf_hist *hist)
{
	static const struct {
		const char *key, *low, *high;
		double q;
	} quantiles[] = {{"p50_ns", "p50_low_ns", "p50_high_ns", 0.5},
			 {"p90_ns", "p90_low_ns", "p90_high_ns", 0.9},
			 {"p99_ns", "p99_low_ns", "p99_high_ns", 0.99},
			 {"p999_ns", "p999_low_ns", "p999_high_ns", 0.999}};
	uint64_t ns, low, high;

	for (size_t i = 0; i < ARRAY_SIZE(quantiles); i++) {
		if (histogram_quantile(hist, quantiles[i].q, &ns) == 0)
			fill_int(f, quantiles[i].key, ns);
		if (!histogram_is_estimate(hist) ||
		    histogram_quantile_interval(hist, quantiles[i].q, &low, &high) < 0)
			continue;
		fill_int(f, quantiles[i].low, low);
		fill_int(f, quantiles[i].high, high);
	}
}

static void put_margin(struct fill *f, const struct latency_row *row,
		       const struct latency_doubt *doubt)
{
	struct latency_margin margin;

	if (!latency_row_margin(row, doubt, &margin))
		return;
	fill_int(f, "followed", histogram_followed(&row->hist));
	fill_int(f, "count_margin", margin.all);
	fill_int(f, "drawn_margin", margin.drawn);
}

json_t *json_latency(const struct latency_row *row, const struct latency_doubt *doubt)
{
	const struct nf_hist *hist = &row->hist;
	struct fill f = fill_new();
	double mean;

	fill_text(&f, "direction", segment_histograms[row->segment].direction);
	fill_text(&f, "segment", segment_histograms[row->segment].name);
	fill_device(&f, &row->device);
	fill_text(&f, "group", row->group);
	if (row->group && row->devices >= 0)
		fill_int(&f, "devices", (uint64_t)row->devices);
	fill_int(&f, "count", histogram_count(hist));
	if (row->packets)
		fill_int(&f, "packets", *row->packets);
	put_margin(&f, row, doubt);
	if (histogram_mean(hist, &mean) == 0) {
		fill_put(&f, "mean_ns", json_real(mean));
		fill_int(&f, "max_ns", hist->max_ns);
	}
	put_quantiles(&f, hist);
	fill_put(&f, "buckets", buckets(hist));
	return f.object;
}
