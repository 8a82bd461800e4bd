/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the programs must find: a model of journeys, written from docs/journeys.md.
 *
 * It keeps the time of each stage and nothing else, so that a segment is always
 * the difference of two stages, and a record that has the same stages agrees
 * with the histograms.  Its journeys are never lost to another skb: it is right
 * while the in-flight table has room for all skbs.
 */
#ifndef MODEL_H
#define MODEL_H

#include "tests/unit/bpf/path.h"

enum {
	MODEL_TASKS = 8,
	MODEL_PATH = 8,
	MODEL_DEVICES = MACHINE_NETS * MACHINE_DEVICES,
	MODEL_QUEUE = 400,
	MODEL_ANNOUNCED = 16, /* skbs that one announcement can concern */
};

struct model_journey {
	bool known; /* false: the skb has none */
	enum nf_journey kind;
	const unsigned char *head;
	__u64 stage[NF_STAGE_COUNT];
	bool no_queue, polled, queued; /* queued: announced to a socket */
	__u64 enqueued;		       /* when it was put into the queue of a UDP socket, 0 = not */
	const struct net_device *path[MODEL_PATH];
	int devices;
};

/* One skb's address, and who has it. */
struct model_skb {
	struct sk_buff *skb;
	struct model_journey journey; /* can be that of an earlier skb, which the kernel freed */
	__u64 born;		      /* when the kernel allocated it */
};

struct model_queue {
	struct model_skb *skb[MODEL_QUEUE];
	int count;
};

struct model_socket {
	bool udp;
	struct model_queue receive, reader;
};

/* The datagram that a CPU is putting into the queue of a socket. */
struct model_enqueue {
	const struct model_socket *to; /* NULL = none */
	struct model_skb *skb;
	const struct net_device *dev;
	__u64 begin, ns;
};

struct model_frame {
	const struct model_skb *skb;
	const struct net_device *dev;
	__u64 start;
};

struct model_cpu {
	__u64 irq, raise, raise_irq, entry, entry_raise, entry_irq;
	bool polled, entry_polled;
	__u32 softirq; /* 1 + vector, 0 = none */
	struct model_skb *ready;
	__u64 ready_since;
	struct model_enqueue enqueue;
	struct model_frame xmit[NF_XMIT_DEPTH];
	__u32 depth;
};

struct model_wake {
	const struct model_skb *skb;
	__u64 wakeup, run;
};

struct model_hist {
	__u64 bucket[NF_HIST_BUCKETS];
	__u64 sum, max;
};

static struct model {
	struct model_cpu cpu[MACHINE_CPUS];
	struct model_wake wake[MODEL_TASKS];
	struct model_hist hist[MODEL_DEVICES][NF_SEGMENT_COUNT];
	__u64 event[NF_EVENT_COUNT];
	/* The record that the last event makes. */
	bool has_record;
	struct nf_journey_record record;
} model;

/* ---- histograms and records ---- */

/* The smallest duration of a bucket, in ns. */
static inline __u64 model_bucket_begin(int bucket)
{
	if (bucket < NF_HIST_STEPS)
		return bucket;
	return (__u64)(NF_HIST_STEPS + bucket % NF_HIST_STEPS) << (bucket / NF_HIST_STEPS - 1);
}

static inline int model_bucket(__u64 ns)
{
	int low = 0, high = NF_HIST_BUCKETS;

	while (high - low > 1) {
		int middle = (low + high) / 2;

		if (model_bucket_begin(middle) <= ns)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static inline struct model_hist *model_hist(const struct net_device *dev, enum nf_segment segment)
{
	return &model.hist[dev - &machine.dev[0][0]][segment];
}

static inline void model_add(const struct net_device *dev, enum nf_segment segment, __u64 from,
			     __u64 to)
{
	struct model_hist *h = model_hist(dev, segment);
	__u64 ns = to > from ? to - from : 0;

	h->bucket[model_bucket(ns)]++;
	h->sum += ns;
	h->max = ns > h->max ? ns : h->max;
}

static inline const struct net_device *model_device(const struct model_journey *j)
{
	return j->path[j->devices - 1];
}

static inline void model_record_device(const struct net_device *dev)
{
	struct nf_journey_device *d = &model.record.device[model.record.devices++];

	d->ifindex = dev->ifindex;
	d->netns = dev->nd_net.net->ns.inum;
	d->netns_id = dev->nd_net.net->net_cookie;
	d->device_id = NF_DEVICE_BY_INDEX | dev->ifindex;
	memcpy(d->name, dev->name, sizeof(d->name));
}

static inline void model_recorded(const struct model_journey *j, enum nf_outcome outcome, __u64 now)
{
	struct nf_journey_record *r = &model.record;

	model.has_record = true;
	*r = (struct nf_journey_record){.header.time_ns = now, .outcome = outcome};
	memcpy(r->stage_ns, j->stage, sizeof(r->stage_ns));
	for (int i = 0; i < j->devices - 1 && i < NF_HOPS_MAX; i++)
		model_record_device(j->path[i]);
	model_record_device(model_device(j));
	r->flags = (j->no_queue ? NF_JOURNEY_NO_QUEUE : 0) | (j->polled ? NF_JOURNEY_POLLED : 0) |
		   (j->devices - 1 > NF_HOPS_MAX ? NF_JOURNEY_MORE : 0);
	model.event[NF_EVENT_CHOSEN]++;
	model.event[NF_EVENT_RECORDED]++;
}

/* ---- interrupts and softirqs ---- */

static inline void model_irq(struct model_cpu *c, __u64 now)
{
	c->irq = now;
}

static inline void model_raise(struct model_cpu *c, __u64 now)
{
	bool inside_xmit = c->depth && !c->irq;

	if (!c->raise)
		c->raise = inside_xmit ? c->xmit[c->depth - 1].start : now;
	if (c->irq && !c->raise_irq)
		c->raise_irq = c->irq;
	if (!c->irq && !inside_xmit && c->softirq == 1 + NET_RX_SOFTIRQ)
		c->polled = true;
}

static inline void model_serve(struct model_cpu *c)
{
	c->entry_raise = c->raise;
	c->entry_irq = c->raise_irq;
	c->entry_polled = c->polled;
	c->raise = c->raise_irq = 0;
	c->polled = false;
}

static inline void model_enter(struct model_cpu *c, __u32 vec, __u64 now)
{
	c->softirq = 1 + vec;
	if (vec != NET_RX_SOFTIRQ)
		return;
	c->entry = now;
	model_serve(c);
}

/* ---- how a journey begins and ends ---- */

static inline struct model_journey *model_begin(struct model_skb *s, enum nf_journey kind,
						const struct net_device *dev)
{
	model.event[NF_EVENT_BEGUN]++;
	s->journey = (struct model_journey){
		.known = true,
		.kind = kind,
		.head = s->skb->head,
		.path = {dev},
		.devices = 1,
	};
	return &s->journey;
}

static inline void model_end(struct model_skb *s, enum nf_event event)
{
	model.event[event]++;
	s->journey.known = false;
}

static inline bool model_matches(const struct model_skb *s)
{
	return s->journey.known && s->journey.head == s->skb->head;
}

static inline enum nf_event model_sent(const struct model_journey *j)
{
	return j->kind == NF_JOURNEY_FORWARD ? NF_EVENT_FORWARDED : NF_EVENT_TRANSMITTED;
}

static inline void model_transmitted(struct model_skb *s, __u64 now)
{
	model_recorded(&s->journey,
		       s->journey.kind == NF_JOURNEY_FORWARD ? NF_OUTCOME_FORWARDED
							     : NF_OUTCOME_TRANSMITTED,
		       now);
	model_end(s, model_sent(&s->journey));
}

/* The first stage of the receive side. */
static inline __u64 model_first(const struct model_journey *j)
{
	for (int stage = NF_STAGE_IRQ; stage < NF_STAGE_RECEIVE; stage++)
		if (j->stage[stage])
			return j->stage[stage];
	return j->stage[NF_STAGE_RECEIVE];
}

/* A stage before receive; it was at least one tick before. */
static inline __u64 model_before(__u64 receive, __u64 stage)
{
	return stage < receive ? stage : receive - (1 << NF_TICK_SHIFT);
}

/* `joined`: when lo or veth passed the skb on, 0 = it came from a card. */
static inline void model_arrives(struct model_cpu *c, struct model_journey *j, __u64 joined,
				 __u64 now)
{
	const struct net_device *dev = model_device(j);
	__u64 from, came;

	j->stage[NF_STAGE_RECEIVE] = now;
	if (c->softirq != 1 + NET_RX_SOFTIRQ)
		return;
	if (!joined && !c->entry_raise && c->raise_irq) {
		c->entry = c->raise > c->raise_irq ? c->raise : c->raise_irq;
		model_serve(c);
	}
	from = c->entry > joined ? c->entry : joined;
	j->stage[NF_STAGE_SOFTIRQ_ENTRY] = model_before(now, from);
	model_add(dev, NF_SEGMENT_SOFTIRQ_TO_RECEIVE, from, now);
	came = joined ? joined : c->entry_irq;
	from = c->entry_raise > came ? c->entry_raise : came;
	if (c->entry_raise && from <= c->entry) {
		j->stage[NF_STAGE_SOFTIRQ_RAISE] = model_before(now, from);
		model_add(dev, NF_SEGMENT_RAISE_TO_SOFTIRQ, from, c->entry);
	}
	if (!joined && came) {
		j->stage[NF_STAGE_IRQ] = model_before(now, came);
		model_add(dev, NF_SEGMENT_IRQ_TO_SOFTIRQ, came, c->entry);
	}
	j->polled = !joined && !came && c->entry_polled;
}

static inline void model_receive(struct model_cpu *c, struct model_skb *s, __u64 now)
{
	struct model_journey *j = &s->journey;
	__u64 joined = 0;

	if (j->known && !model_matches(s)) {
		model_end(s, NF_EVENT_INVALIDATED);
	} else if (j->known && j->kind == NF_JOURNEY_RX && s->skb->skb_iif) {
		j->path[j->devices++] = s->skb->dev;
		return;
	} else if (j->known && j->kind != NF_JOURNEY_RX && j->stage[NF_STAGE_START_XMIT]) {
		joined = j->stage[NF_STAGE_START_XMIT];
		model_transmitted(s, now);
	} else if (j->known) {
		model_end(s, NF_EVENT_INVALIDATED);
	}
	j = model_begin(s, NF_JOURNEY_RX, s->skb->dev);
	model_arrives(c, j, joined, now);
}

/* ---- readers ---- */

static inline void model_append(struct model_queue *q, struct model_skb *s)
{
	assert_true(q->count < MODEL_QUEUE);
	q->skb[q->count++] = s;
}

static inline void model_remove(struct model_queue *q, const struct model_skb *s)
{
	int at = 0;

	while (at < q->count && q->skb[at] != s)
		at++;
	assert_true(at < q->count);
	memmove(&q->skb[at], &q->skb[at + 1], sizeof(q->skb[0]) * (q->count - at - 1));
	q->count--;
}

static inline void model_splice(struct model_socket *to)
{
	for (int i = 0; i < to->receive.count; i++)
		model_append(&to->reader, to->receive.skb[i]);
	to->receive.count = 0;
}

/* Whether the skb was received, and is in no socket's queue yet as far as the probes know. */
static inline bool model_is_new(const struct model_skb *s)
{
	return model_matches(s) && s->journey.kind == NF_JOURNEY_RX && !s->journey.queued;
}

static inline void model_queued(struct model_journey *j, const struct net_device *dev, __u64 begin,
				__u64 ns)
{
	j->queued = true;
	j->stage[NF_STAGE_SOCK_QUEUE] = ns;
	model_add(dev, NF_SEGMENT_RECEIVE_TO_SOCK_QUEUE, begin, ns);
}

/* It was received before the one that TCP was waiting for. */
static inline void model_waited(struct model_journey *j, __u64 filled, __u64 now)
{
	j->queued = true;
	j->stage[NF_STAGE_GAP_FILLED] = filled;
	j->stage[NF_STAGE_SOCK_QUEUE] = now;
	model_add(model_device(j), NF_SEGMENT_GAP_WAIT, j->stage[NF_STAGE_RECEIVE], filled);
}

/* The new skbs at the end of a queue get the stage; the first of them, NULL: there is none. */
static inline struct model_skb *model_announce_queue(const struct model_queue *q, bool udp,
						     __u64 now)
{
	int end = q->count > MODEL_ANNOUNCED ? q->count - MODEL_ANNOUNCED : 0, first = q->count;
	__u64 came;

	while (first > end && model_is_new(q->skb[first - 1]))
		first--;
	if (first == q->count)
		return NULL;
	came = q->skb[first]->journey.stage[NF_STAGE_RECEIVE];
	for (int i = q->count - 1; i >= first; i--) {
		struct model_journey *j = &q->skb[i]->journey;

		if (!udp && j->stage[NF_STAGE_RECEIVE] < came)
			model_waited(j, came, now);
		else
			model_queued(j, model_device(j), j->stage[NF_STAGE_RECEIVE],
				     j->enqueued ? j->enqueued : now);
	}
	return q->skb[first];
}

static inline void model_enqueue(struct model_cpu *c, const struct model_socket *to,
				 struct model_skb *s, __u64 now)
{
	struct model_journey *j = &s->journey;

	c->enqueue = (struct model_enqueue){0};
	if (!model_is_new(s))
		return;
	j->enqueued = now;
	c->enqueue = (struct model_enqueue){
		.to = to,
		.skb = s,
		.dev = model_device(j),
		.begin = j->stage[NF_STAGE_RECEIVE],
		.ns = now,
	};
}

/* The CPU's own datagram, also if its reader has it already; NULL: it has put none there. */
static inline struct model_skb *model_announce_own(struct model_cpu *c,
						   const struct model_socket *to)
{
	struct model_enqueue *q = &c->enqueue;
	struct model_journey *j, gone = {0};

	if (q->to != to)
		return NULL;
	q->to = NULL;
	j = &q->skb->journey;
	if (!j->known || j->stage[NF_STAGE_RECEIVE] != q->begin || j->kind != NF_JOURNEY_RX)
		j = &gone;
	if (!j->queued)
		model_queued(j, q->dev, q->begin, q->ns);
	return q->skb;
}

/* `others`: this CPU can announce datagrams of others together with its own. */
static inline void model_announce(struct model_cpu *c, struct model_socket *to, bool others,
				  __u64 now)
{
	struct model_skb *own = others ? NULL : model_announce_own(c, to), *first;

	if (own) {
		c->ready = own;
		c->ready_since = c->enqueue.ns;
		return;
	}
	first = model_announce_queue(&to->receive, to->udp, now);
	if (!first && to->udp)
		first = model_announce_queue(&to->reader, true, now);
	if (others)
		own = model_announce_own(c, to);
	c->ready = first ? first : own;
	c->ready_since = own ? c->enqueue.ns : now;
}

/* A reader that is woken again before it reads was woken by the first one. */
static inline void model_waking(struct model_cpu *c, __u32 task, __u64 now)
{
	struct model_wake *w = &model.wake[task];

	if (!c->ready || (w->skb == c->ready && w->wakeup >= c->ready_since))
		return;
	*w = (struct model_wake){.skb = c->ready, .wakeup = now};
}

static inline void model_switch(struct model_cpu *c, __u32 task, __u64 now)
{
	struct model_wake *w = &model.wake[task];

	c->ready = NULL;
	if (w->skb && !w->run)
		w->run = now;
}

static inline void model_delivered(struct model_skb *s, __u32 task, __u64 now)
{
	struct model_journey *j = &s->journey;
	struct model_wake *w = &model.wake[task];
	const struct net_device *dev = model_device(j);

	model_add(dev, NF_SEGMENT_RECEIVE_TO_COPY, j->stage[NF_STAGE_RECEIVE], now);
	model_add(dev, NF_SEGMENT_RX_TOTAL, model_first(j), now);
	j->stage[NF_STAGE_COPY] = now;
	if (!j->queued)
		j->stage[NF_STAGE_SOCK_QUEUE] = j->enqueued;
	if (w->skb == s) {
		if (w->run && w->wakeup >= j->stage[NF_STAGE_RECEIVE]) {
			j->stage[NF_STAGE_WAKEUP] = w->wakeup;
			j->stage[NF_STAGE_RUN] = w->run;
		}
		w->skb = NULL;
	}
	if (j->stage[NF_STAGE_RUN]) {
		model_add(dev, NF_SEGMENT_WAKEUP_TO_RUN, w->wakeup, w->run);
		model_add(dev, NF_SEGMENT_RUN_TO_COPY, w->run, now);
	}
	model_recorded(j, NF_OUTCOME_DELIVERED, now);
	model_end(s, NF_EVENT_DELIVERED);
}

static inline void model_copy(struct model_skb *s, __u32 task, __u64 now)
{
	struct model_journey *j = &s->journey;

	if (!j->known)
		return;
	if (!model_matches(s) || (j->kind == NF_JOURNEY_RX && !s->skb->skb_iif))
		model_end(s, NF_EVENT_INVALIDATED);
	else if (j->kind == NF_JOURNEY_RX)
		model_delivered(s, task, now);
}

/* ---- transmit ---- */

static inline void model_queue(struct model_skb *s, __u64 now)
{
	struct model_journey *j = &s->journey;
	const struct net_device *dev = s->skb->dev;

	if (j->known && !model_matches(s)) {
		model_end(s, NF_EVENT_INVALIDATED);
	} else if (j->known && j->kind == NF_JOURNEY_RX && s->skb->skb_iif) {
		model_add(dev, NF_SEGMENT_RECEIVE_TO_QUEUE, j->stage[NF_STAGE_RECEIVE], now);
		j->kind = NF_JOURNEY_FORWARD;
		j->stage[NF_STAGE_SOCK_QUEUE] = 0;
		j->stage[NF_STAGE_QUEUE] = now;
		j->path[j->devices++] = dev;
		return;
	} else if (j->known && j->kind != NF_JOURNEY_RX && j->stage[NF_STAGE_START_XMIT]) {
		model_end(s, model_sent(j));
	} else if (j->known) {
		model_end(s, NF_EVENT_INVALIDATED);
	}
	model_begin(s, NF_JOURNEY_TX, dev)->stage[NF_STAGE_QUEUE] = now;
}

static inline void model_start(struct model_cpu *c, struct model_skb *s,
			       const struct net_device *dev, __u64 now)
{
	struct model_journey *j = &s->journey;

	if (model_matches(s) && j->kind != NF_JOURNEY_RX && !j->stage[NF_STAGE_START_XMIT]) {
		dev = model_device(j);
		model_add(dev, NF_SEGMENT_QUEUE_TO_START, j->stage[NF_STAGE_QUEUE], now);
	} else {
		if (j->known)
			model_end(s, NF_EVENT_INVALIDATED);
		model_begin(s, NF_JOURNEY_TX, dev)->no_queue = true;
	}
	j->stage[NF_STAGE_START_XMIT] = now;
	assert_true(c->depth < NF_XMIT_DEPTH);
	c->xmit[c->depth++] = (struct model_frame){.skb = s, .dev = dev, .start = now};
}

static inline void model_xmit(struct model_cpu *c, struct model_skb *s, __u64 now)
{
	struct model_journey *j = &s->journey;
	const struct model_frame *frame = &c->xmit[--c->depth];

	assert_ptr_equal(frame->skb, s);
	model_add(frame->dev, NF_SEGMENT_START_TO_XMIT, frame->start, now);
	if (!j->known || j->kind == NF_JOURNEY_RX || j->stage[NF_STAGE_START_XMIT] != frame->start)
		return;
	j->stage[NF_STAGE_XMIT] = now;
	if (j->kind == NF_JOURNEY_FORWARD)
		model_add(frame->dev, NF_SEGMENT_FORWARD_TOTAL, model_first(j), now);
	else if (!j->no_queue)
		model_add(frame->dev, NF_SEGMENT_TX_TOTAL, j->stage[NF_STAGE_QUEUE], now);
}

static inline void model_freed(struct model_skb *s, __u64 now)
{
	struct model_journey *j = &s->journey;

	if (j->stage[NF_STAGE_XMIT])
		model_add(model_device(j), NF_SEGMENT_XMIT_TO_FREE, j->stage[NF_STAGE_XMIT], now);
	j->stage[NF_STAGE_FREE] = now;
	model_transmitted(s, now);
}

/* `udp`: it was in the queue of a UDP socket; `reader`: its reader frees it. */
static inline void model_consume(struct model_cpu *c, struct model_skb *s, bool udp, bool reader,
				 __u32 task, __u64 now)
{
	struct model_journey *j = &s->journey;

	if (!j->known)
		return;
	if (!model_matches(s))
		model_end(s, NF_EVENT_INVALIDATED);
	else if (j->kind != NF_JOURNEY_RX)
		model_freed(s, now);
	else if (!s->skb->skb_iif)
		model_end(s, NF_EVENT_INVALIDATED);
	else if (udp && reader && !c->softirq)
		model_delivered(s, task, now);
	else
		model_end(s, udp || j->queued ? NF_EVENT_DELIVERED : NF_EVENT_CONSUMED);
}

/* A reader is done with the skb, which another CPU will free. */
static inline void model_defer(struct model_cpu *c, struct model_skb *s, bool udp, __u32 task,
			       __u64 now)
{
	struct model_journey *j = &s->journey;

	if (!model_matches(s) || j->kind != NF_JOURNEY_RX || !(udp || j->queued))
		return;
	if (c->softirq)
		model_end(s, NF_EVENT_DELIVERED);
	else
		model_delivered(s, task, now);
}

/* ---- kfree_skb ---- */

/* Whether it completes a transmit; `late`: by net_tx_action(), without a reason. */
static inline bool model_completes(const struct model_cpu *c, const struct model_skb *s, bool late)
{
	const struct model_journey *j = &s->journey;

	return late && c->softirq == 1 + NET_TX_SOFTIRQ && j->known && j->kind != NF_JOURNEY_RX &&
	       j->stage[NF_STAGE_START_XMIT] && s->skb->dev == model_device(j) &&
	       !(s->skb->dev->flags & IFF_LOOPBACK);
}

static inline void model_drop(const struct model_cpu *c, struct model_skb *s, bool late, __u64 now)
{
	if (model_completes(c, s, late)) {
		model.event[NF_EVENT_COMPLETED]++;
		if (model_matches(s))
			model_freed(s, now);
		else
			model_end(s, NF_EVENT_INVALIDATED);
		return;
	}
	if (s->journey.known)
		model_end(s, model_matches(s) ? NF_EVENT_DROPPED : NF_EVENT_INVALIDATED);
}

#endif
