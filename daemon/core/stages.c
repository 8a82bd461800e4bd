/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/core/stages.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "common/array.h"
#include "daemon/core/packet.h"

#define S(stage) (1U << NF_STAGE_##stage)
#define P(probe) (1U << NF_PROBE_##probe)

/* Both probes are necessary to know whether a CPU serves a softirq. */
#define SOFTIRQ (P(SOFTIRQ_ENTRY) | P(SOFTIRQ_EXIT))
#define RECEIVE_SIDE (S(IRQ) | S(SOFTIRQ_RAISE) | S(SOFTIRQ_ENTRY) | S(RECEIVE))
#define TRANSMIT_SIDE (S(QUEUE) | S(START_XMIT) | S(XMIT) | S(FREE))

/*
 * Why a stage is not in a record that has the stages `have`, although all its probes run; NULL: the skb did not pass
 * it.
 */
typedef const char *(*why_absent)(const struct nf_journey_record *record, unsigned int have);

static const char *why_no_irq(const struct nf_journey_record *record, unsigned int have)
{
	(void)have;
	/* See nf_irq_exit() in bpf/cpu.h. */
	return record->flags & NF_JOURNEY_POLLED
		       ? "no interrupt of its own: the softirq found it while it polled on, or an earlier run of that softirq passed it on; it may have arrived earlier than shown"
		       : NULL;
}

static const char *why_no_raise(const struct nf_journey_record *record, unsigned int have)
{
	(void)record;
	/* nf_softirq_enter() uses the first of several raises for all of them. */
	return have & S(SOFTIRQ_ENTRY)
		       ? "raised again before an earlier run of the softirq was entered: netflowd counts the raise for that run"
		       : NULL;
}

static const char *why_no_receive(const struct nf_journey_record *record, unsigned int have)
{
	(void)record;
	(void)have;
	return "overwritten: another skb took the entry that held the receive stages";
}

static const char *why_no_sock_queue(const struct nf_journey_record *record, unsigned int have)
{
	struct packet packet;

	(void)have;
	packet_parse(&record->bytes, &packet);
	/* A reader cannot take a segment while TCP queues and announces it: the socket is locked. */
	if (packet.parts & PACKET_L4 && packet.ip.protocol == IPPROTO_TCP)
		return "its reader took it before the kernel announced it to the socket (SO_RCVLOWAT, TCP Fast Open), or the kernel announced more segments at once than netflowd looks at";
	return "its reader took it before the kernel announced it to the socket";
}

static const char *why_no_copy(const struct nf_journey_record *record, unsigned int have)
{
	(void)record;
	(void)have;
	return "the record does not contain it";
}

static const char *why_no_queue(const struct nf_journey_record *record, unsigned int have)
{
	(void)have;
	return record->flags & NF_JOURNEY_NO_QUEUE ? "cut from a GSO skb after net_dev_queue"
						   : "the record does not contain it";
}

static const char *why_no_start(const struct nf_journey_record *record, unsigned int have)
{
	(void)record;
	(void)have;
	return "freed before start_xmit: cut into segments (GSO), or copied";
}

static const char *why_no_xmit(const struct nf_journey_record *record, unsigned int have)
{
	if (!(have & S(START_XMIT)))
		return why_no_start(record, have);
	return "received by its peer, or freed, before net_dev_xmit";
}

/*
 * An skb need not pass the stages without `why`: no interrupt raised the softirq, the reader did not wait, or the skb
 * was passed on instead of freed.
 */
static const struct stage {
	const char *name;
	unsigned int probes; /* the stage is not known without all of these */
	why_absent why;
} stage_table[NF_STAGE_COUNT] = {
	[NF_STAGE_IRQ] = {"irq",
			  P(IRQ_HANDLER_ENTRY) | P(IRQ_HANDLER_EXIT) | P(SOFTIRQ_RAISE) | SOFTIRQ,
			  why_no_irq},
	[NF_STAGE_SOFTIRQ_RAISE] = {"softirq_raise", P(SOFTIRQ_RAISE) | SOFTIRQ, why_no_raise},
	[NF_STAGE_SOFTIRQ_ENTRY] = {"softirq_entry", SOFTIRQ, NULL},
	[NF_STAGE_RECEIVE] = {"receive", P(NETIF_RECEIVE_SKB), why_no_receive},
	[NF_STAGE_GAP_FILLED] = {"gap_filled", P(SK_DATA_READY), NULL},
	[NF_STAGE_SOCK_QUEUE] = {"sock_queue", P(SK_DATA_READY), why_no_sock_queue},
	[NF_STAGE_WAKEUP] = {"wakeup", P(SCHED_WAKING) | P(SCHED_SWITCH) | P(SK_DATA_READY), NULL},
	[NF_STAGE_RUN] = {"run", P(SCHED_WAKING) | P(SCHED_SWITCH) | P(SK_DATA_READY), NULL},
	[NF_STAGE_COPY] = {"copy", 0, why_no_copy},
	[NF_STAGE_QUEUE] = {"queue", P(NET_DEV_QUEUE), why_no_queue},
	[NF_STAGE_START_XMIT] = {"start_xmit", P(NET_DEV_START_XMIT), why_no_start},
	[NF_STAGE_XMIT] = {"xmit", P(NET_DEV_START_XMIT) | P(NET_DEV_XMIT), why_no_xmit},
	[NF_STAGE_FREE] = {"free", 0, NULL},
};

/* The stages that an skb with this outcome can pass, and the stage with which the times of all others are compared. */
static const struct outcome {
	const char *name;
	unsigned int stages;
	enum nf_stage anchor;
} outcomes[] = {
	[NF_OUTCOME_DELIVERED] = {"delivered",
				  RECEIVE_SIDE | S(GAP_FILLED) | S(SOCK_QUEUE) | S(WAKEUP) |
					  S(RUN) | S(COPY),
				  NF_STAGE_RECEIVE},
	[NF_OUTCOME_TRANSMITTED] = {"transmitted", TRANSMIT_SIDE, NF_STAGE_QUEUE},
	[NF_OUTCOME_FORWARDED] = {"forwarded", RECEIVE_SIDE | TRANSMIT_SIDE, NF_STAGE_QUEUE},
};

#define OUTCOMES (ARRAY_SIZE(outcomes))

const char *stage_name(enum nf_stage stage)
{
	return stage_table[stage].name;
}

const char *outcome_name(enum nf_outcome outcome)
{
	return outcomes[outcome].name;
}

/* ---- stages that the record has --------------------------------------------- */

static unsigned int present(const struct nf_journey_record *record, unsigned int possible)
{
	unsigned int have = 0;

	for (int i = 0; i < NF_STAGE_COUNT; i++)
		if (record->stage_ns[i] && possible & 1U << i)
			have |= 1U << i;
	return have;
}

/*
 * The stages of `have` whose times are in the only possible order: backward from the anchor, and forward from it to the
 * end of the record.  The raise and the interrupt may come in either order: loopback raises in a task, then an
 * interrupt raises again.
 */
static unsigned int in_order(const struct nf_journey_record *record, unsigned int have, int anchor)
{
	uint64_t limit = record->stage_ns[anchor];

	for (int i = anchor - 1; i >= 0; i--) {
		if (!(have & 1U << i))
			continue;
		if (record->stage_ns[i] > limit)
			have &= ~(1U << i);
		else if (i != NF_STAGE_SOFTIRQ_RAISE)
			limit = record->stage_ns[i];
	}
	limit = record->stage_ns[anchor];
	for (int i = anchor + 1; i < NF_STAGE_COUNT; i++) {
		if (!(have & 1U << i))
			continue;
		if (record->stage_ns[i] < limit || record->stage_ns[i] > record->header.time_ns)
			have &= ~(1U << i);
		else
			limit = record->stage_ns[i];
	}
	return have;
}

static void take_stages(struct stages *stages, const struct nf_journey_record *record,
			unsigned int have)
{
	const struct stage_time raise = {NF_STAGE_SOFTIRQ_RAISE,
					 record->stage_ns[NF_STAGE_SOFTIRQ_RAISE]};

	for (int i = 0; i < NF_STAGE_COUNT; i++)
		if (have & 1U << i)
			stages->stage[stages->count++] =
				(struct stage_time){(enum nf_stage)i, record->stage_ns[i]};
	if (have & S(IRQ) && have & S(SOFTIRQ_RAISE) && raise.time_ns < stages->stage[0].time_ns) {
		stages->stage[1] = stages->stage[0];
		stages->stage[0] = raise;
	}
}

/* ---- stages that it lacks --------------------------------------------------- */

static const char *without_probe(const struct stage_probes *probes, unsigned int needed)
{
	for (int i = 0; i < NF_PROBE_COUNT; i++)
		if (needed & 1U << i && probes->without[i][0])
			return probes->without[i];
	return NULL;
}

/* Stages that this journey did not pass, as far as is known. */
static unsigned int not_passed(const struct outcome *outcome, unsigned int have,
			       const struct stage_probes *probes)
{
	const unsigned int before = S(IRQ) | S(SOFTIRQ_RAISE) | S(SOFTIRQ_ENTRY);

	if (!(have & S(RECEIVE)) && outcome->stages & S(RECEIVE))
		return before; /* lost together with `receive`, which is listed as missing */
	if (!(have & S(SOFTIRQ_ENTRY)) && !probes->without[NF_PROBE_SOFTIRQ_ENTRY][0])
		return before; /* received outside a softirq */
	return 0;
}

static const char *why_missing(int stage, const struct nf_journey_record *record, unsigned int have,
			       const struct stage_probes *probes)
{
	const char *reason = without_probe(probes, stage_table[stage].probes);

	if (reason || !stage_table[stage].why)
		return reason;
	return stage_table[stage].why(record, have);
}

static void take_missing(struct stages *stages, const struct nf_journey_record *record,
			 const struct outcome *outcome, unsigned int have, unsigned int disordered,
			 const struct stage_probes *probes)
{
	unsigned int absent = outcome->stages & ~have & ~not_passed(outcome, have, probes);

	absent |= disordered;
	for (int i = 0; i < NF_STAGE_COUNT; i++) {
		const char *reason;

		if (!(absent & 1U << i))
			continue;
		reason = disordered & 1U << i
				 ? "out of order: its time contradicts the times of other stages"
				 : why_missing(i, record, have, probes);
		if (reason)
			stages->missing[stages->missing_count++] =
				(struct stage_missing){(enum nf_stage)i, reason};
	}
}

/* ---- reading ----------------------------------------------------------------- */

static size_t longest(const struct stages *stages)
{
	uint64_t most = 0;
	size_t at = 0;

	for (size_t i = 0; i + 1 < stages->count; i++) {
		uint64_t ns = stages->stage[i + 1].time_ns - stages->stage[i].time_ns;

		if (ns > most) {
			most = ns;
			at = i;
		}
	}
	return at;
}

int stages_read(struct stages *stages, const struct nf_journey_record *record,
		const struct stage_probes *probes)
{
	struct stages fresh = {0};
	const struct outcome *outcome;
	unsigned int all, have;
	int anchor;

	if (record->outcome >= OUTCOMES)
		return -EINVAL;
	outcome = &outcomes[record->outcome];
	all = present(record, outcome->stages);
	anchor = outcome->anchor;
	if (!(all & 1U << anchor)) /* a segment of a GSO skb begins there */
		anchor = NF_STAGE_START_XMIT;
	if (!(all & 1U << anchor) || record->stage_ns[anchor] > record->header.time_ns)
		return -ENODATA;
	have = in_order(record, all, anchor);
	take_stages(&fresh, record, have);
	if (fresh.count < 2)
		return -ENODATA;
	take_missing(&fresh, record, outcome, have, all & ~have, probes);
	fresh.total_ns = fresh.stage[fresh.count - 1].time_ns - fresh.stage[0].time_ns;
	fresh.dominant = longest(&fresh);
	fresh.outcome = (enum nf_outcome)record->outcome;
	*stages = fresh;
	return 0;
}
