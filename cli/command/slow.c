/* SPDX-License-Identifier: GPL-2.0-or-later */
/* netflowctl slow: single packets, and in which stages their time went. */
#include <errno.h>
#include <string.h>

#include "cli/ask/options.h"
#include "cli/ask/stream.h"
#include "cli/command/command.h"
#include "cli/file/pcap_option.h"
#include "cli/show/held.h"
#include "cli/show/timeline.h"

#define METHOD "io.netflowd.GetLatencyRecords"
/* Histograms do not distinguish longer durations. */
#define OVER_MAX_NS (3600LL * 1000000000)

static const char *const about[] = {"rx_latency", "tx_latency", NULL};

static const struct argument arguments[] = {
	OPTION("over", DURATION, over_ns, .value = "TIME", .max = OVER_MAX_NS,
	       .help = "show packets, slow or sampled, that took longer than TIME, in total or in --segment; 0ns to 1h"),
	OPTION("segment", TEXT, segment, .value = "SEGMENT",
	       .help = "show only packets that have this segment, such as receive_to_copy"),
	OPTION_DEVICE("show only packets that crossed this device"),
	OPTION_NETNS,
	OPTION_FLAG(samples, "show the random sample instead of slow packets"),
	OPTION_FLAG(all, "show slow packets and the random sample"),
	OPTION_PERIOD,
	OPTION_FOLLOW("records"),
	OPTION_LIMIT,
	OPTION_PCAP,
	{},
};

/* With --over, the threshold of the command replaces those of the daemon. */
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
		given->follow ? NULL : session_records_limit(session), NULL);
}

static struct held held_by(const struct arguments *given)
{
	struct held held = {.method = METHOD,
			    .one = "slow journey",
			    .many = "slow journeys",
			    .chosen = "journeys",
			    .about = about,
			    .put = timeline_put};

	if (given->samples) {
		held.one = "sampled journey";
		held.many = "sampled journeys";
	} else if (given->all || given->over_ns >= 0) {
		held.one = "journey";
		held.many = "journeys";
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
	const struct stream follow = {
		.kind = "latency", .record = put_one, .data = session, .duration_ms = -1};

	if (given->samples && given->all) {
		report("--samples and --all cannot be used together");
		return REPORT_USAGE;
	}
	if (given->pcap && given->json) {
		report("--pcap writes packets; it cannot be used with --json");
		return REPORT_USAGE;
	}
	if (given->pcap)
		return pcap_option_write(session, "latency", METHOD, parameters_of(session));
	if (given->follow)
		return stream_follow(session, parameters_of(session), &follow);
	return held_show(session, parameters_of(session), &held);
}

const struct command command_slow = {
	.name = "slow",
	.summary = "show the journeys of slow packets stage by stage",
	.arguments = arguments,
	.word = "[EXPRESSION]",
	.words = true,
	.notes =
		"EXPRESSION is a tcpdump filter that selects packets, see pcap-filter(7): tcp port 443 and net 10.0.0.0/8.\n"
		"Each stage shows the time since the first stage, the time since the previous stage, and the share of the latter in the total.\n"
		"* marks the stage that the packet took longest to reach.\n"
		"Compare totals only of packets that have all stages.\n",
	.run = run,
};
