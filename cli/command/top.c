/* SPDX-License-Identifier: GPL-2.0-or-later */
/* netflowctl top: the live view. */
#include "cli/ask/options.h"
#include "cli/command/command.h"
#include "cli/live/live.h"

#define INTERVAL_DEFAULT_MS 1000

static const struct argument arguments[] = {
	OPTION("interval", SECONDS, interval_ms, .value = "S", .min = 100, .max = 3600 * 1000,
	       .help = "seconds from one picture to the next (1)"),
	OPTION("count", NUMBER, count, .value = "N", .min = 1, .max = INT32_MAX,
	       .help = "plain pictures below each other, as for what is no terminal, and end after N"),
	OPTION_DEVICE("drops, latency and polls of this device only"),
	{},
};

static enum report_status run(struct session *session)
{
	struct arguments *given = &session->arguments;

	if (given->json) {
		report("top draws pictures; status, drops, latency and napi have --json");
		return REPORT_USAGE;
	}
	if (given->interval_ms < 0)
		given->interval_ms = INTERVAL_DEFAULT_MS;
	return live_run(session);
}

const struct command command_top = {
	.name = "top",
	.summary = "a live view: rates, drops, latency, polls, cost",
	.arguments = arguments,
	.notes =
		"Keys: 1 to 5 and Tab switch views, s sorts, / chooses a device, space pauses, h helps,\n"
		"q quits. Rates, percentiles and histograms are those of the last interval, all devices\n"
		"together; no packet of it took longer than what stands under \"max\".\n",
	.run = run,
};
