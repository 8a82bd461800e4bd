/* SPDX-License-Identifier: GPL-2.0-or-later */
/* netflowctl slow: single packets and where their time went. */
#include <errno.h>
#include <string.h>

#include "cli/ask/follow.h"
#include "cli/ask/options.h"
#include "cli/command/command.h"
#include "cli/file/pcap_option.h"
#include "cli/show/held.h"
#include "cli/show/timeline.h"

#define METHOD "io.netflowd.GetLatencyRecords"
/* Longer than any duration that histograms tell apart. */
#define OVER_MAX_NS (3600LL * 1000000000)

static const char *const about[] = {"rx_latency", "tx_latency", NULL};

static const struct argument arguments[] = {
	{.name = "over",
	 .value = "TIME",
	 .type = ARGUMENT_DURATION,
	 .offset = offsetof(struct arguments, over_ns),
	 .max = OVER_MAX_NS,
	 .help = "of any packets those that took longer, in all or in the --segment"},
	{.name = "segment",
	 .value = "S",
	 .type = ARGUMENT_TEXT,
	 .offset = offsetof(struct arguments, segment),
	 .help = "only those that have this segment, such as receive_to_copy"},
	OPTION_DEVICE("only those that crossed the device of this name"),
	OPTION_NETNS,
	OPTION_FLAG(samples, "packets that were drawn at random instead of slow ones"),
	OPTION_FLAG(all, "both"),
	OPTION_FLAG(follow, "as they happen, until Ctrl-C; with --json one a line"),
	OPTION_COUNT(limit, "the newest N records (100); with --follow end after N"),
	OPTION_PCAP("them"),
	{},
};

/* With a bound of one's own the daemon's thresholds do not matter. */
static json_t *slow_parameter(const struct arguments *given)
{
	if (given->samples)
		return json_false();
	return given->all || given->over_ns >= 0 ? NULL : json_true();
}

static json_t *parameters_of(const struct session *session)
{
	const struct arguments *given = &session->arguments;

	return session_parameters(
		"over_ns", session_number(given->over_ns), "segment", session_text(given->segment),
		"device", session_text(given->device), "netns", session_text(given->netns),
		"filter", session_text(session->filter), "slow", slow_parameter(given), "limit",
		session_number(given->follow ? -1 : given->limit), NULL);
}

static struct held held_by(const struct arguments *given)
{
	struct held held = {.method = METHOD,
			    .one = "slow path",
			    .many = "slow paths",
			    .chosen = "paths",
			    .about = about,
			    .put = timeline_put};

	if (given->samples) {
		held.one = "sample";
		held.many = "samples";
	} else if (given->all || given->over_ns >= 0) {
		held.one = "path";
		held.many = "paths";
	}
	return held;
}

static enum report_status put_one(void *data, const json_t *record)
{
	struct session *session = data;
	const struct held held = held_by(&session->arguments);

	return held_put_one(session, record, &held);
}

static enum report_status run(struct session *session)
{
	const struct arguments *given = &session->arguments;
	const struct held held = held_by(given);
	const struct follow follow = {
		.kind = "latency", .record = put_one, .data = session, .duration_ms = -1};

	if (given->samples && given->all) {
		report("--samples and --all do not go together");
		return REPORT_USAGE;
	}
	if (given->pcap && given->json) {
		report("--pcap writes packets; it does not go with --json");
		return REPORT_USAGE;
	}
	if (given->pcap)
		return pcap_option_write(session, "latency", METHOD, parameters_of(session));
	if (given->follow)
		return follow_records(session, parameters_of(session), &follow);
	return held_show(session, parameters_of(session), &held);
}

const struct command command_slow = {
	.name = "slow",
	.summary = "packets that took long, and at which stage",
	.arguments = arguments,
	.word = "[EXPRESSION]",
	.words = true,
	.notes =
		"EXPRESSION is one of tcpdump's, see pcap-filter(7): tcp port 443 and net 10.0.0.0/8.\n"
		"Each stage stands with the time since the first one, then that since the one before\n"
		"and its share of the total; * marks where most of it went. Totals may only be compared\n"
		"where no stage is missing.\n",
	.run = run,
};
