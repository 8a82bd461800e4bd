/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Type Latency. */
#include "common/array.h"
#include "daemon/core/histogram.h"
#include "daemon/json/internal.h"
#include "daemon/json/json.h"

static const struct {
	const char *direction;
	const char *name;
} segments[NF_SEGMENT_COUNT] = {
	[NF_SEGMENT_IRQ_TO_SOFTIRQ] = {"rx", "irq→softirq"},
	[NF_SEGMENT_RAISE_TO_SOFTIRQ] = {"rx", "raise→softirq"},
	[NF_SEGMENT_SOFTIRQ_TO_RECEIVE] = {"rx", "softirq→receive"},
	[NF_SEGMENT_RECEIVE_TO_SOCK_QUEUE] = {"rx", "receive→sock_queue"},
	[NF_SEGMENT_WAKEUP_TO_RUN] = {"rx", "wakeup→run"},
	[NF_SEGMENT_RUN_TO_COPY] = {"rx", "run→copy"},
	[NF_SEGMENT_RECEIVE_TO_COPY] = {"rx", "receive→copy"},
	[NF_SEGMENT_RX_TOTAL] = {"rx", "total"},
	[NF_SEGMENT_RECEIVE_TO_QUEUE] = {"fwd", "receive→queue"},
	[NF_SEGMENT_FORWARD_TOTAL] = {"fwd", "total"},
	[NF_SEGMENT_QUEUE_TO_START] = {"tx", "queue→start_xmit"},
	[NF_SEGMENT_START_TO_XMIT] = {"tx", "start_xmit→xmit"},
	[NF_SEGMENT_XMIT_TO_FREE] = {"tx", "xmit→free"},
	[NF_SEGMENT_TX_TOTAL] = {"tx", "total"},
};

const char *json_segment_direction(enum nf_segment segment)
{
	return segments[segment].direction;
}

const char *json_segment_name(enum nf_segment segment)
{
	return segments[segment].name;
}

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
		const char *key;
		double q;
	} quantiles[] = {{"p50_ns", 0.5}, {"p90_ns", 0.9}, {"p99_ns", 0.99}, {"p999_ns", 0.999}};
	uint64_t ns;

	for (size_t i = 0; i < ARRAY_SIZE(quantiles); i++)
		if (histogram_quantile(hist, quantiles[i].q, &ns) == 0)
			fill_int(f, quantiles[i].key, ns);
}

json_t *json_latency(enum nf_segment segment, const struct json_device *device,
		     const struct nf_hist *hist)
{
	struct fill f = fill_new();
	double mean;

	fill_text(&f, "direction", json_segment_direction(segment));
	fill_text(&f, "segment", json_segment_name(segment));
	if (device) {
		fill_bytes(&f, "device", device->name, NF_DEVICE_NAME);
		fill_known(&f, "ifindex", device->ifindex);
		fill_known(&f, "netns", device->netns);
	}
	fill_int(&f, "count", histogram_count(hist));
	if (histogram_mean(hist, &mean) == 0) {
		fill_put(&f, "mean_ns", json_real(mean));
		fill_int(&f, "max_ns", hist->max_ns);
	}
	put_quantiles(&f, hist);
	fill_put(&f, "buckets", buckets(hist));
	return f.object;
}
