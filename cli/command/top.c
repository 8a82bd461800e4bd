/* SPDX-License-Identifier: GPL-2.0-or-later */
/* netflowctl top: the live view. */
#include "cli/ask/options.h"
#include "cli/command/command.h"
#include "cli/live/live.h"

#define INTERVAL_DEFAULT_MS 1000

static const struct argument arguments[] = {
	OPTION("interval", SECONDS, interval_ms, .value = "S", .min = 100, .max = 3600 * 1000,
	       .help = "take a reading every S seconds, 0.1 to 3600 (1)"),
	OPTION("count", NUMBER, count, .value = "N", .min = 1, .max = INT32_MAX,
	       .help = "print N plain frames, as without a terminal, then exit"),
	OPTION_DEVICE("show drops, latency and polls of this device only"),
	{},
};

static enum report_status run(struct session *session)
{
	struct arguments *given = &session->arguments;

	if (given->json) {
		report("top has no --json; use status, drops, latency or napi");
		return REPORT_USAGE;
	}
	if (given->interval_ms < 0)
		given->interval_ms = INTERVAL_DEFAULT_MS;
	return live_run(session);
}

const struct command command_top = {
	.name = "top",
	.summary = "show live rates, drops, latency, polls and cost",
	.arguments = arguments,
	.notes =
		"Keys: 1 to 5 and Tab switch views, s sorts, / chooses a device, space pauses, h shows help, q quits.\n"
		"Rates, percentiles and histograms are those of the last interval, of all devices together or of --dev.\n"
		"No packet in that interval took longer than \"max\".\n",
	.run = run,
};
