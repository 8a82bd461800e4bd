/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/alert/rule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/knowledge.h"
#include "common/time.h"
#include "daemon/core/drop.h"
#include "daemon/core/journey.h"
#include "daemon/core/transmit.h"
#include "daemon/core/verdict.h"

#define SECONDS(n) ((n)*TIME_NS_PER_SECOND)

const struct alert_kind alert_kinds[ALERT_KIND_COUNT] = {
	[ALERT_SLOT_OVERFLOW] =
		{
			.name = "slot_overflow",
			.unit = ALERT_UNIT_COUNT,
			.takes = ALERT_TAKES_DEVICE | ALERT_TAKES_NETNS | ALERT_TAKES_WINDOW,
			.has_over = true,
			.window_ns = SECONDS(60),
			.what = "transmits that need more ring slots than the device has",
			.cause =
				"a large packet (GSO) whose data lies in many small pieces of pages: the driver linearizes or drops it",
			.remedy =
				"ethtool -K DEV tso off (or gso off) makes packets small, but costs more CPU per byte; netflowctl slots --records shows the packets",
		},
	[ALERT_NEAR_MISS_RATE] =
		{
			.name = "near_miss_rate",
			.unit = ALERT_UNIT_RATE,
			.takes = ALERT_TAKES_DEVICE | ALERT_TAKES_NETNS | ALERT_TAKES_WINDOW,
			.window_ns = SECONDS(60),
			.what = "transmits at the limit of the device's ring slots, or one below",
			.cause =
				"large packets (GSO) whose data lies in many small pieces of pages: slightly larger ones overflow",
			.remedy =
				"watch for overflows; ethtool -K DEV tso off (or gso off) makes packets small",
		},
	[ALERT_DROP_RATE] =
		{
			.name = "drop_rate",
			.unit = ALERT_UNIT_RATE,
			.takes = ALERT_TAKES_REASON | ALERT_TAKES_DEVICE | ALERT_TAKES_NETNS |
				 ALERT_TAKES_PROTOCOL | ALERT_TAKES_WINDOW,
			.window_ns = SECONDS(10),
			.what = "dropped packets",
			.cause =
				"a full queue or buffer, no receiver, a firewall or a broken packet: the reason of the drop records says which",
			.remedy =
				"netflowctl drops --by reason shows the reasons; netflowctl drops --by flow --reason R shows whose packets they are",
		},
	[ALERT_LATENCY] =
		{
			.name = "latency",
			.unit = ALERT_UNIT_DURATION,
			.takes = ALERT_TAKES_SEGMENT | ALERT_TAKES_DEVICE | ALERT_TAKES_NETNS |
				 ALERT_TAKES_WINDOW | ALERT_TAKES_AT_LEAST,
			.window_ns = SECONDS(60),
			.what = "quantile of a segment's latency, of the device where it is highest",
			.cause =
				"packets wait in this segment: a full queue, a busy CPU or a slow reader",
			.remedy =
				"netflowctl slow shows single packets and where their time went; netflowctl napi shows whether CPUs keep up",
		},
	[ALERT_TIME_SQUEEZE] =
		{
			.name = "time_squeeze",
			.unit = ALERT_UNIT_RATE,
			.takes = ALERT_TAKES_WINDOW,
			.window_ns = SECONDS(60),
			.what = "receive softirqs that ended with packets left",
			.cause =
				"a CPU receives more packets than one softirq may process (net.core.netdev_budget, netdev_budget_usecs)",
			.remedy =
				"netflowctl napi shows the CPU; spread its queues over more CPUs (RSS, RPS, irq affinity), or raise net.core.netdev_budget and netdev_budget_usecs",
		},
	[ALERT_LEDGER_GAP] =
		{
			.name = "ledger_gap",
			.unit = ALERT_UNIT_COUNT,
			.has_share = true,
			.takes = ALERT_TAKES_WINDOW | ALERT_TAKES_AT_LEAST,
			.has_over = true,
			.window_ns = SECONDS(60),
			.what = "events that netflowd could not record or follow",
			.cause =
				"more records than the ring holds, more drop keys or packets in flight than their tables hold, or a daemon without CPU time",
			.remedy =
				"netflowctl status names what is full; raise ring.bytes (ring_full), drops.keys (unkeyed) or inflight.entries (overwritten)",
		},
	[ALERT_PROBE_LOST] =
		{
			.name = "probe_lost",
			.unit = ALERT_UNIT_COUNT,
			.has_over = true,
			.what = "probes that should be attached and are not",
			.cause =
				"the kernel lacks a feature that the probe needs, refuses the probe, or has it switched off; the reason says which",
			.remedy =
				"netflowctl probes shows the reason, and the questions that have no answer without the probe",
		},
	[ALERT_PAUSED] =
		{
			.name = "paused",
			.unit = ALERT_UNIT_COUNT,
			.has_over = true,
			.what = "pauses in force: probes are detached because an administrator wants it",
			.cause =
				"netflowctl pause without --for, or the file /etc/netflowd/pause, that was forgotten",
			.remedy =
				"netflowctl status shows who paused netflowd and since when; netflowctl resume, or removing the file, ends it",
		},
};

static const char *const severities[ALERT_SEVERITY_COUNT] = {
	[ALERT_INFO] = "info", [ALERT_WARNING] = "warning", [ALERT_CRITICAL] = "critical"};

const char *alert_severity_name(enum alert_severity severity)
{
	return severities[severity];
}

const char *alert_action_name(enum alert_action action)
{
	switch (action) {
	case ALERT_TO_JOURNAL:
		return "journal";
	case ALERT_TO_STREAM:
		return "stream";
	case ALERT_TO_EXEC:
		return "exec";
	}
	return NULL;
}

int alert_rule_new(struct alert_rule **rule, const char *name)
{
	struct alert_rule *fresh = calloc(1, sizeof(*fresh));

	if (!fresh)
		return -ENOMEM;
	strncpy(fresh->name, name, ALERT_NAME_MAX);
	fresh->kind = ALERT_KIND_COUNT;
	fresh->segment = NF_SEGMENT_COUNT;
	fresh->classes = VERDICT_CLASSES_ALL;
	*rule = fresh;
	return 0;
}

void alert_rule_free(struct alert_rule **rule)
{
	if (!*rule)
		return;
	free((*rule)->file);
	free((*rule)->netns);
	free((*rule)->exec);
	free((*rule)->cause);
	free((*rule)->remedy);
	free(*rule);
	*rule = NULL;
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

bool alert_rule_same_condition(const struct alert_rule *a, const struct alert_rule *b)
{
	return a->kind == b->kind && a->reasons == b->reasons &&
	       !memcmp(a->reason, b->reason, a->reasons * sizeof(a->reason[0])) &&
	       a->not_reasons == b->not_reasons && a->classes == b->classes &&
	       !strcmp(a->device, b->device) && same_text(a->netns, b->netns) &&
	       !strcmp(a->protocol, b->protocol) && a->segment == b->segment &&
	       a->window_ns == b->window_ns && a->unit == b->unit;
}

static const struct knowledge *known(const char *reason)
{
	return reason && reason[0] ? knowledge_reason(reason) : NULL;
}

const char *alert_rule_cause(const struct alert_rule *rule, const char *reason)
{
	const struct knowledge *entry = known(reason);

	if (rule->cause)
		return rule->cause;
	return entry ? entry->cause : alert_kinds[rule->kind].cause;
}

const char *alert_rule_remedy(const struct alert_rule *rule, const char *reason)
{
	const struct knowledge *entry = known(reason);

	if (rule->remedy)
		return rule->remedy;
	return entry ? entry->remedy : alert_kinds[rule->kind].remedy;
}

/* ---- selection ----------------------------------------------------------- */

bool alert_rule_takes_cause(const struct alert_rule *rule, const struct cause *cause)
{
	if (cause->verdict.message || !(rule->classes & VERDICT_CLASS_BIT(cause->verdict.class)))
		return false;
	for (size_t i = 0; i < rule->reasons; i++)
		if (reason_takes(&rule->reason[i], cause))
			return !rule->not_reasons;
	return !rule->reasons || rule->not_reasons;
}

bool alert_rule_takes(const struct alert_rule *rule, const char *device, uint32_t netns)
{
	if (rule->device[0] && (!device || strncmp(rule->device, device, NF_DEVICE_NAME)))
		return false;
	/* A name that nothing had so far takes none, not even those whose namespace is not known. */
	return !rule->netns || (rule->netns_inode && rule->netns_inode == netns);
}

bool alert_rule_takes_protocol(const struct alert_rule *rule, const char *protocol)
{
	size_t length = strlen(rule->protocol);

	return !length || (!strncmp(rule->protocol, protocol, length) &&
			   (!protocol[length] || protocol[length] == '/'));
}

static bool takes_at(const struct alert_rule *rule, const struct device *device)
{
	return alert_rule_takes(rule, device->name, device->netns);
}

bool alert_rule_takes_drop(const struct alert_rule *rule, const struct drop *drop)
{
	return takes_at(rule, &drop->device) && alert_rule_takes_cause(rule, &drop->cause) &&
	       alert_rule_takes_protocol(rule, drop->contents.protocol);
}

/* Overflows, or near misses: at the limit or one below. */
bool alert_rule_takes_transmit(const struct alert_rule *rule, const struct transmit *transmit)
{
	bool overflow = transmit->slots > transmit->limit;

	if (!takes_at(rule, &transmit->device) || (!transmit->xen && !rule->device[0]))
		return false;
	return rule->kind == ALERT_SLOT_OVERFLOW
		       ? overflow
		       : !overflow && transmit->slots + 1 >= transmit->limit;
}

static bool crossed(const struct alert_rule *rule, const struct journey *journey)
{
	for (size_t i = 0; i < journey->devices; i++)
		if (takes_at(rule, &journey->device[i]))
			return true;
	return false;
}

bool alert_rule_takes_journey(const struct alert_rule *rule, const struct journey *journey)
{
	const struct segment_histogram *segment = &segment_histograms[rule->segment];
	const struct stages *stages = &journey->stages;
	uint64_t from =
		segment->total ? stages->stage[0].time_ns : stages_ns(stages, segment->from);
	uint64_t to = stages_ns(stages, segment->to);

	return from && to > from && (double)(to - from) > rule->clear && crossed(rule, journey);
}
