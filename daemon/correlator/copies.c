/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ends of received skbs: copied to a reader, or consumed in the kernel.
 *
 * skb_copy_datagram_iovec also shows messages of AF_UNIX and netlink, whose skbs can have the memory of one that was
 * received and freed without an event.  Their reader consumes them (consume_skb) right after the copy, which TCP never
 * does, and UDP before 6.18 only with datagrams.  So a copy counts once the next event of its task, or of the skb's
 * memory, has shown that this did not happen; or after a while, in which a task that was preempted goes on.
 */
#include "daemon/correlator/internal.h"

enum {
	UDP = 17,
	MSG_PEEK_OR_ERRQUEUE = 0x2 | 0x2000, /* include/linux/socket.h */
	BUSY_NS = 100000000,		     /* a reader at its socket copies by then */
	SETTLED_NS = 20000000,		     /* a copy without another event counts after 20 ms */
};

/* `read.tid` 0: it is not known which task read. */
static void deliver(struct correlator *c, enum nf_probe probe, struct inflight *e,
		    const struct queue_read *read)
{
	uint64_t now = read->time_ns;
	uint64_t first = e->irq_ns     ? e->irq_ns
			 : e->raise_ns ? e->raise_ns
			 : e->entry_ns ? e->entry_ns
				       : e->begin_ns;
	struct journey_end end = {
		.probe = probe,
		.outcome = NF_OUTCOME_DELIVERED,
		.time_ns = now,
		.tid = read->tid,
		.cpu = read->cpu,
		.task = read->tid != 0,
	};
	uint16_t device = inflight_device(e);

	receive_taken(c, e);
	end.slow = device_time(c, device, NF_SEGMENT_RECEIVE_TO_COPY, e->begin_ns, now);
	end.slow |= device_time(c, device, NF_SEGMENT_RX_TOTAL, first, now);
	if (e->run_ns) {
		end.slow |=
			device_time(c, device, NF_SEGMENT_WAKEUP_TO_RUN, e->wakeup_ns, e->run_ns);
		end.slow |= device_time(c, device, NF_SEGMENT_RUN_TO_COPY, e->run_ns, now);
	}
	journey_end(c, e, &end);
	inflight_end(c, probe, e, NF_EVENT_DELIVERED);
}

/*
 * A reader has the skb.  A softirq on another CPU can free it before its reader reports that it has read: then the task
 * of the event is any one.
 */
static void deliver_now(struct correlator *c, const struct cpu *cpu, struct inflight *e,
			const struct event *event)
{
	struct queue_read read = {.time_ns = event->time_ns, .cpu = event->cpu};

	if (context_is_task(cpu, event)) {
		read.tid = event->tid;
		receive_woken(c, event->tid, e);
	}
	deliver(c, event->probe, e, &read);
}

/* ---- copies that wait to be decided ------------------------------------------------ */

static uint64_t *copy_of(struct correlator *c, uint32_t tid)
{
	return &c->copy[tid & (COPIES - 1)];
}

void copies_decide(struct correlator *c, struct inflight *e)
{
	const struct queue_read read = {e->copied_ns, e->copied_tid, e->copied_cpu};
	uint64_t *copy = copy_of(c, e->copied_tid);

	if (*copy == e->skb)
		*copy = 0;
	deliver(c, NF_PROBE_SKB_COPY_DATAGRAM_IOVEC, e, &read);
}

static void decide_slot(struct correlator *c, uint64_t *copy)
{
	struct inflight *e = *copy ? inflight_find(c, *copy) : NULL;

	*copy = 0;
	if (e && e->copied_ns)
		copies_decide(c, e);
}

static void decide_old(struct correlator *c, uint64_t now)
{
	for (int i = 0; i < COPIES; i++) {
		const struct inflight *e = c->copy[i] ? inflight_find(c, c->copy[i]) : NULL;

		if (!e || e->copied_ns + SETTLED_NS < now)
			decide_slot(c, &c->copy[i]);
	}
	c->copies_ns = now;
}

/* An event of the scheduler can come between a copy and what its task does next. */
static bool is_next_of_task(const struct cpu *cpu, const struct event *event)
{
	return event->probe != NF_PROBE_SCHED_SWITCH && event->probe != NF_PROBE_SCHED_WAKING &&
	       context_is_task(cpu, event);
}

struct inflight *copies_before(struct correlator *c, struct cpu *cpu, const struct event *event)
{
	struct inflight *e = event->skb ? inflight_find(c, event->skb) : NULL;
	uint64_t *copy = copy_of(c, event->tid);

	if (event->time_ns > c->copies_ns + SETTLED_NS)
		decide_old(c, event->time_ns);
	if (*copy && *copy != event->skb && is_next_of_task(cpu, event))
		decide_slot(c, copy);
	if (!e || e->skb != event->skb || !e->copied_ns)
		return e && e->skb == event->skb ? e : NULL;
	if (event->probe == NF_PROBE_SKB_COPY_DATAGRAM_IOVEC ||
	    event->probe == NF_PROBE_CONSUME_SKB)
		return e;
	copies_decide(c, e);
	return NULL;
}

void copies_settle(struct correlator *c)
{
	for (int i = 0; i < COPIES; i++)
		decide_slot(c, &c->copy[i]);
}

/*
 * Whether the copied skb cannot be the received one.  It is longer, and not a segment with payload, into which TCP
 * merges later ones; a short one that is announced has payload, or is the last ACK of a handshake.  Or no socket had it
 * announced, as those of a busy TCP socket, and its reader, which then is at it, did not copy it soon.
 */
static bool is_another(const struct correlator *c, const struct inflight *e,
		       const struct event *event)
{
	if (event->len > e->len && (e->udp || (e->len <= TCP_WITHOUT_PAYLOAD && !e->sock_queue_ns)))
		return true;
	return c->settings.has[NF_PROBE_SK_DATA_READY] && !e->sock_queue_ns && !e->udp &&
	       event->time_ns - e->begin_ns > BUSY_NS;
}

/* skb_copy_datagram_iovec(): the first copy of an skb ends receive→copy. */
void copies_add(struct correlator *c, struct inflight *e, const struct event *event)
{
	uint64_t *copy = copy_of(c, event->tid);

	/* The reader of a tun device copies an skb that was sent; its journey ends when it is freed. */
	if (!e || e->journey != NF_JOURNEY_RX || e->copied_ns)
		return;
	if (is_another(c, e, event)) {
		inflight_end(c, event->probe, e, NF_EVENT_INVALIDATED);
		return;
	}
	decide_slot(c, copy);
	receive_woken(c, event->tid, e);
	e->copied_ns = event->time_ns;
	e->copied_tid = event->tid;
	e->copied_cpu = event->cpu;
	*copy = e->skb;
}

/* ---- UDP, and the kernel itself ------------------------------------------------------ */

/* The address of the skb shows that it was read: the next read of its socket is of it. */
static void read_by_address(struct correlator *c, const struct inflight *e)
{
	if (e->udp)
		queues_was_read(c->queues, e->sk);
}

/* sock_recv_length(): a UDP socket is read in the order of its queue. */
void copies_read(struct correlator *c, struct cpu *cpu, const struct event *event)
{
	const struct queue_read read = {event->time_ns, event->tid, event->cpu};
	uint64_t skb, begin_ns;
	struct inflight *e;

	if (event->number & MSG_PEEK_OR_ERRQUEUE || event->protocol != UDP)
		return;
	if (!queues_take(c->queues, event->sk, &read, &skb, &begin_ns))
		return;
	e = inflight_find(c, skb);
	if (e && e->journey == NF_JOURNEY_RX && e->begin_ns == begin_ns && e->udp)
		deliver_now(c, cpu, e, event);
}

void copies_read_early(struct correlator *c, struct inflight *e, const struct queue_read *read)
{
	deliver(c, NF_PROBE_SOCK_RECV_LENGTH, e, read);
}

/*
 * Whether the skb can be a segment without payload, which TCP frees without an event.  The last ACK of a handshake is
 * announced: to the socket that listens.  Where there are no announcements, a datagram is known when it is queued.
 */
static bool may_be_ack(const struct correlator *c, const struct inflight *e)
{
	const bool *has = c->settings.has;

	if (e->udp || e->len > TCP_WITHOUT_PAYLOAD)
		return false;
	return e->tcp || (!has[NF_PROBE_SK_DATA_READY] && has[NF_PROBE_UDP_ENQUEUE_SCHEDULE_SKB]);
}

/*
 * skb_attempt_defer_free(): a reader is done with an skb that was in a socket's queue.  In a softirq it also frees
 * completed transmits.  On 7.3, close() frees with it what is in the queue of a TCP socket, such as a FIN.
 */
void copies_deferred(struct correlator *c, struct cpu *cpu, struct inflight *e,
		     const struct event *event)
{
	if (!e || e->journey != NF_JOURNEY_RX || (!e->udp && !e->sock_queue_ns))
		return;
	read_by_address(c, e);
	if (may_be_ack(c, e))
		inflight_end(c, event->probe, e, NF_EVENT_CONSUMED);
	else if (context_is_task(cpu, event))
		deliver_now(c, cpu, e, event);
	else
		inflight_end(c, event->probe, e, NF_EVENT_DELIVERED);
}

/* Whether a reader consumes the skb.  Without the announcements, what a task consumes was in a queue. */
static bool is_read(const struct correlator *c, const struct cpu *cpu, const struct inflight *e,
		    const struct event *event)
{
	if (may_be_ack(c, e))
		return false;
	if (e->udp || e->sock_queue_ns)
		return true;
	return !c->settings.has[NF_PROBE_SK_DATA_READY] && context_is_task(cpu, event);
}

/* consume_skb() of a received skb. */
void copies_consumed(struct correlator *c, struct cpu *cpu, struct inflight *e,
		     const struct event *event)
{
	if (e->copied_ns && !e->udp && e->copied_tid == event->tid) {
		/* A message: TCP's readers free without an event. */
		if (*copy_of(c, e->copied_tid) == e->skb)
			*copy_of(c, e->copied_tid) = 0;
		inflight_end(c, event->probe, e, NF_EVENT_INVALIDATED);
	} else if (e->copied_ns) {
		read_by_address(c, e);
		copies_decide(c, e);
	} else if (is_read(c, cpu, e, event)) {
		read_by_address(c, e);
		deliver_now(c, cpu, e, event);
	} else {
		/* The kernel itself is done with it in the run that received it; later its memory is another's. */
		inflight_end(c, event->probe, e,
			     e->run == context_run(cpu, event) ? NF_EVENT_CONSUMED
							       : NF_EVENT_INVALIDATED);
	}
}
