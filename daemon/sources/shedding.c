/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/sources/shedding.h"

#include <stdbool.h>
#include <string.h>

#include "common/json.h"
#include "common/time.h"
#include "daemon/cost/governor.h"

const char shedding_detached[] =
	"detached now, to keep the budget (cost.budget, cost.cpu_budget) or because netflowd is paused";

static json_t *governed_cpus(const struct account *account)
{
	json_t *rows = json_array();

	for (uint32_t i = 0; i < account_cpus(account); i++) {
		const struct account_cpu *cpu = account_cpu(account, i);

		if (!cpu->used)
			continue;
		json_array_append_new(
			rows, json_pack("{s:I, s:f, s:I, s:I}", "cpu", (json_int_t)i, "percent",
					100 * cpu->sum, "rx_one_in",
					(json_int_t)1 << cpu->one_in_shift[BACKEND_RX], "tx_one_in",
					(json_int_t)1 << cpu->one_in_shift[BACKEND_TX]));
	}
	return rows;
}

json_t *shedding_json(const struct governor *governor)
{
	struct governor_state now;

	governor_state(governor, &now);
	return json_pack("{s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:b, s:I, s:I, "
			 "s:f, s:I, s:o}",
			 "state", now.on ? "on" : "off", "budget_percent", 100 * now.host_budget,
			 "cpu_budget_percent", 100 * now.cpu_budget, "host_percent", 100 * now.host,
			 "hooks_percent", 100 * now.hooks, "programs_percent", 100 * now.programs,
			 "daemon_percent", 100 * now.daemon, "hook_ns", now.hook_ns, "cpu_percent",
			 100 * now.cpu, "cpu", (json_int_t)now.worst_cpu, "interval_ns",
			 json_count(now.interval_ns), "wake_shed", now.wake_shed, "windows_one_in",
			 (json_int_t)1 << now.window_shift, "since_ns",
			 json_count(time_monotonic() - now.since_ns), "seen_percent",
			 100 * now.seen.share, "unseen_longest_ns", json_count(now.seen.longest_ns),
			 "cpus", governed_cpus(governor_account(governor)));
}

const char *shedding_reason(const struct governor *governor, const char *question)
{
	bool latency = !strcmp(question, "rx_latency") || !strcmp(question, "tx_latency");
	bool wake = !strcmp(question, "wake");
	struct governor_state now;

	governor_state(governor, &now);
	if (!now.on)
		return NULL;
	if (wake && now.wake_shed)
		return "the scheduler's probes are detached to keep the budget; raise cost.budget and cost.cpu_budget";
	if ((latency || !strcmp(question, "napi")) && now.window_shift)
		return "stages are attached for a part of the time only, to keep the budget; `netflowctl latency` says for how much; raise cost.budget and cost.cpu_budget";
	if (latency && now.one_in_shift)
		return "not every packet is followed, to keep the budget; `netflowctl status` says 1 in how many";
	return NULL;
}
