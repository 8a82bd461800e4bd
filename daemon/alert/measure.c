/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/alert/measure.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/segment_name.h"
#include "common/time.h"
#include "common/units.h"
#include "daemon/alert/origins.h"
#include "daemon/alert/quantiles.h"
#include "daemon/alert/window.h"
#include "daemon/core/packet.h"
#include "daemon/core/stages.h"
#include "daemon/core/verdict.h"
#include "daemon/kernel/netns_names.h"

/* Parts of a sum that `detail` lists separately. */
#define PARTS 5

struct alert_measure {
	struct alert_window window;
	struct alert_window part[PARTS];
	struct alert_window begun;	   /* of a rule with a share */
	struct alert_quantiles *quantiles; /* of a latency rule; otherwise NULL */
	struct alert_origins *origins;	   /* of a drop_rate rule; otherwise NULL */
	uint32_t netns; /* inode number of the namespace that these counters are of; 0: not known */
	bool marked;
	uint64_t mark, total; /* of drops: they are read again only if the mark changes */
	uint64_t sum, mixed;  /* of drops, at the last reading; see read_everywhere() */
};

/* One reading while it is taken. */
struct measuring {
	struct alert_measure *measure;
	const struct alert_rule *rule;
	const struct alert_source *source;
	uint64_t now;
	struct alert_reading *to;
	uint64_t total; /* sum of the counters visited so far */
	uint64_t mixed; /* sum of the mixed ones, which are not in the total */
	struct alert_slots slots;
};

int alert_measure_new(struct alert_measure **measure, const struct alert_rule *rule)
{
	struct alert_measure *fresh = calloc(1, sizeof(*fresh));
	int r = 0;

	if (!fresh)
		return -ENOMEM;
	alert_window_init(&fresh->window, rule->window_ns);
	alert_window_init(&fresh->begun, rule->window_ns);
	for (int i = 0; i < PARTS; i++)
		alert_window_init(&fresh->part[i], rule->window_ns);
	if (alert_kinds[rule->kind].unit == ALERT_UNIT_DURATION)
		r = alert_quantiles_new(&fresh->quantiles, rule->window_ns);
	else if (rule->kind == ALERT_DROP_RATE)
		r = alert_origins_new(&fresh->origins);
	if (r < 0)
		free(fresh);
	else
		*measure = fresh;
	return r;
}

void alert_measure_free(struct alert_measure **measure)
{
	if (!*measure)
		return;
	alert_quantiles_free(&(*measure)->quantiles);
	alert_origins_free(&(*measure)->origins);
	free(*measure);
	*measure = NULL;
}

/* Set the value from the growth of a counter: a count, or a rate. */
static void read_window(struct measuring *reading, uint64_t total)
{
	struct alert_window *window = &reading->measure->window;
	struct alert_reading *to = reading->to;
	uint64_t over_ns;

	alert_window_add(window, reading->now, total);
	to->whole = alert_window_growth(window, &to->count, &over_ns);
	to->value = (double)to->count;
	if (alert_kinds[reading->rule->kind].unit == ALERT_UNIT_RATE)
		to->value *= (double)TIME_NS_PER_SECOND / (double)over_ns;
	to->known = true;
}

/* Add a part of the sum to `detail`, by name, if it grew within the window. */
static void read_part(struct measuring *reading, int part, const char *name, uint64_t total)
{
	struct alert_window *window = &reading->measure->part[part];
	char *detail = reading->to->detail;
	size_t used = strlen(detail);
	uint64_t growth, over_ns;

	alert_window_add(window, reading->now, total);
	alert_window_growth(window, &growth, &over_ns);
	if (growth)
		snprintf(detail + used, ALERT_DETAIL_MAX - used, "%s%s %s", used ? ", " : "", name,
			 units_count(growth).s);
}

/* ---- drops --------------------------------------------------------------- */

/* Whether the rule counts drops wherever they are, so that keys which fold stay in its sum. */
static bool counts_everywhere(const struct alert_rule *rule)
{
	return !rule->device[0] && !rule->netns && !rule->protocol[0];
}

/* Whether the meaning of a drop decides, which keys that fold can lose. */
static bool asks_what(const struct alert_rule *rule)
{
	return rule->reasons || rule->classes != VERDICT_CLASSES_ALL;
}

static int add_drops(const struct alert_drops *drops, void *userdata)
{
	struct measuring *reading = userdata;
	char protocol[PACKET_PROTOCOL_MAX];
	bool moved;

	if ((drops->gone || drops->unkeyed) && !counts_everywhere(reading->rule))
		return 0;
	if (drops->mixed && asks_what(reading->rule)) {
		reading->mixed += drops->packets;
		return 0;
	}
	if (!alert_rule_takes(reading->rule, drops->device, drops->netns) ||
	    !alert_rule_takes_cause(reading->rule, drops->cause))
		return 0;
	if (reading->rule->protocol[0]) {
		packet_drop_protocol(drops->protocol, drops->key_flags, drops->l4, protocol);
		if (!alert_rule_takes_protocol(reading->rule, protocol))
			return 0;
	}
	reading->total += drops->packets;
	/* A device that got the name of the rule brings the drops that it had under another name. */
	moved = reading->rule->device[0] && reading->measure->marked &&
		drops->named_ns > reading->measure->mark;
	return drops->gone ? 0 : alert_origins_add(reading->measure->origins, drops, moved);
}

/*
 * "NO_SOCKET 381 of 400 (95.2 %), 380 of these at udp_rcv+0x1f on device eth0, netns 4026531840"; on a
 * kernel without drop reasons, and if none could be inferred, "380 of 400 at …".
 */
static void describe_origin(const struct measuring *reading)
{
	const struct alert_source *source = reading->source;
	struct alert_reading *to = reading->to;
	struct alert_main_origin top;
	struct alert_drop_names names;
	char of_reason[NAMES_LENGTH_MAX + 128] = "", netns[32] = "";

	if (!alert_origins_main(reading->measure->origins, &reading->measure->window, &top))
		return;
	source->name_drops(source->userdata, &top.key, &names);
	strcpy(to->reason, names.reason);
	to->inferred = names.inferred;
	if (names.reason[0])
		snprintf(of_reason, sizeof(of_reason), "%s%s %s of %s (%s), ", names.reason,
			 names.inferred ? " (inferred)" : "", units_count(top.reason_packets).s,
			 units_count(to->count).s, units_share(top.reason_packets, to->count).s);
	if (top.netns)
		snprintf(netns, sizeof(netns), ", netns %u", top.netns);
	snprintf(to->detail, sizeof(to->detail), "%s%s of %s at %s %s%s%s", of_reason,
		 units_count(top.packets).s, names.reason[0] ? "these" : units_count(to->count).s,
		 names.location, top.device[0] ? "on device " : "without a device", top.device,
		 netns);
}

/*
 * How much the drops of a rule have grown that counts them everywhere.  If it asks what they are, keys that fold into a
 * mixed sum leave its total.  What all other keys grew is then the least that it can be.
 */
static uint64_t grown_everywhere(const struct measuring *reading)
{
	const struct alert_measure *measure = reading->measure;
	uint64_t more = reading->total > measure->sum ? reading->total - measure->sum : 0;
	uint64_t least = alert_origins_grown(measure->origins);

	if (!measure->marked)
		return 0;
	return reading->mixed != measure->mixed && least > more ? least : more;
}

static int read_drops(struct measuring *reading)
{
	struct alert_measure *measure = reading->measure;
	const struct alert_source *source = reading->source;
	uint64_t mark = source->drops_mark(source->userdata);
	int r = 0;

	if (!measure->marked || mark != measure->mark) {
		alert_origins_begin(measure->origins);
		r = source->drops(source->userdata, add_drops, reading);
		if (r == 0) {
			/* The sum of a rule that asks where falls when keys fold; its origins' growth does not. */
			measure->total += counts_everywhere(reading->rule)
						  ? grown_everywhere(reading)
						  : alert_origins_grown(measure->origins);
			measure->sum = reading->total;
			measure->mixed = reading->mixed;
			measure->marked = true;
			measure->mark = mark;
		}
	}
	if (r < 0)
		return r;
	read_window(reading, measure->total);
	r = alert_origins_end(measure->origins, &measure->window);
	if (r == 0)
		describe_origin(reading);
	return r;
}

/* ---- latency ------------------------------------------------------------- */

static int add_device(const struct alert_device *device, void *userdata)
{
	struct measuring *reading = userdata;

	if (!alert_rule_takes(reading->rule, device->name, device->netns))
		return 0;
	return alert_quantiles_add(reading->measure->quantiles, device, device->hist);
}

static void describe_worst(struct alert_reading *to, const struct alert_rule *rule,
			   const struct alert_worst *worst)
{
	to->value = (double)worst->ns;
	to->count = worst->packets;
	snprintf(to->detail, sizeof(to->detail), "%s%s%s%.0u, %s%s packets through %s %s",
		 worst->device[0] ? "device " : "devices without a slot of their own",
		 worst->device, worst->netns ? ", netns " : "", worst->netns,
		 worst->estimate ? "≈ " : "", units_count(worst->packets).s,
		 segment_histograms[rule->segment].direction,
		 segment_name_text(segment_histograms[rule->segment].name).s);
}

static int read_latency(struct measuring *reading)
{
	struct alert_quantiles *quantiles = reading->measure->quantiles;
	const struct alert_source *source = reading->source;
	const struct alert_rule *rule = reading->rule;
	struct alert_worst worst;
	int r = 0;

	if (alert_quantiles_due(quantiles, reading->now)) {
		alert_quantiles_begin(quantiles, reading->now);
		r = source->devices(source->userdata, rule->segment, add_device, reading);
		alert_quantiles_end(quantiles);
	}
	if (r < 0)
		return r;
	/* Without packets, no packet waited. */
	reading->to->value = 0;
	if (alert_quantiles_worst(quantiles, rule->quantile, rule->at_least, &worst)) {
		describe_worst(reading->to, rule, &worst);
	} else if (alert_quantiles_sparse(quantiles, rule->at_least)) {
		snprintf(reading->to->unknown, sizeof(reading->to->unknown),
			 "netflowd sheds load and followed fewer than %s journeys in the window",
			 units_count(rule->at_least).s);
		return 0;
	}
	reading->to->known = true;
	reading->to->whole = alert_quantiles_whole(quantiles);
	return 0;
}

/* ---- slots --------------------------------------------------------------- */

static int add_slots(const struct alert_slots *slots, void *userdata)
{
	struct measuring *reading = userdata;
	struct alert_slots *sum = &reading->slots;

	if (!alert_rule_takes(reading->rule, slots->device, slots->netns))
		return 0;
	/* A device without a ring has no limit; it counts only for a rule that names it. */
	if (!slots->ring && !reading->rule->device[0])
		return 0;
	sum->linearized += slots->linearized;
	sum->dropped += slots->dropped;
	sum->others += slots->others;
	sum->logged += slots->logged;
	sum->near_misses += slots->near_misses;
	return 0;
}

static int read_slots(struct measuring *reading)
{
	const struct alert_source *source = reading->source;
	const struct alert_slots *sum = &reading->slots;
	int r = source->slots(source->userdata, add_slots, reading);

	if (r < 0)
		return r;
	if (reading->rule->kind == ALERT_NEAR_MISS_RATE) {
		read_window(reading, sum->near_misses);
		return 0;
	}
	read_window(reading, sum->linearized + sum->dropped + sum->others + sum->logged);
	read_part(reading, 0, "linearized", sum->linearized);
	read_part(reading, 1, "dropped", sum->dropped);
	read_part(reading, 2, "of another outcome", sum->others);
	read_part(reading, 3, "only in the kernel's log", sum->logged);
	return 0;
}

/* ---- the daemon and the host --------------------------------------------- */

static int read_squeezed(struct measuring *reading)
{
	const struct alert_source *source = reading->source;
	uint64_t squeezed;
	int r = source->squeezed(source->userdata, &squeezed);

	if (r == 0)
		read_window(reading, squeezed);
	return r;
}

/* Turn the growth of the gaps into their share of the events that began in the window; few gaps are no share. */
static void read_share(struct measuring *reading, uint64_t begun)
{
	struct alert_window *window = &reading->measure->begun;
	struct alert_reading *to = reading->to;
	uint64_t growth, over_ns;

	alert_window_add(window, reading->now, begun);
	alert_window_growth(window, &growth, &over_ns);
	to->value = 0;
	if (to->count < reading->rule->at_least)
		return;
	/* Lost events did not always begin: an event can be missed. */
	if (growth < to->count)
		growth = to->count;
	to->value = 100.0 * (double)to->count / (double)growth;
	snprintf(to->detail, sizeof(to->detail), "%s of %s", units_count(to->count).s,
		 units_count(growth).s);
}

static int read_ledger(struct measuring *reading)
{
	const struct alert_source *source = reading->source;
	struct alert_ledger ledger = {0};
	int r = source->ledger(source->userdata, &ledger);

	if (r < 0)
		return r;
	read_window(reading, ledger.ring_full + ledger.unkeyed + ledger.overwritten +
				     ledger.missed + ledger.unaccounted);
	if (reading->rule->unit == ALERT_UNIT_SHARE)
		read_share(reading, ledger.begun);
	read_part(reading, 0, "ring_full", ledger.ring_full);
	read_part(reading, 1, "unkeyed", ledger.unkeyed);
	read_part(reading, 2, "overwritten", ledger.overwritten);
	read_part(reading, 3, "missed", ledger.missed);
	read_part(reading, 4, "unaccounted", ledger.unaccounted);
	return 0;
}

static int read_probes(struct measuring *reading)
{
	const struct alert_source *source = reading->source;
	struct alert_probes probes = {0};
	int r = source->probes(source->userdata, &probes);

	if (r < 0)
		return r;
	reading->to->known = reading->to->whole = true;
	reading->to->count = probes.lost;
	reading->to->value = (double)probes.lost;
	snprintf(reading->to->detail, ALERT_DETAIL_MAX, "%s", probes.text);
	return 0;
}

static int read_pause(struct measuring *reading)
{
	const struct alert_source *source = reading->source;
	const char *paused = source->paused ? source->paused(source->userdata) : NULL;

	reading->to->known = reading->to->whole = true;
	reading->to->count = paused ? 1 : 0;
	reading->to->value = paused ? 1 : 0;
	snprintf(reading->to->detail, ALERT_DETAIL_MAX, "%s", paused ? paused : "");
	return 0;
}

/* ---- all conditions ------------------------------------------------------ */

static const struct {
	enum alert_input input;
	int (*read)(struct measuring *reading);
} readers[ALERT_KIND_COUNT] = {
	[ALERT_SLOT_OVERFLOW] = {ALERT_INPUT_SLOTS, read_slots},
	[ALERT_NEAR_MISS_RATE] = {ALERT_INPUT_SLOTS, read_slots},
	[ALERT_DROP_RATE] = {ALERT_INPUT_DROPS, read_drops},
	[ALERT_LATENCY] = {ALERT_INPUT_LATENCY, read_latency},
	[ALERT_TIME_SQUEEZE] = {ALERT_INPUT_SOFTNET, read_squeezed},
	[ALERT_LEDGER_GAP] = {ALERT_INPUT_LEDGER, read_ledger},
	[ALERT_PROBE_LOST] = {ALERT_INPUT_PROBES, read_probes},
	[ALERT_PAUSED] = {ALERT_INPUT_PAUSE, read_pause},
};

/* What was counted so far says nothing about another namespace, though it has the same name. */
static int forget(struct alert_measure *measure, const struct alert_rule *rule)
{
	struct alert_measure *fresh, old = *measure;
	int r = alert_measure_new(&fresh, rule);

	if (r < 0)
		return r;
	*measure = *fresh;
	*fresh = old;
	alert_measure_free(&fresh);
	return 0;
}

/*
 * The namespace that the rule names now.  While none does, the rule keeps the last one for its
 * evidence, and what was counted is forgotten: the name, and the number, may come back as another
 * namespace.
 */
static int find_netns(struct alert_measure *measure, struct alert_rule *rule,
		      const struct alert_source *source, char unknown[static ALERT_UNKNOWN_MAX])
{
	uint32_t inode = 0;
	int r = source->netns(source->userdata, rule->netns, &inode);

	if (r == -ENOENT)
		snprintf(unknown, ALERT_UNKNOWN_MAX, "there is no network namespace named %s",
			 rule->netns);
	else if (r == -EACCES)
		snprintf(unknown, ALERT_UNKNOWN_MAX, NETNS_NAMES_HIDDEN);
	else if (r < 0)
		snprintf(unknown, ALERT_UNKNOWN_MAX, "the network namespace %s is not known: %s",
			 rule->netns, strerror(-r));
	if (r < 0) {
		measure->netns = 0;
		return r;
	}
	if (measure->netns != inode)
		r = forget(measure, rule);
	if (r < 0) {
		snprintf(unknown, ALERT_UNKNOWN_MAX, "%s", strerror(-r));
		return r;
	}
	measure->netns = rule->netns_inode = inode;
	return 0;
}

void alert_measure_read(struct alert_measure *measure, struct alert_rule *rule,
			const struct alert_source *source, uint64_t now, struct alert_reading *to)
{
	const char *missing = source->missing(source->userdata, readers[rule->kind].input, rule);
	struct measuring reading = {
		.measure = measure, .rule = rule, .source = source, .now = now, .to = to};
	int r;

	*to = (struct alert_reading){.time_ns = now};
	if (!missing && rule->without_reasons)
		missing =
			"the rule names drop reasons that this kernel does not give and netflowd does not infer";
	if (missing) {
		snprintf(to->unknown, sizeof(to->unknown), "%s", missing);
		return;
	}
	if (rule->netns && find_netns(measure, rule, source, to->unknown) < 0)
		return;
	r = readers[rule->kind].read(&reading);
	if (r == 0)
		return;
	to->known = false;
	snprintf(to->unknown, sizeof(to->unknown), "cannot read the counters: %s",
		 r == -EAGAIN ? "the first reading is under way" : strerror(-r));
}

enum alert_input alert_measure_input(const struct alert_rule *rule)
{
	return readers[rule->kind].input;
}

bool alert_measure_due(const struct alert_measure *measure, uint64_t now)
{
	return !measure->quantiles || alert_quantiles_due(measure->quantiles, now);
}
