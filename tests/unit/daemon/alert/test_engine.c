/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rules evaluated from counters that a test sets, on a clock that it sets too. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/knowledge.h"
#include "daemon/alert/engine.h"
#include "daemon/alert/text.h"
#include "daemon/core/drop.h"
#include "daemon/core/names.h"
#include "tests/unit/test.h"

#define S UINT64_C(1000000000)
#define EVENTS_MAX 64

struct told {
	char name[ALERT_NAME_MAX + 1];
	enum alert_change change;
	bool told;
	uint64_t time_ns;
	char text[ALERT_TEXT_MAX];
};

struct fixture {
	/* the values that the source returns */
	const char *missing, *paused;
	int error;
	uint64_t mark, drops, other_drops, squeezed;
	uint64_t elsewhere; /* drops at many locations, of a reason of their own */
	uint64_t mixed;	    /* folded drops of NO_SOCKET, whose evidence is lost */
	bool without_reasons;
	bool inferred, messages; /* NO_SOCKET is inferred; its skbs are messages */
	struct cause cause[4];
	unsigned int drops_read;
	uint64_t linearized, dropped, near_misses, logged;
	uint64_t measured; /* overflows of a device without a ring */
	struct alert_ledger ledger;
	struct alert_probes probes;
	struct nf_hist slow[NF_SEGMENT_COUNT], fast[NF_SEGMENT_COUNT];
	bool slow_gone;
	uint32_t blue; /* inode number of the namespace of that name; 0: there is none */
	/* the engine and the events that it reported */
	struct names *names;
	struct alert_engine *engine;
	uint64_t now;
	struct told told[EVENTS_MAX];
	size_t count;
};

/* ---- the source ---------------------------------------------------------- */

static const char *missing(void *userdata, enum alert_input input, const struct alert_rule *rule)
{
	const struct fixture *f = userdata;

	(void)input;
	(void)rule;
	return f->missing;
}

static int number_netns(void *userdata, const char *text, uint32_t *inode)
{
	const struct fixture *f = userdata;

	*inode = strcmp(text, "blue") ? (uint32_t)atoi(text) : f->blue;
	return *inode ? 0 : -ENOENT;
}

static uint64_t drops_mark(void *userdata)
{
	return ((const struct fixture *)userdata)->mark;
}

static int drops(void *userdata, int (*visit)(const struct alert_drops *, void *), void *data)
{
	struct fixture *f = userdata;
	struct cause *cause = f->cause;
	const struct alert_drops rows[] = {
		{.cause = &cause[0],
		 .device = "eth0",
		 .netns = 1,
		 .protocol = 0x0800,
		 .key_flags = NF_KEY_L4,
		 .l4 = 17,
		 .packets = f->drops},
		{.cause = &cause[1],
		 .device = "eth1",
		 .netns = 2,
		 .protocol = 0x86dd,
		 .key_flags = NF_KEY_L4,
		 .l4 = 6,
		 .packets = f->other_drops},
	};
	const struct alert_drops mixed = {
		.cause = &cause[3], .device = "", .packets = f->mixed, .gone = true, .mixed = true};
	struct alert_drops elsewhere = {.cause = &cause[2], .device = "", .packets = f->elsewhere};
	int r = f->error;

	for (int i = 0; i < 4; i++) {
		static const uint32_t numbers[] = {3, 8, 77, 3};
		static const enum knowledge_class classes[] = {KNOWLEDGE_BENIGN, KNOWLEDGE_POLICY,
							       KNOWLEDGE_FAULT, KNOWLEDGE_UNKNOWN};

		cause[i] = (struct cause){
			.has_reason = true,
			.reason = numbers[i],
			.verdict = {.reason = names_reason(f->names, numbers[i]),
				    .class = classes[i],
				    .inferred = f->inferred && !i,
				    .message = f->messages && !i},
		};
	}
	f->drops_read++;
	for (size_t i = 0; i < 2 && r == 0; i++)
		r = visit(&rows[i], data);
	for (elsewhere.location = 9; f->elsewhere && elsewhere.location && r == 0;
	     elsewhere.location--)
		r = visit(&elsewhere, data);
	return f->mixed && r == 0 ? visit(&mixed, data) : r;
}

static void name_drops(void *userdata, const struct nf_drop_key *key,
		       struct alert_drop_names *names)
{
	const struct fixture *f = userdata;
	const char *name = names_reason(f->names, key->reason);

	snprintf(names->reason, sizeof(names->reason), "%s",
		 f->without_reasons ? "" : (name ? name : "?"));
	snprintf(names->location, sizeof(names->location), "location_%u",
		 (unsigned int)key->location);
	names->inferred = f->inferred && key->reason == 3;
}

static int devices(void *userdata, enum nf_segment segment,
		   int (*visit)(const struct alert_device *, void *), void *data)
{
	struct fixture *f = userdata;
	const struct alert_device fast = {
		.name = "fast", .ifindex = 1, .netns = 1, .hist = &f->fast[segment]};
	const struct alert_device slow = {
		.name = "slow", .ifindex = 2, .netns = 1, .hist = &f->slow[segment]};
	int r = visit(&fast, data);

	return r || f->slow_gone ? r : visit(&slow, data);
}

static int slots(void *userdata, int (*visit)(const struct alert_slots *, void *), void *data)
{
	const struct fixture *f = userdata;
	const struct alert_slots rows[] = {
		{.device = "eth0",
		 .netns = 1,
		 .ring = true,
		 .linearized = f->linearized,
		 .dropped = f->dropped,
		 .near_misses = f->near_misses},
		{.device = "veth0", .netns = 1, .others = f->measured},
		{.ring = true, .logged = f->logged},
	};
	int r = 0;

	for (size_t i = 0; i < 3 && r == 0; i++)
		r = visit(&rows[i], data);
	return r;
}

static int squeezed(void *userdata, uint64_t *count)
{
	*count = ((const struct fixture *)userdata)->squeezed;
	return 0;
}

static int ledger(void *userdata, struct alert_ledger *to)
{
	*to = ((const struct fixture *)userdata)->ledger;
	return 0;
}

static int probes(void *userdata, struct alert_probes *to)
{
	*to = ((const struct fixture *)userdata)->probes;
	return 0;
}

static const char *paused(void *userdata)
{
	return ((const struct fixture *)userdata)->paused;
}

/* ---- the fixture -------------------------------------------------------- */

static void take(void *userdata, const struct alert_event *event)
{
	struct fixture *f = userdata;
	struct told *told = &f->told[f->count++];

	assert_true(f->count < EVENTS_MAX);
	strcpy(told->name, event->alert->rule->name);
	told->change = event->change;
	told->told = event->reported;
	told->time_ns = event->time_ns;
	alert_text_event(event, told->text);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	const struct alert_source source = {missing,	number_netns, drops_mark, drops,
					    name_drops, devices,      slots,	  squeezed,
					    ledger,	probes,	      paused,	  f};

	assert_non_null(f);
	assert_int_equal(names_new(&f->names), 0);
	names_add_reason(f->names, 3, "SKB_DROP_REASON_NO_SOCKET");
	names_add_reason(f->names, 8, "SKB_DROP_REASON_NETFILTER_DROP");
	f->now = 1000 * S;
	assert_int_equal(alert_engine_new(&f->engine, &source, take, f), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	alert_engine_free(&f->engine);
	names_free(&f->names);
	free(f);
	return 0;
}

EACH_TEST(setup, teardown);

static void load(struct fixture *f, const char *text)
{
	struct alert_rules *rules;

	assert_int_equal(alert_rules_new(&rules), 0);
	assert_int_equal(alert_rules_parse(rules, "x.conf", text, f->names), 0);
	assert_int_equal(alert_engine_load(f->engine, &rules, f->now), 0);
	assert_null(rules);
}

static const struct alert *get(struct fixture *f, const char *name)
{
	const char *nearest;
	const struct alert *alert = alert_engine_find(f->engine, name, &nearest);

	assert_non_null(alert);
	return alert;
}

/* Advances the clock by one second and evaluates the rules. */
static void tick(struct fixture *f)
{
	f->now += S;
	f->mark++;
	alert_engine_tick(f->engine, f->now);
}

static void ticks(struct fixture *f, unsigned int seconds)
{
	while (seconds--)
		tick(f);
}

static void add(struct nf_hist *hist, uint64_t ns, uint64_t count)
{
	hist->bucket[nf_hist_bucket(ns)] += count;
	hist->sum_ns += ns * count;
	if (ns > hist->max_ns)
		hist->max_ns = ns;
}

static void expect(struct fixture *f, size_t at, const char *name, enum alert_change change)
{
	assert_true(f->count > at);
	assert_string_equal(f->told[at].name, name);
	assert_int_equal(f->told[at].change, change);
}

/* ---- conditions ---------------------------------------------------------- */

#define DROPS "[alert drops]\ncondition = drop_rate\nwindow = 10s\nover = 5\nclear = 1\n"

TEST(test_drop_rate)
{
	struct fixture *f = *state;

	f->drops = 1000; /* older than the rule */
	load(f, DROPS);
	ticks(f, 20);
	assert_int_equal(f->count, 0);
	/* 20/s: after three seconds the window has more than 50. */
	for (int i = 0; i < 3; i++) {
		f->drops += 20;
		tick(f);
	}
	expect(f, 0, "drops", ALERT_FIRED);
	assert_true(get(f, "drops")->reading.value == 6);
	assert_int_equal(get(f, "drops")->reading.count, 60);
	/* The rate exceeds 1/s until ten seconds after the last drop. */
	ticks(f, 9);
	assert_int_equal(f->count, 1);
	ticks(f, 1);
	expect(f, 1, "drops", ALERT_ENDED);
	assert_int_equal(get(f, "drops")->fired.count, 60);
	assert_non_null(
		strstr(f->told[0].text, "alert drops fired (warning): 6.00/s dropped packets"));
	assert_non_null(strstr(f->told[1].text, "alert drops resolved (warning) after 10.0 s"));
}

static const char *detail(struct fixture *f)
{
	return get(f, "drops")->reading.detail;
}

/* The most frequent reason among the window's drops, and its cause; older drops do not count. */
TEST(test_main_reason)
{
	struct fixture *f = *state;
	const struct alert *alert;

	names_add_reason(f->names, 77, "SKB_DROP_REASON_QDISC_DROP");
	f->other_drops = 100000;
	f->drops = 7;
	load(f, DROPS);
	tick(f);
	assert_string_equal(detail(f), "");
	alert = get(f, "drops");
	assert_string_equal(alert_cause(alert), alert_kinds[ALERT_DROP_RATE].cause);
	for (int i = 0; i < 12; i++) {
		f->drops += 95;
		f->other_drops += 5;
		tick(f);
	}
	assert_string_equal(detail(f),
			    "NO_SOCKET 950 of 1,000 (95.0 %), 950 of these at location_0 on device "
			    "eth0, netns 1");
	assert_int_equal(alert->reading.count, 1000);
	expect(f, 0, "drops", ALERT_FIRED);
	assert_non_null(strstr(f->told[0].text, "NO_SOCKET 95 of 100 (95.0 %)"));
	assert_string_equal(alert_cause(alert), knowledge_reason("NO_SOCKET")->cause);
	assert_string_equal(alert_remedy(alert), knowledge_reason("NO_SOCKET")->remedy);
	/* Each of nine locations has fewer than NO_SOCKET's one, and together they have more. */
	f->elsewhere += 200;
	ticks(f, 2);
	assert_string_equal(detail(f),
			    "QDISC_DROP 1,800 of 2,600 (69.2 %), 200 of these at location_1 "
			    "without a device");
	assert_string_equal(alert_cause(alert), knowledge_reason("QDISC_DROP")->cause);
	/* All that is over; it begins again at one location. */
	ticks(f, 20);
	assert_string_equal(detail(f), "");
	f->other_drops += 30;
	tick(f);
	assert_string_equal(detail(f),
			    "NETFILTER_DROP 30 of 30 (100 %), 30 of these at location_0 on "
			    "device eth1, netns 2");
	f->without_reasons = true;
	tick(f);
	assert_string_equal(detail(f), "30 of 30 at location_0 on device eth1, netns 2");
}

static uint64_t counted(struct fixture *f, const char *name)
{
	return get(f, name)->reading.count;
}

/* Keys that fold without their evidence are neither new drops of another class, nor do they hide new ones. */
TEST(test_folded_drops_keep_their_class)
{
	struct fixture *f = *state;

	f->drops = f->other_drops = 1000;
	load(f,
	     "[alert unknown]\ncondition = drop_rate\nwindow = 10s\nover = 5\nclass = unknown\n"
	     "[alert known]\ncondition = drop_rate\nwindow = 10s\nover = 5\nclass = benign, policy\n"
	     "[alert all]\ncondition = drop_rate\nwindow = 10s\nover = 5\n");
	tick(f);
	f->drops -= 900;
	f->mixed += 900;
	f->other_drops += 30;
	tick(f);
	assert_int_equal(counted(f, "unknown"), 0);
	assert_int_equal(counted(f, "known"), 30);
	assert_int_equal(counted(f, "all"), 30);
	f->drops += 7;
	tick(f);
	assert_int_equal(counted(f, "unknown"), 0);
	assert_int_equal(counted(f, "known"), 37);
	assert_int_equal(counted(f, "all"), 37);
}

/* The rule's own cause and remedy take precedence. */
TEST(test_own_cause)
{
	struct fixture *f = *state;

	load(f, DROPS "cause = mine\nremedy = Do it.\n");
	f->drops += 100;
	tick(f);
	expect(f, 0, "drops", ALERT_FIRED);
	assert_string_equal(get(f, "drops")->reading.reason, "NO_SOCKET");
	assert_string_equal(alert_cause(get(f, "drops")), "mine");
	assert_string_equal(alert_remedy(get(f, "drops")), "Do it.");
}

/* The engine reads the counters again only after they change. */
TEST(test_drops_are_read_when_there_are_new_ones)
{
	struct fixture *f = *state;
	unsigned int before;

	load(f, DROPS);
	tick(f);
	before = f->drops_read;
	for (int i = 0; i < 30; i++) {
		f->now += S;
		alert_engine_tick(f->engine, f->now);
	}
	assert_int_equal(f->drops_read, before);
	tick(f);
	assert_int_equal(f->drops_read, before + 1);
}

TEST(test_selection)
{
	static const struct {
		const char *keys;
		bool fires;
	} cases[] = {
		{"reason = NO_SOCKET", true},
		{"reason = NETFILTER_DROP", false},
		{"reason = !NETFILTER_DROP", true},
		{"reason = ! NO_SOCKET", false},
		{"class = benign", true},
		{"class = fault unknown benign", true},
		{"class = fault, policy", false},
		{"class = benign\nreason = NETFILTER_DROP", false},
		{"device = eth0", true},
		{"device = eth1", false},
		{"netns = 1", true},
		{"netns = 2", false},
		{"netns = blue", true},
		{"netns = red", false},
		{"protocol = ipv4/udp", true},
		{"protocol = ipv4", true},
		{"protocol = ipv4/tcp", false},
		{"protocol = ipv", false},
	};
	struct fixture *f = *state;

	f->blue = 1;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[256];

		snprintf(text, sizeof(text), DROPS "%s\n", cases[i].keys);
		load(f, "");
		load(f, text);
		f->drops += 100;
		f->count = 0;
		tick(f);
		if ((f->count == 1) != cases[i].fires)
			fail_msg("%s: %zu events", cases[i].keys, f->count);
	}
}

/* A name stands for what it is called at each reading, not for what it was at the load. */
TEST(test_netns_by_name)
{
	struct fixture *f = *state;

	f->drops = f->other_drops = 1000;
	load(f, DROPS "netns = blue\n");
	tick(f);
	assert_false(get(f, "drops")->reading.known);
	assert_string_equal(get(f, "drops")->reading.unknown,
			    "there is no network namespace named blue");

	/* it comes; what it dropped before is no growth */
	f->blue = 1;
	ticks(f, 20);
	assert_true(get(f, "drops")->reading.known);
	assert_true(get(f, "drops")->reading.value == 0);
	f->drops += 100;
	f->other_drops += 1000;
	tick(f);
	assert_int_equal(get(f, "drops")->reading.count, 100);
	expect(f, 0, "drops", ALERT_FIRED);
	assert_non_null(strstr(f->told[0].text, "dropped packets on netns blue over 10.0 s"));

	/* a reload keeps what was counted */
	load(f, DROPS "netns = blue\n");
	assert_int_equal(get(f, "drops")->reading.count, 100);

	/* another namespace gets the name: its counter stands higher, which is no growth either */
	f->blue = 2;
	tick(f);
	assert_int_equal(get(f, "drops")->reading.count, 0);
	ticks(f, 20);
	expect(f, 1, "drops", ALERT_ENDED);
	f->other_drops += 60;
	tick(f);
	assert_int_equal(get(f, "drops")->reading.count, 60);
	expect(f, 2, "drops", ALERT_FIRED);

	/* without the namespace nobody knows: what fires goes on */
	f->blue = 0;
	ticks(f, 30);
	assert_false(get(f, "drops")->reading.known);
	assert_int_equal(get(f, "drops")->state.phase, ALERT_FIRING);
	f->other_drops += 500;

	/* made again, perhaps with the same number */
	f->blue = 2;
	tick(f);
	assert_true(get(f, "drops")->reading.known);
	assert_int_equal(get(f, "drops")->reading.count, 0);
	ticks(f, 20);
	expect(f, 3, "drops", ALERT_ENDED);
	assert_int_equal(f->count, 4);
}

TEST(test_latency)
{
	struct fixture *f = *state;
	const int segment = NF_SEGMENT_RECEIVE_TO_COPY;

	add(&f->slow[segment], 900 * 1000 * 1000, 1000); /* older than the rule */
	load(f, "[alert late]\ncondition = latency\nsegment = receive_to_copy\nwindow = 10s\n"
		"over = 5ms\nquantile = p90\nat_least = 50\n");
	for (int i = 0; i < 20; i++) {
		add(&f->fast[segment], 1000, 100);
		tick(f);
	}
	assert_int_equal(f->count, 0);
	assert_true(get(f, "late")->reading.value < 2000);
	/* Fewer than at_least packets do not count. */
	add(&f->slow[segment], 20 * 1000 * 1000, 40);
	tick(f);
	assert_int_equal(f->count, 0);
	/* The many fast packets of the other device do not hide the slow ones. */
	add(&f->slow[segment], 20 * 1000 * 1000, 20);
	tick(f);
	expect(f, 0, "late", ALERT_FIRED);
	assert_true(get(f, "late")->reading.value > 17e6 && get(f, "late")->reading.value < 23e6);
	assert_int_equal(get(f, "late")->reading.count, 60);
	assert_non_null(strstr(f->told[0].text, "device slow, netns 1"));
	assert_non_null(strstr(f->told[0].text, "p90 of rx receive→copy was"));
	/* A deleted device has no latency, so the alert ends. */
	f->slow_gone = true;
	ticks(f, 2);
	expect(f, 1, "late", ALERT_ENDED);
}

/* While load is shed, at_least counts followed journeys, and a rule without enough of them says so. */
TEST(test_latency_estimated)
{
	struct fixture *f = *state;
	struct nf_hist *slow = &f->slow[NF_SEGMENT_RECEIVE_TO_COPY];

	load(f, "[alert late]\ncondition = latency\nsegment = receive_to_copy\nwindow = 10s\n"
		"over = 5ms\nquantile = p90\nat_least = 50\n");
	tick(f);
	/* 40 journeys, each in place of 4. */
	add(slow, 20 * 1000 * 1000, 160);
	slow->journeys += 40;
	slow->variance += 40 * 4 * 3;
	tick(f);
	assert_false(get(f, "late")->reading.known);
	assert_string_equal(
		get(f, "late")->reading.unknown,
		"netflowd sheds load and followed fewer than 50 journeys in the window");
	add(slow, 20 * 1000 * 1000, 40);
	slow->journeys += 10;
	slow->variance += 10 * 4 * 3;
	tick(f);
	assert_true(get(f, "late")->reading.known);
	assert_int_equal(get(f, "late")->reading.count, 200);
	assert_non_null(strstr(get(f, "late")->reading.detail, "≈ 200 packets"));
}

TEST(test_no_packets_wait_no_time)
{
	struct fixture *f = *state;

	load(f,
	     "[alert late]\ncondition = latency\nsegment = tx_total\nwindow = 10s\nover = 1ms\n");
	add(&f->slow[NF_SEGMENT_TX_TOTAL], 50 * 1000 * 1000, 100);
	tick(f);
	expect(f, 0, "late", ALERT_FIRED);
	ticks(f, 12);
	expect(f, 1, "late", ALERT_ENDED);
	assert_true(get(f, "late")->reading.value == 0);
}

TEST(test_slots)
{
	struct fixture *f = *state;

	load(f, "[alert overflow]\ncondition = slot_overflow\nwindow = 60s\n"
		"[alert elsewhere]\ncondition = slot_overflow\ndevice = eth1\n"
		"[alert named]\ncondition = slot_overflow\ndevice = veth0\n"
		"[alert near]\ncondition = near_miss_rate\nwindow = 10s\nover = 2/s\n");
	f->linearized = 2;
	f->dropped = 1;
	f->near_misses = 25;
	tick(f);
	assert_int_equal(f->count, 2);
	expect(f, 0, "overflow", ALERT_FIRED);
	expect(f, 1, "near", ALERT_FIRED);
	assert_int_equal(get(f, "overflow")->reading.count, 3);
	assert_string_equal(get(f, "overflow")->reading.detail, "linearized 2, dropped 1");
	/* Overflows known only from the log count, too; those of a device without a ring count only if named. */
	f->logged = 1;
	f->measured = 7;
	tick(f);
	assert_int_equal(get(f, "overflow")->reading.count, 4);
	assert_string_equal(get(f, "overflow")->reading.detail,
			    "linearized 2, dropped 1, only in the kernel's log 1");
	expect(f, 2, "named", ALERT_FIRED);
	assert_string_equal(get(f, "named")->reading.detail, "of another outcome 7");
	ticks(f, 59);
	assert_int_equal(get(f, "overflow")->state.phase, ALERT_FIRING);
	ticks(f, 2);
	assert_int_equal(get(f, "overflow")->state.phase, ALERT_RESOLVED);
}

TEST(test_squeezed_gaps_probes)
{
	struct fixture *f = *state;

	load(f, "[alert squeezed]\ncondition = time_squeeze\nwindow = 10s\nover = 1/s\n"
		"[alert gap]\ncondition = ledger_gap\nwindow = 10s\nover = 3\n"
		"[alert probes]\ncondition = probe_lost\n");
	f->squeezed = 10;
	f->ledger.ring_full = 1;
	f->ledger.overwritten = 2;
	tick(f);
	assert_int_equal(f->count, 0);
	f->squeezed = 11;
	f->ledger.missed = 1;
	f->probes.lost = 1;
	strcpy(f->probes.text, "napi_poll: gone");
	tick(f);
	assert_int_equal(f->count, 3);
	assert_string_equal(get(f, "gap")->reading.detail, "ring_full 1, overwritten 2, missed 1");
	assert_non_null(strstr(f->told[2].text, "(napi_poll: gone)"));
	f->probes.lost = 0;
	tick(f);
	expect(f, 3, "probes", ALERT_ENDED);
}

TEST(test_a_pause_that_lasts)
{
	struct fixture *f = *state;

	load(f, "[alert paused]\ncondition = paused\nfor = 2s\n");
	tick(f);
	f->paused = "paused since noon";
	tick(f);
	assert_int_equal(f->count, 0);
	ticks(f, 3);
	assert_int_equal(f->count, 1);
	assert_non_null(strstr(f->told[0].text, "paused since noon"));
	f->paused = NULL;
	tick(f);
	expect(f, 1, "paused", ALERT_ENDED);
}

/* ---- values that are not known ------------------------------------------- */

/* A share of what began, whatever the load; a few lost events are no share. */
TEST(test_gaps_as_a_share)
{
	struct fixture *f = *state;

	load(f, "[alert gap]\ncondition = ledger_gap\nwindow = 10s\nover = 0.1%\nclear = 0.01%\n"
		"at_least = 100\n");
	tick(f);
	/* 99 of 99: too few. */
	f->ledger.overwritten = 99;
	f->ledger.begun = 99;
	tick(f);
	assert_int_equal(f->count, 0);
	assert_true(get(f, "gap")->reading.value == 0);
	/* 2,000 of 4 million are 0.05 %. */
	f->ledger.overwritten = 2000;
	f->ledger.begun = 4000000;
	tick(f);
	assert_int_equal(f->count, 0);
	assert_true(get(f, "gap")->reading.value > 0.0499 && get(f, "gap")->reading.value < 0.0501);
	/* 8,000 of 4 million are 0.2 %. */
	f->ledger.ring_full = 6000;
	tick(f);
	expect(f, 0, "gap", ALERT_FIRED);
	assert_string_equal(get(f, "gap")->reading.detail,
			    "8,000 of 4,000,000, ring_full 6,000, overwritten 2,000");
	assert_non_null(strstr(f->told[0].text, "of all events"));
}

TEST(test_unknown)
{
	struct fixture *f = *state;

	f->missing = "there is no backend";
	load(f, DROPS "for = 2s\n");
	ticks(f, 3);
	assert_false(get(f, "drops")->reading.known);
	assert_string_equal(get(f, "drops")->reading.unknown, "there is no backend");
	assert_int_equal(get(f, "drops")->state.phase, ALERT_INACTIVE);
	f->missing = NULL;
	f->error = -EIO;
	tick(f);
	assert_non_null(strstr(get(f, "drops")->reading.unknown, "cannot read the counters: "));
	f->error = 0;
	tick(f);
	f->drops = 1000;
	ticks(f, 3);
	expect(f, 0, "drops", ALERT_FIRED);
	/* A firing alert does not end because its value cannot be read. */
	f->missing = "there is no backend";
	ticks(f, 100);
	assert_int_equal(f->count, 1);
	assert_int_equal(get(f, "drops")->state.phase, ALERT_FIRING);
}

/* ---- reload ------------------------------------------------------------- */

static void fire(struct fixture *f)
{
	load(f, DROPS);
	f->drops += 1000;
	tick(f);
	expect(f, 0, "drops", ALERT_FIRED);
}

TEST(test_reload_keeps_state)
{
	struct fixture *f = *state;
	uint64_t since;

	fire(f);
	since = get(f, "drops")->state.since_ns;
	assert_int_equal(alert_engine_silence(f->engine, "drops", f->now + 500 * S), 0);
	load(f, "[alert new]\ncondition = probe_lost\n" DROPS "severity = critical\n");
	assert_int_equal(alert_engine_count(f->engine), 2);
	assert_int_equal(get(f, "drops")->state.phase, ALERT_FIRING);
	assert_int_equal(get(f, "drops")->state.since_ns, since);
	assert_int_equal(get(f, "drops")->state.fired, 1);
	assert_int_equal(get(f, "drops")->rule->severity, ALERT_CRITICAL);
	assert_true(alert_state_silenced(&get(f, "drops")->state, f->now));
	assert_int_equal(f->count, 1);
	/* The reload also kept its window. */
	ticks(f, 9);
	assert_int_equal(f->count, 1);
	ticks(f, 1);
	expect(f, 1, "drops", ALERT_ENDED);
}

/* A changed window begins empty, so the alert fires until the new window is full. */
TEST(test_reload_with_another_condition)
{
	struct fixture *f = *state;

	fire(f);
	load(f, "[alert drops]\ncondition = drop_rate\nwindow = 20s\nover = 5\n");
	ticks(f, 19);
	assert_int_equal(f->count, 1);
	assert_int_equal(get(f, "drops")->state.phase, ALERT_FIRING);
	ticks(f, 1);
	expect(f, 1, "drops", ALERT_ENDED);
}

TEST(test_rule_removed_or_disabled)
{
	struct fixture *f = *state;

	fire(f);
	load(f, DROPS "enabled = no\n");
	expect(f, 1, "drops", ALERT_ENDED);
	assert_non_null(strstr(f->told[1].text, "its rule was disabled"));
	f->drops += 1000;
	ticks(f, 5);
	assert_int_equal(f->count, 2);
	load(f, DROPS);
	f->drops += 1000;
	tick(f);
	expect(f, 2, "drops", ALERT_FIRED);
	load(f, "");
	expect(f, 3, "drops", ALERT_ENDED);
	assert_non_null(strstr(f->told[3].text, "its rule was removed"));
	assert_int_equal(alert_engine_count(f->engine), 0);
}

/* ---- queries ------------------------------------------------------------ */

TEST(test_find)
{
	const struct alert_exec_result result = {
		.time_ns = 7, .fine = true, .text = "exit status 0"};
	struct fixture *f = *state;
	const char *nearest;

	load(f, DROPS "[alert probes]\ncondition = probe_lost\n");
	assert_null(alert_engine_find(f->engine, "drop", &nearest));
	assert_string_equal(nearest, "drops");
	assert_null(alert_engine_find(f->engine, "something-else", &nearest));
	assert_null(nearest);
	assert_int_equal(alert_engine_silence(f->engine, "drop", 1), -ENOENT);
	alert_engine_note_exec(f->engine, "probes", &result);
	alert_engine_note_exec(f->engine, "gone", &result);
	assert_string_equal(get(f, "probes")->exec.text, "exit status 0");
	assert_string_equal(alert_engine_get(f->engine, 1)->rule->name, "probes");
}
