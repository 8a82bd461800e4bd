/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From receive to the reader's CPU.
 *
 * An event names an skb by its address only, and the kernel frees many skbs without an event (pure ACKs, segments that
 * TCP merges).  So the rules that take the place of skb->head and skb->skb_iif are:
 *
 *   - an skb that is received again is the same one, which goes up to a bridge, if the run of the softirq and the
 *     length are the same and the device is another; otherwise it is another skb in the same memory;
 *   - an skb that is received while it is being sent was passed to the peer by lo or veth, if its length is that of the
 *     packet with or without its link header; otherwise it is another skb.
 */
#include <string.h>

#include "daemon/correlator/internal.h"

#define TCP 6
#define UDP 17

/* Bytes by which a packet is shorter when it is received than when it was sent. */
static bool is_link_header(uint32_t bytes)
{
	enum { NONE = 0, ETHERNET = 14, TAGGED = 18 };

	return bytes == NONE || bytes == ETHERNET || bytes == TAGGED;
}

static bool was_passed(const struct inflight *e, const struct event *event)
{
	return e->journey != NF_JOURNEY_RX && e->start_ns && is_link_header(e->len - event->len);
}

static bool goes_up(const struct inflight *e, const struct cpu *cpu, const struct event *event,
		    uint16_t device)
{
	return e->journey == NF_JOURNEY_RX && e->len == event->len && !e->sock_queue_ns &&
	       inflight_device(e) != device && e->run == context_run(cpu, event);
}

/*
 * The stages in the softirq and the interrupt that brought the skb, and the segments up to receive, as
 * nf_journey_brought() of bpf/journey.h.  `joined`: when lo or veth, which need no interrupt, passed it on; 0: neither
 * did.
 */
static void brought(struct correlator *c, struct cpu *cpu, struct inflight *e, uint64_t joined)
{
	const struct nf_context *context = cpu->current;
	uint16_t device = inflight_device(e);
	uint64_t since, came = joined;
	bool slow;

	if (!joined)
		context_overtaken(cpu);
	since = context->entry_ns > joined ? context->entry_ns : joined;
	e->entry_ns = since;
	slow = device_time(c, device, NF_SEGMENT_SOFTIRQ_TO_RECEIVE, since, cpu->now);
	if (!joined)
		came = context->entry_irq_ns;
	since = context->entry_raise_ns > came ? context->entry_raise_ns : came;
	if (context->entry_raise_ns && since <= context->entry_ns) {
		e->raise_ns = since;
		slow |= device_time(c, device, NF_SEGMENT_RAISE_TO_SOFTIRQ, since,
				    context->entry_ns);
		hist_add(&cpu->wait, context->entry_ns - since);
	}
	if (!joined && came) {
		e->irq_ns = came;
		slow |= device_time(c, device, NF_SEGMENT_IRQ_TO_SOFTIRQ, came, context->entry_ns);
	} else if (!joined && context->entry_polled) {
		e->flags |= NF_JOURNEY_POLLED;
	}
	if (slow)
		e->flags |= NF_JOURNEY_SLOW;
}

static void forget_received(struct cpu *cpu, uint32_t first)
{
	cpu->received_count -= first;
	memmove(cpu->received, cpu->received + first,
		cpu->received_count * sizeof(cpu->received[0]));
}

/* Skbs of another run are in no queue that this one announces. */
static void keep_received(struct cpu *cpu, struct inflight *e, uint64_t run)
{
	if (cpu->received_run != run)
		cpu->received_count = 0;
	cpu->received_run = run;
	if (!cpu->receiving)
		cpu->batch++;
	e->batch = cpu->batch;
	if (cpu->received_count == RECEIVED_MAX)
		forget_received(cpu, 1);
	cpu->received[cpu->received_count++] = e->skb;
}

void receive(struct correlator *c, struct cpu *cpu, struct inflight *e, const struct event *event)
{
	uint16_t device = device_find(c, event->device);
	uint64_t joined = 0;

	if (e && goes_up(e, cpu, event, device)) {
		inflight_cross(e, device);
		return;
	}
	if (e && was_passed(e, event)) {
		joined = e->start_ns;
		transmit_passed(c, cpu, e, event);
	} else {
		inflight_end(c, event->probe, e, NF_EVENT_INVALIDATED);
	}
	e = inflight_begin(c, event, NF_JOURNEY_RX, device);
	e->receive_ns = event->time_ns;
	e->run = context_run(cpu, event);
	c->device[device]->packets++;
	if (context_in_net_rx(cpu) && c->settings.has[NF_PROBE_SOFTIRQ_EXIT])
		brought(c, cpu, e, joined);
	keep_received(cpu, e, e->run);
}

/* ---- into the queue of a socket ----------------------------------------------- */

static bool is_new(const struct inflight *e)
{
	return e && e->journey == NF_JOURNEY_RX && !e->sock_queue_ns;
}

/* The kernel delivers the skbs of a list in their order, so that those before this one are gone. */
static void pass_over(struct correlator *c, struct cpu *cpu, uint32_t before)
{
	for (uint32_t i = 0; i < before; i++) {
		struct inflight *e = inflight_find(c, cpu->received[i]);

		if (is_new(e))
			e->run = 0;
	}
	forget_received(cpu, before + 1);
}

/* The oldest skb of this run that can be the announced one. */
static struct inflight *oldest_with(struct correlator *c, struct cpu *cpu, uint32_t longer,
				    uint64_t batch)
{
	for (uint32_t i = 0; i < cpu->received_count; i++) {
		struct inflight *e = inflight_find(c, cpu->received[i]);

		if (is_new(e) && e->len > longer && e->batch >= batch) {
			pass_over(c, cpu, i);
			return e;
		}
	}
	return NULL;
}

static struct inflight *newest(struct correlator *c, struct cpu *cpu)
{
	struct inflight *e = NULL;

	while (!is_new(e) && cpu->received_count)
		e = inflight_find(c, cpu->received[--cpu->received_count]);
	return is_new(e) ? e : NULL;
}

/*
 * The skb that the kernel announces to a socket.  The event names the socket only: it is the oldest skb of this run
 * that was not announced and can have payload.  What the kernel consumed without an event is mostly pure ACKs.
 */
static struct inflight *announced(struct correlator *c, struct cpu *cpu, const struct event *event)
{
	struct inflight *e;

	if (cpu->received_run != context_run(cpu, event))
		return NULL;
	if (event->protocol == UDP)
		return oldest_with(c, cpu, 0, cpu->batch);
	e = oldest_with(c, cpu, TCP_WITHOUT_PAYLOAD, 0);
	return e ? e : newest(c, cpu);
}

static void queued(struct correlator *c, struct inflight *e, uint64_t ns)
{
	e->sock_queue_ns = ns;
	if (device_time(c, inflight_device(e), NF_SEGMENT_RECEIVE_TO_SOCK_QUEUE, e->begin_ns, ns))
		e->flags |= NF_JOURNEY_SLOW;
}

/*
 * With excluded devices, a datagram that was not received in this run is one of theirs, whatever its memory was before.
 */
static bool is_unshown(const struct correlator *c, const struct cpu *cpu, const struct inflight *e,
		       const struct event *event)
{
	return c->hides_devices && (!is_new(e) || e->run != context_run(cpu, event));
}

/* It has its place in the queue, so that the reads of the others stay theirs. */
static void enqueue_unshown(struct correlator *c, struct cpu *cpu, struct inflight *e,
			    const struct event *event)
{
	struct queue_read none;

	inflight_end(c, event->probe, e, NF_EVENT_INVALIDATED);
	(void)queues_add(c->queues, event->sk, event->skb, event->time_ns, &none);
	cpu->unshown = event->skb;
	cpu->unshown_sk = event->sk;
}

/* __udp_enqueue_schedule_skb(): a socket is about to queue a datagram, or to drop it because its buffer is full. */
void receive_enqueue(struct correlator *c, struct cpu *cpu, struct inflight *e,
		     const struct event *event)
{
	struct queue_read none;

	cpu->enqueued = 0;
	cpu->unshown = 0;
	if (is_unshown(c, cpu, e, event))
		return enqueue_unshown(c, cpu, e, event);
	if (!is_new(e))
		return;
	e->sk = event->sk;
	e->udp = true;
	e->enqueue_ns = event->time_ns;
	/* It names the datagram before a reader can take it. */
	(void)queues_add(c->queues, event->sk, e->skb, e->begin_ns, &none);
	cpu->enqueued = e->skb;
}

void receive_taken(struct correlator *c, struct inflight *e)
{
	if (e->enqueue_ns && !e->sock_queue_ns)
		queued(c, e, e->enqueue_ns);
}

/* The datagram that this CPU has just queued. */
static struct inflight *enqueued(struct correlator *c, struct cpu *cpu, const struct event *event)
{
	struct inflight *e = cpu->enqueued ? inflight_find(c, cpu->enqueued) : NULL;

	if (!is_new(e) || !e->udp || e->sk != event->sk)
		return NULL;
	cpu->enqueued = 0;
	queued(c, e, e->enqueue_ns);
	return e;
}

/*
 * Without __udp_enqueue_schedule_skb(), a datagram that this CPU did not receive is one of an excluded device.  A read
 * that found nothing in the queue since the last one was of it.
 */
static void announced_unshown(struct correlator *c, const struct event *event)
{
	enum { RECEIVED_BEFORE_ANY_READ_NS = 1 };
	struct queue_read read;

	if (c->hides_devices && event->protocol == UDP &&
	    !c->settings.has[NF_PROBE_UDP_ENQUEUE_SCHEDULE_SKB])
		(void)queues_add(c->queues, event->sk, 0, RECEIVED_BEFORE_ANY_READ_NS, &read);
}

/* The skb that is announced, in the queue of the socket now; NULL: not known, or a reader has taken it already. */
static struct inflight *queue_announced(struct correlator *c, struct cpu *cpu,
					const struct event *event)
{
	struct inflight *e = announced(c, cpu, event);
	struct queue_read read;

	if (!e) {
		announced_unshown(c, event);
		return NULL;
	}
	e->sk = event->sk;
	e->udp = event->protocol == UDP;
	e->tcp = event->protocol == TCP;
	if (e->udp && queues_add(c->queues, e->sk, e->skb, e->begin_ns, &read)) {
		copies_read_early(c, e, &read);
		return NULL;
	}
	queued(c, e, event->time_ns);
	return e;
}

/* Whether the announced datagram is the one of an excluded device that this CPU has just queued. */
static bool announces_unshown(struct cpu *cpu, const struct event *event)
{
	bool unshown = cpu->unshown && cpu->unshown_sk == event->sk;

	if (unshown)
		cpu->unshown = 0;
	return unshown;
}

/* A packet socket gets a clone, and all others of these families get messages: what was received goes on elsewhere. */
static bool is_of_packets(uint16_t family)
{
	enum { UNIX = 1, NETLINK = 16, PACKET = 17 }; /* include/linux/socket.h */

	return family != UNIX && family != NETLINK && family != PACKET;
}

/* sk_data_ready(): the kernel announces data to a socket. */
void receive_ready(struct correlator *c, struct cpu *cpu, const struct event *event)
{
	struct inflight *e;

	if (!is_of_packets(event->family))
		return;
	e = enqueued(c, cpu, event);
	if (!e && !announces_unshown(cpu, event))
		e = queue_announced(c, cpu, event);
	cpu->state.ready = e ? e->skb : 0;
	cpu->state.ready_ns = event->time_ns;
	cpu->ready_tid = event->tid;
	cpu->ready_softirq = event->softirq;
	cpu->ready_irq = event->irq;
}

static bool is_announcing(const struct cpu *cpu, const struct event *event)
{
	return cpu->state.ready && cpu->ready_tid == event->tid &&
	       cpu->ready_softirq == event->softirq && cpu->ready_irq == event->irq;
}

void receive_announced(struct cpu *cpu, const struct event *event)
{
	if (event->probe != NF_PROBE_SK_DATA_READY && event->probe != NF_PROBE_SCHED_WAKING &&
	    is_announcing(cpu, event))
		cpu->state.ready = 0;
}

/* ---- the reader -------------------------------------------------------------------- */

static struct wake *wake_of(struct correlator *c, uint32_t tid)
{
	return &c->wake[tid & c->wake_mask];
}

/* sched_waking(): a task is woken while the kernel announces an skb to its socket: it may be the reader. */
void receive_waking(struct correlator *c, struct cpu *cpu, const struct event *event)
{
	struct wake *wake = wake_of(c, event->number);
	const struct inflight *e;

	/* An interrupt that comes now wakes other tasks. */
	if (!is_announcing(cpu, event))
		return;
	/* A reader can be woken again before it reads, for a lock of its own. */
	if (wake->tid == event->number && wake->skb == cpu->state.ready &&
	    wake->wakeup_ns >= cpu->state.ready_ns)
		return;
	*wake = (struct wake){
		.skb = cpu->state.ready, .wakeup_ns = event->time_ns, .tid = event->number};
	e = inflight_find(c, wake->skb);
	if (e && e->udp)
		queues_only_newest(c->queues, e->sk);
}

/* sched_switch(): the task gets on a CPU. */
void receive_running(struct correlator *c, struct cpu *cpu, const struct event *event)
{
	struct wake *wake = wake_of(c, event->number);

	cpu->state.ready = 0;
	if (wake->tid == event->number && wake->skb && !wake->run_ns)
		wake->run_ns = event->time_ns;
}

void receive_woken(struct correlator *c, uint32_t tid, struct inflight *e)
{
	struct wake *wake = wake_of(c, tid);

	if (wake->tid != tid || wake->skb != e->skb)
		return;
	wake->skb = 0;
	if (!wake->run_ns || wake->wakeup_ns < e->begin_ns)
		return;
	e->wakeup_ns = wake->wakeup_ns;
	e->run_ns = wake->run_ns;
}
