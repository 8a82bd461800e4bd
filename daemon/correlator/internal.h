/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of the correlator. */
#ifndef DAEMON_CORRELATOR_INTERNAL_H
#define DAEMON_CORRELATOR_INTERNAL_H

#include <stddef.h>

#include "daemon/correlator/correlator.h"

/* ---- the in-flight table --------------------------------------------------- */

/* A live skb.  Times are 0 if it did not pass the stage, or if that is not known. */
struct inflight {
	uint64_t skb;	   /* its address, 0 = free */
	uint64_t begin_ns; /* rx: receive; tx, forward: queue */
	uint64_t irq_ns, raise_ns, entry_ns;
	uint64_t receive_ns; /* of a forwarded skb, too */
	uint64_t enqueue_ns, sock_queue_ns;
	uint64_t start_ns, xmit_ns;
	uint64_t sk;	/* the socket whose queue it is in, 0 = not known */
	uint64_t run;	/* where it was received or start_xmit began, see context_run() */
	uint64_t batch; /* rx: see struct cpu */
	/* Of a copy that counts unless the next event shows that the skb was another's, see copies.c; 0 = none. */
	uint64_t copied_ns, wakeup_ns, run_ns;
	uint32_t copied_tid, copied_cpu;
	uint32_t len;			     /* bytes, at its last stage */
	uint16_t protocol;		     /* EtherType, 0 = not known */
	uint16_t device[NF_JOURNEY_DEVICES]; /* in the order of crossing */
	uint8_t devices;		     /* entries of device[], at least 1 */
	uint8_t flags;			     /* NF_JOURNEY_SLOW, _NO_QUEUE, _MORE, _POLLED */
	uint8_t journey;		     /* enum nf_journey */
	bool udp;			     /* a UDP socket has it in its queue */
	bool tcp;			     /* it was announced to a TCP socket */
};

#define INFLIGHT_WAYS 2

/* ---- CPUs ------------------------------------------------------------------ */

/* Skbs that a CPU has received and that no socket has announced yet. */
#define RECEIVED_MAX 64

struct cpu {
	struct nf_cpu state; /* of which bpf/softirq.h uses the first part */
	struct nf_context context[NF_CONTEXTS];
	struct nf_context *current; /* of the task of the event */
	uint16_t run[NF_CONTEXTS];  /* of NET_RX, by state.runs when it began */
	uint64_t now;
	struct nf_hist wait;	 /* raise to entry of NET_RX */
	struct nf_bucket bucket; /* of latency records */
	struct correlator_polls backlog;
	uint64_t received[RECEIVED_MAX]; /* the oldest first */
	uint32_t received_count;
	uint64_t received_run; /* of all of them, see context_run() */
	/* Where the kernel announces state.ready: what it wakes there is its reader. */
	uint32_t ready_tid;
	bool ready_softirq, ready_irq;
	uint64_t enqueued; /* the datagram that this CPU put into a queue last, 0 = none */
	/* One whose receive was not shown, of an excluded device, and the socket whose queue it went to; 0 = none. */
	uint64_t unshown, unshown_sk;
	/*
	 * The kernel shows a whole list of GRO at netif_receive_skb before it delivers the first.  Skbs that were
	 * received with no other event between them, but those of interrupt handlers, are of one batch.
	 */
	uint64_t batch;
	bool receiving;			  /* the last event but theirs was netif_receive_skb */
	struct nf_bucket slots_bucket[2]; /* of slots records: near misses, all others */
	struct nf_slots_frame slots_frame[NF_SLOTS_DEPTH]; /* the key is the index of the device */
	uint32_t slots_depth;				   /* entries of slots_frame[] */
};

/* A task that was woken by an announcement. */
struct wake {
	uint64_t skb, wakeup_ns, run_ns;
	uint32_t tid;
};

#define COPIES 64 /* that wait to be decided, by thread id; a power of two */
#define DEVICE_NONE 0

struct queues;
struct drop_table;

/* Who read a datagram, and when. */
struct queue_read {
	uint64_t time_ns;
	uint32_t tid, cpu;
};

struct correlator {
	struct correlator_settings settings;
	struct correlator_sink sink;
	struct correlator_totals totals;
	bool hides_devices; /* some skbs are received and sent without an event */
	struct cpu **cpu;   /* NULL: no event of it yet */
	uint32_t inflight_shift;
	struct inflight *inflight;
	struct correlator_device **device;
	uint32_t devices;
	uint32_t *device_index; /* hash of names; 0: free */
	uint32_t device_mask;
	uint32_t wake_mask;
	struct wake *wake;
	uint64_t copy[COPIES]; /* skbs that were copied, 0 = none */
	uint64_t copies_ns;    /* when they were last looked at */
	struct queues *queues;
	struct drop_table *drops, *unkeyed;
};

static inline void count(struct correlator *c, enum nf_probe probe, enum nf_event event)
{
	c->totals.events[probe][event]++;
}

/* The index of a number in a table of 2^(64 - shift) entries. */
static inline uint32_t hash(uint64_t number, uint32_t shift)
{
	return (uint32_t)(number * UINT64_C(0x9e3779b97f4a7c15) >> shift);
}

/* ---- context.c: interrupts, softirqs and transmits in progress -------------- */

/* -ENOMEM. */
int context_enter(struct correlator *c, const struct event *event, struct cpu **cpu);
void context_event(struct correlator *c, struct cpu *cpu, const struct event *event);
/* The end of what the CPU did before events were lost. */
void context_forget(struct cpu *cpu);
bool context_in_net_rx(const struct cpu *cpu);
bool context_serves(const struct cpu *cpu, uint32_t vector);
/* Process context: neither in a softirq nor in an interrupt handler. */
bool context_is_task(const struct cpu *cpu, const struct event *event);
/* A number for the run of a softirq on this CPU, or for the task outside of one; never 0. */
uint64_t context_run(const struct cpu *cpu, const struct event *event);
/* The softirq's run is that of an interrupt which came after its entry. */
void context_overtaken(struct cpu *cpu);

/* ---- inflight.c --------------------------------------------------------------- */

/* The entry of this skb, NULL if it has none. */
struct inflight *inflight_find(struct correlator *c, uint64_t skb);
/* Begin a journey at the first device: all zeros but the skb, its length, the device and the time. */
struct inflight *inflight_begin(struct correlator *c, const struct event *event,
				enum nf_journey journey, uint16_t device);
/* Free the entry and count the end of its journey; NULL-safe. */
void inflight_end(struct correlator *c, enum nf_probe probe, struct inflight *e,
		  enum nf_event event);
/* The skb goes on to another device. */
void inflight_cross(struct inflight *e, uint16_t device);
static inline uint16_t inflight_device(const struct inflight *e)
{
	return e->device[e->devices - 1];
}

/* ---- devices.c --------------------------------------------------------------- */

/* The index of a device by its name; 0: no name, or no room. */
uint16_t device_find(struct correlator *c, const char *name);
/* Add a duration to a histogram; true: it is slow. */
bool device_time(struct correlator *c, uint16_t device, enum nf_segment segment, uint64_t from_ns,
		 uint64_t to_ns);
void hist_add(struct nf_hist *hist, uint64_t ns);
void device_poll(struct correlator *c, struct cpu *cpu, const struct event *event);

/* The longest TCP segment without payload: an IPv6 header, a TCP header and timestamps. */
#define TCP_WITHOUT_PAYLOAD 72

/* ---- receive.c, copies.c ---------------------------------------------------------- */

void receive(struct correlator *c, struct cpu *cpu, struct inflight *e, const struct event *event);
void receive_enqueue(struct correlator *c, struct cpu *cpu, struct inflight *e,
		     const struct event *event);
void receive_ready(struct correlator *c, struct cpu *cpu, const struct event *event);
/* After each event: the announcement ends with the next event of its context that wakes no task. */
void receive_announced(struct cpu *cpu, const struct event *event);
void receive_waking(struct correlator *c, struct cpu *cpu, const struct event *event);
void receive_running(struct correlator *c, struct cpu *cpu, const struct event *event);
/* A reader has the skb: a datagram was queued before that, even if the kernel has not announced it yet. */
void receive_taken(struct correlator *c, struct inflight *e);
/* Give the entry the times at which its reader was woken for it and got on a CPU, if it was. */
void receive_woken(struct correlator *c, uint32_t tid, struct inflight *e);

/*
 * Before each event: decide the copies that it is the next of, and return the entry of its skb; NULL if it has none.
 */
struct inflight *copies_before(struct correlator *c, struct cpu *cpu, const struct event *event);
void copies_settle(struct correlator *c);
/* The copy of this entry counts: its journey ends. */
void copies_decide(struct correlator *c, struct inflight *e);
void copies_add(struct correlator *c, struct inflight *e, const struct event *event);
/* A UDP reader has read; a reader is done with an skb; an skb was consumed. */
void copies_read(struct correlator *c, struct cpu *cpu, const struct event *event);
/* A reader took the datagram before the kernel announced it. */
void copies_read_early(struct correlator *c, struct inflight *e, const struct queue_read *read);
void copies_deferred(struct correlator *c, struct cpu *cpu, struct inflight *e,
		     const struct event *event);
void copies_consumed(struct correlator *c, struct cpu *cpu, struct inflight *e,
		     const struct event *event);

/* ---- queues.c: the datagrams in the queues of UDP sockets ---------------------------- */

int queues_new(struct queues **queues, uint64_t entries);
void queues_free(struct queues **queues);
/*
 * The kernel announces a datagram that was received at begin_ns.  True: a reader on another CPU has taken it before,
 * and *read says when.
 */
bool queues_add(struct queues *queues, uint64_t sk, uint64_t skb, uint64_t begin_ns,
		struct queue_read *read);
/* The reader of this socket was asleep: nothing was in its queue before the newest. */
void queues_only_newest(struct queues *queues, uint64_t sk);
/* The newest was dropped instead; or the socket is closed, and the kernel drops all that is left, the oldest first. */
void queues_remove(struct queues *queues, uint64_t sk, uint64_t skb);
/* Events were lost: what is in queues is not sure until their readers sleep. */
void queues_doubt(struct queues *queues);
/* A read takes the oldest; false: none is known, or its address has shown it before. */
bool queues_take(struct queues *queues, uint64_t sk, const struct queue_read *read, uint64_t *skb,
		 uint64_t *begin_ns);
/* This one has been read, as its own address showed: the next read of the socket is of it. */
void queues_was_read(struct queues *queues, uint64_t sk);
uint64_t queues_entries(const struct queues *queues);
uint64_t queues_used(const struct queues *queues);
uint64_t queues_bytes(const struct queues *queues);

/* ---- transmit.c ------------------------------------------------------------------------ */

void transmit_queue(struct correlator *c, struct cpu *cpu, struct inflight *e,
		    const struct event *event);
void transmit_start(struct correlator *c, struct cpu *cpu, struct inflight *e,
		    const struct event *event);
void transmit_xmit(struct correlator *c, struct cpu *cpu, const struct event *event);
/* The driver is done with the skb: its journey ends. */
void transmit_freed(struct correlator *c, struct cpu *cpu, struct inflight *e,
		    const struct event *event);
/* lo or veth passed the skb to its peer: its journey ends. */
void transmit_passed(struct correlator *c, struct cpu *cpu, struct inflight *e,
		     const struct event *event);
static inline enum nf_event transmit_event(const struct inflight *e)
{
	return e->journey == NF_JOURNEY_FORWARD ? NF_EVENT_FORWARDED : NF_EVENT_TRANSMITTED;
}

/* ---- slots.c: ring slots of xen-netfront ------------------------------------------------ */

void slots_start(struct correlator *c, struct cpu *cpu, const struct event *event);
/* kfree_skb was called for this skb. */
void slots_dropped(struct cpu *cpu, uint64_t skb);
/* start_xmit has returned. */
void slots_end(struct correlator *c, struct cpu *cpu, const struct event *event);
/* The ends of what has begun on this CPU were not seen. */
void slots_give_up(struct correlator *c, struct cpu *cpu);

/* ---- drops.c ------------------------------------------------------------------------------ */

int drops_new(struct correlator *c);
void drops_free(struct correlator *c);
void drops_event(struct correlator *c, struct cpu *cpu, struct inflight *e,
		 const struct event *event);

/* ---- journeys.c: choosing and sending latency records ------------------------------------- */

/* The end of a journey, besides what its entry has. */
struct journey_end {
	enum nf_probe probe;
	enum nf_outcome outcome;
	uint64_t time_ns;
	uint32_t tid, cpu;
	bool task; /* the task is the reader or the sender */
	bool slow;
	bool freed; /* the time is that of free */
};

void journey_end(struct correlator *c, const struct inflight *e, const struct journey_end *end);

#endif
