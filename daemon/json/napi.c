/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Types Napi and Softnet. */
#include "daemon/core/histogram.h"
#include "daemon/json/internal.h"
#include "daemon/json/json.h"
#include "daemon/rows/device_rows.h"

json_t *json_napi(const struct napi_row *row)
{
	struct fill f = fill_new();

	fill_device(&f, &row->device);
	if (row->others)
		fill_text(&f, "group", JSON_GROUP_OTHER);
	fill_int(&f, "cpu", row->cpu);
	fill_int(&f, "polls", row->polls);
	fill_int(&f, "packets", row->packets);
	fill_int(&f, "full_budgets", row->full_budgets);
	return f.object;
}

static void fill_quantile(struct fill *f, const char *key, const struct nf_hist *hist, double q)
{
	uint64_t ns;

	if (histogram_quantile(hist, q, &ns) == 0)
		fill_int(f, key, ns);
}

json_t *json_softnet(const struct softnet_row *row)
{
	struct fill f = fill_new();
	double mean;

	fill_int(&f, "cpu", row->cpu);
	if (row->counted) {
		fill_int(&f, "processed", row->processed);
		fill_int(&f, "dropped", row->dropped);
		fill_int(&f, "time_squeeze", row->time_squeeze);
	}
	fill_int(&f, "wait_count", histogram_count(row->wait));
	if (histogram_mean(row->wait, &mean) < 0)
		return f.object;
	fill_put(&f, "wait_mean_ns", json_real(mean));
	fill_quantile(&f, "wait_p50_ns", row->wait, 0.5);
	fill_quantile(&f, "wait_p99_ns", row->wait, 0.99);
	fill_int(&f, "wait_max_ns", row->wait->max_ns);
	return f.object;
}
