/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GetNapi. */
#include <errno.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/time.h"
#include "daemon/control/internal.h"
#include "daemon/core/histogram.h"
#include "daemon/json/json.h"
#include "daemon/kernel/softnet.h"
#include "daemon/probe/backend.h"

#define SOFTNET_STAT "/proc/net/softnet_stat"

static int add_napi(const struct backend_napi *napi, void *userdata)
{
	json_t *name = napi->name ? json_text(napi->name, NF_DEVICE_NAME) : NULL;

	return json_array_append_new(
		userdata,
		json_pack("{s:o*, s:o*, s:o*, s:I, s:I, s:I, s:I}", "device", name, "ifindex",
			  control_known(napi->ifindex), "netns", control_known(napi->netns), "cpu",
			  (json_int_t)napi->cpu, "polls", (json_int_t)napi->polls, "packets",
			  (json_int_t)napi->poll_packets, "full_budgets",
			  (json_int_t)napi->full_budgets));
}

static json_t *quantile(const struct nf_hist *hist, double q)
{
	uint64_t ns;

	return histogram_quantile(hist, q, &ns) == 0 ? json_integer((json_int_t)ns) : NULL;
}

static json_t *cpu_to_json(const struct backend *backend, const struct softnet *row)
{
	struct nf_hist wait = {0};
	json_t *mean_ns = NULL, *max_ns = NULL;
	double mean;

	if (row->cpu < backend->ops->cpus(backend))
		backend->ops->softirq_wait(backend, row->cpu, &wait);
	if (histogram_mean(&wait, &mean) == 0) {
		mean_ns = json_real(mean);
		max_ns = json_integer((json_int_t)wait.max_ns);
	}
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:o*, s:o*, s:o*, s:o*}", "cpu",
			 (json_int_t)row->cpu, "processed", (json_int_t)row->processed, "dropped",
			 (json_int_t)row->dropped, "time_squeeze", (json_int_t)row->time_squeeze,
			 "wait_count", (json_int_t)histogram_count(&wait), "wait_mean_ns", mean_ns,
			 "wait_p50_ns", quantile(&wait, 0.5), "wait_p99_ns", quantile(&wait, 0.99),
			 "wait_max_ns", max_ns);
}

int method_get_napi(struct call *call, json_t *parameters, void *userdata)
{
	static const struct parameter table[] = {{NULL, 0, 0}};
	const struct control *control = userdata;
	const struct backend *backend = control->parts.backend;
	OWN_FREE struct softnet *rows = NULL;
	json_t *napi, *cpus;
	size_t count = 0;
	int r;

	if (call_check_parameters(call, parameters, table) < 0)
		return -EINVAL;
	if (control_no_data(control, call))
		return 0;
	r = softnet_read(SOFTNET_STAT, &rows, &count);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return call_error(
			call, "io.netflowd.Failed",
			json_pack("{s:o}", "reason",
				  json_sprintf("cannot read " SOFTNET_STAT ": %s", strerror(-r))));
	napi = json_array();
	cpus = json_array();
	backend->ops->napi(backend, add_napi, napi);
	for (size_t i = 0; i < count; i++)
		json_array_append_new(cpus, cpu_to_json(backend, &rows[i]));
	return control_reply(call,
			     json_pack("{s:o, s:o, s:o, s:o}", "time", json_time(time_monotonic()),
				       "since", json_time(control->parts.started_ns), "napi", napi,
				       "cpus", cpus));
}
