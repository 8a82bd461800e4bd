/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random traffic on several CPUs, against a model that knows every answer.
 *
 * A few hundred skb addresses are used again and again: received by cards and by
 * lo and veth, one at a time and in lists of GRO, bridged, forwarded, queued to
 * sockets of TCP, UDP and tcpdump, merged, cloned, linearized, sent, consumed,
 * dropped and freed without a tracepoint.  Whenever a program calls a
 * helper, an interrupt may come, or another CPU may do something.  The kernel
 * skips a program that is running on the CPU.
 *
 * NETFLOWD_SIMULATION is the number of steps, NETFLOWD_SEED the seed.
 */
#include <stdio.h>

#include "tests/unit/bpf/model.h"

/* Two seconds, also with the sanitizers. */
#ifdef __SANITIZE_ADDRESS__
enum { SIMULATION_STEPS = 80000 };
#else
enum { SIMULATION_STEPS = 400000 };
#endif

enum {
	SIMULATION_SKBS = 300,
	SIMULATION_HEADS = 40000,
	SIMULATION_NESTED = 3,
	SIMULATION_SOCKETS = 7,
	SIMULATION_LIST = 8, /* skbs that GRO passes on at once */
};

/* What differs between kernels, and how much memory there is. */
struct world {
	bool exact;    /* no skb loses its entry to another: the model is right */
	bool enqueue;  /* the probe of __udp_enqueue_schedule_skb() */
	bool deferred; /* UDP readers do not free their skbs themselves */
	bool few_blocks;
};

/* Where the kernel has an skb. */
enum place {
	FREE,
	BUSY,	 /* a step is working on it */
	OWNED,	 /* received for a TCP socket that a task owns */
	SOCKET,	 /* in a socket's queue */
	QUEUED,	 /* for transmit */
	DRIVER,	 /* sent; the driver has not completed it */
	BACKLOG, /* lo and veth passed it on, to be received by the CPU `backlog` */
};

struct sim_skb {
	struct model_skb model;
	enum place place;
	__u32 backlog;
	struct sim_socket *socket; /* SOCKET, OWNED */
	bool udp;		   /* it was in the queue of a UDP socket */
};

struct sim_socket {
	struct machine_socket socket;
	struct model_socket model;
	bool locked;	 /* by whoever queues to it; TCP: or reads it */
	bool announcing; /* the model is right if no reader takes an skb in between */
};

struct sim_cpu {
	bool running; /* a step runs there, maybe interrupted */
	bool handler; /* in an interrupt handler, or interrupts are off */
	bool bottom;  /* in a softirq, or softirqs are off */
	bool raised;  /* NET_RX is pending */
	__u32 task;
};

static struct sim {
	struct world world;
	__u64 random, steps;
	struct sim_skb skb[SIMULATION_SKBS];
	unsigned char *head; /* [SIMULATION_HEADS][MACHINE_HEAD] */
	__u32 heads;
	struct sim_cpu cpu[MACHINE_CPUS];
	bool task_runs[MODEL_TASKS];
	struct sim_socket socket[SIMULATION_SOCKETS];
	__u64 folded; /* drops that the daemon has taken from old generations */
	struct task_struct task[MODEL_TASKS];
	struct net_device no_device; /* memory of a queued skb that is no device */
	struct net no_net;
	int depth; /* interrupted steps */
} sim;

/* What a program did: the last reading of its clock, and its record. */
struct seen {
	struct seen *up;
	__u64 clock;
	size_t size;
	union {
		struct nf_record header;
		struct nf_journey_record journey;
		struct nf_drop_record drop;
	} record;
};
static struct seen *running, seen;

/* xorshift64 */
static __u32 below(__u32 limit)
{
	sim.random ^= sim.random << 13;
	sim.random ^= sim.random >> 7;
	sim.random ^= sim.random << 17;
	return (sim.random >> 32) % limit;
}

static bool percent(__u32 chance)
{
	return below(100) < chance;
}

static struct sim_cpu *cpu(void)
{
	return &sim.cpu[stand_in.cpu];
}

static struct model_cpu *model_cpu(void)
{
	return &model.cpu[stand_in.cpu];
}

/* ---- calling a program, and what it sees ---- */

static void interrupt(void);

static void on_helper(enum stand_in_point point)
{
	if (running && sim.depth < SIMULATION_NESTED && !below(40))
		interrupt();
	if (point == STAND_IN_CLOCK) {
		stand_in.step = 16 * (1 + below(100));
		if (running)
			running->clock = stand_in.now + stand_in.step;
	}
}

static void on_record(const void *record, size_t size)
{
	const struct nf_record *header = record;

	if (header->type != NF_RECORD_JOURNEY && header->type != NF_RECORD_DROP)
		return;
	assert_true(size <= sizeof(running->record));
	running->size = size;
	memcpy(&running->record, record, size);
}

/* false: the kernel skipped the program. */
static bool call(int (*program)(__u64 *ctx), const void *a, __u64 b, __u64 c)
{
	struct seen mine = {.up = running};
	bool skipped = machine_skips(program);

	running = &mine;
	run(program, (__u64)a, b, c, 0);
	running = mine.up;
	seen = mine;
	model.has_record = false;
	return !skipped;
}

/* Each stage in the record belongs to this skb: it was not allocated after it. */
static void check_life(const struct model_skb *s, const struct nf_journey_record *r)
{
	static const enum nf_stage own[] = {
		NF_STAGE_RECEIVE,    NF_STAGE_SOCK_QUEUE, NF_STAGE_WAKEUP,
		NF_STAGE_RUN,	     NF_STAGE_COPY,	  NF_STAGE_QUEUE,
		NF_STAGE_START_XMIT, NF_STAGE_XMIT,	  NF_STAGE_FREE,
	};

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		assert_true(!r->stage_ns[own[i]] || r->stage_ns[own[i]] >= s->born);
}

/* The program's record, or that it made none, is what the model says. */
static void check_record(const struct model_skb *s)
{
	const struct nf_journey_record *r = &seen.record.journey, *wanted = &model.record;
	bool has = seen.size && seen.record.header.type == NF_RECORD_JOURNEY;

	if (has)
		check_life(s, r);
	if (!sim.world.exact)
		return;
	assert_int_equal(has, model.has_record);
	if (!has)
		return;
	assert_int_equal(r->header.time_ns, wanted->header.time_ns);
	assert_memory_equal(r->stage_ns, wanted->stage_ns, sizeof(r->stage_ns));
	assert_int_equal(r->outcome, wanted->outcome);
	assert_int_equal(r->flags, wanted->flags);
	assert_int_equal(r->devices, wanted->devices);
	assert_memory_equal(r->device, wanted->device, sizeof(r->device[0]) * r->devices);
}

/* ---- the tracepoints: the program, then the model ---- */

static void sim_receive(struct sim_skb *s)
{
	if (call(nf_netif_receive_skb, s->model.skb, 0, 0))
		model_receive(model_cpu(), &s->model, seen.clock);
	check_record(&s->model);
	s->model.skb->skb_iif = s->model.skb->dev->ifindex;
}

static void sim_enqueue(struct sim_socket *to, struct sim_skb *s)
{
	if (sim.world.enqueue &&
	    call(nf_udp_enqueue_schedule_skb_fentry, &to->socket.sk, (__u64)s->model.skb, 0))
		model_enqueue(model_cpu(), &to->model, &s->model, seen.clock);
}

static bool sim_data_ready(struct sim_socket *to)
{
	bool runs = call(nf_sk_data_ready, &to->socket.sk, 0, 0);

	if (runs)
		model_announce(model_cpu(), &to->model, sim.world.deferred, seen.clock);
	return runs;
}

/* The scheduler wakes and switches with interrupts off. */
static void sim_waking(__u32 task)
{
	bool handler = cpu()->handler;

	cpu()->handler = true;
	if (call(nf_sched_waking, &sim.task[task], 0, 0))
		model_waking(model_cpu(), task, seen.clock);
	cpu()->handler = handler;
}

static void sim_switch(__u32 task)
{
	cpu()->handler = true;
	if (call(nf_sched_switch, NULL, 0, (__u64)&sim.task[task]))
		model_switch(model_cpu(), task, seen.clock);
	cpu()->handler = false;
}

static void sim_copy(struct sim_skb *s)
{
	if (call(nf_skb_copy_datagram_iovec, s->model.skb, 10, 0))
		model_copy(&s->model, cpu()->task, seen.clock);
	check_record(&s->model);
}

static void sim_consume(struct sim_skb *s)
{
	if (call(nf_consume_skb, s->model.skb, 0, 0))
		model_consume(model_cpu(), &s->model, s->udp, !sim.world.deferred, cpu()->task,
			      seen.clock);
	check_record(&s->model);
	s->place = FREE;
}

static void sim_defer(struct sim_skb *s)
{
	if (call(nf_skb_attempt_defer_free_fentry, s->model.skb, 0, 0))
		model_defer(model_cpu(), &s->model, s->udp, cpu()->task, seen.clock);
	check_record(&s->model);
	s->place = FREE;
}

static void sim_queue(struct sim_skb *s, struct net_device *dev)
{
	s->model.skb->dev = dev;
	if (call(nf_net_dev_queue, s->model.skb, 0, 0))
		model_queue(&s->model, seen.clock);
	check_record(&s->model);
}

static void sim_start(struct sim_skb *s)
{
	struct net_device *dev = s->model.skb->dev;

	if (call(nf_net_dev_start_xmit, s->model.skb, (__u64)dev, 0))
		model_start(model_cpu(), &s->model, dev, seen.clock);
	check_record(&s->model);
}

static void sim_xmit(struct sim_skb *s, struct net_device *dev)
{
	if (call(nf_net_dev_xmit, s->model.skb, 0, (__u64)dev))
		model_xmit(model_cpu(), &s->model, seen.clock);
}

/* The device in the record of a drop is the skb's, or that of its last stage. */
static void check_drop(const struct net_device *dev)
{
	const struct nf_drop_record *r = &seen.record.drop;

	if (!seen.size || r->header.type != NF_RECORD_DROP || !sim.world.exact)
		return;
	assert_int_equal(r->netns, dev ? dev->nd_net.net->ns.inum : 0);
	assert_string_equal(r->device, dev ? dev->name : "");
}

static void sim_drop(struct sim_skb *s, bool late)
{
	const struct net_device *dev = s->model.skb->dev;

	if (dev == &sim.no_device)
		dev = model_matches(&s->model) ? model_device(&s->model.journey) : NULL;
	if (call(nf_kfree_skb, s->model.skb, 0x1000 + below(3),
		 late ? SKB_DROP_REASON_NOT_SPECIFIED : 1 + below(2)))
		model_drop(model_cpu(), &s->model, late, seen.clock);
	check_record(&s->model);
	check_drop(dev);
	s->place = FREE;
}

/* Interrupts are off in a handler, and where softirqs are raised. */
static void sim_raise(void)
{
	bool handler = cpu()->handler;

	cpu()->handler = true;
	if (call(nf_softirq_raise, (void *)NET_RX_SOFTIRQ, 0, 0))
		model_raise(model_cpu(), seen.clock);
	cpu()->handler = handler;
	cpu()->raised = true;
}

static void sim_irq(void)
{
	cpu()->handler = true;
	if (call(nf_irq_handler_entry, (void *)40, 0, 0))
		model_irq(model_cpu(), seen.clock);
	sim_raise();
	if (call(nf_irq_handler_exit, (void *)40, 0, 0))
		model_irq(model_cpu(), 0);
	cpu()->handler = false;
}

static void sim_softirq_entry(__u32 vec)
{
	cpu()->bottom = true;
	if (call(nf_softirq_entry, (void *)(uintptr_t)vec, 0, 0))
		model_enter(model_cpu(), vec, seen.clock);
}

static void sim_softirq_exit(__u32 vec)
{
	if (call(nf_softirq_exit, (void *)(uintptr_t)vec, 0, 0)) {
		model_cpu()->softirq = 0;
		model_cpu()->ready = NULL;
	}
	cpu()->bottom = false;
}

/* ---- skbs ---- */

/* A random skb in this place, now busy; NULL if there is none. */
static struct sim_skb *take(enum place place)
{
	__u32 start = below(SIMULATION_SKBS);

	for (__u32 i = 0; i < SIMULATION_SKBS; i++) {
		struct sim_skb *s = &sim.skb[(start + i) % SIMULATION_SKBS];

		if (s->place != place || (place == BACKLOG && s->backlog != stand_in.cpu))
			continue;
		s->place = BUSY;
		return s;
	}
	return NULL;
}

static struct net_device *any_device(void)
{
	return &machine.dev[below(MACHINE_NETS)][below(MACHINE_DEVICES)];
}

/* Memory for a linear part, which was no other skb's for long. */
static unsigned char *new_head(void)
{
	sim.heads = (sim.heads + 1) % SIMULATION_HEADS;
	return sim.head + (size_t)sim.heads * MACHINE_HEAD;
}

/* The kernel allocates an skb. */
static struct sim_skb *allocate(struct net_device *dev)
{
	struct sim_skb *s = take(FREE);

	if (!s)
		return NULL;
	skb_fill(s->model.skb, new_head(), dev, 100);
	s->model.born = stand_in.now;
	s->udp = false;
	return s;
}

/* ---- transmit, with softirqs off ---- */

/* Inside start_xmit of lo and veth: the peer will receive it on this CPU. */
static void pass_on(struct sim_skb *s)
{
	sim_raise();
	s->backlog = stand_in.cpu;
	if (!(s->model.skb->dev->flags & IFF_LOOPBACK))
		s->model.skb->dev = &machine.dev[below(MACHINE_NETS)][1];
	s->model.skb->skb_iif = 0;
}

/* start_xmit of a queued skb: at a card, lo, veth or a stacked device. */
static void transmit(struct sim_skb *s)
{
	struct net_device *dev = s->model.skb->dev;
	bool passes = dev->flags & IFF_LOOPBACK || dev->ifindex == 2;
	bool bottom = cpu()->bottom;

	cpu()->bottom = true;
	sim_start(s);
	if (passes)
		pass_on(s);
	else if (dev->ifindex == 4 && percent(50)) { /* stacked */
		sim_queue(s, &machine.dev[below(MACHINE_NETS)][2]);
		sim_start(s);
		sim_xmit(s, s->model.skb->dev);
	} else if (percent(10)) {
		s->model.skb->head = new_head(); /* linearized */
	}
	if (!passes && percent(10)) { /* the driver frees it at once */
		sim_consume(s);
		s->place = BUSY;
		sim_xmit(s, dev);
		s->place = FREE;
	} else {
		sim_xmit(s, dev);
		s->place = passes ? BACKLOG : DRIVER;
	}
	cpu()->bottom = bottom;
}

static void send(struct sim_skb *s, struct net_device *dev)
{
	bool bottom = cpu()->bottom;

	cpu()->bottom = true;
	sim_queue(s, dev);
	if (percent(60))
		transmit(s);
	else
		s->place = QUEUED;
	cpu()->bottom = bottom;
}

/* ---- receive, in a softirq ---- */

/* A socket that nobody has locked, of the first `limit`; NULL if there is none. */
static struct sim_socket *any_socket(__u32 limit)
{
	struct sim_socket *to = &sim.socket[below(limit)];

	/* Without a model, UDP sockets have no lock, as in the kernel. */
	return to->locked && (sim.world.exact || !to->model.udp) ? NULL : to;
}

static void append(struct sim_socket *to, struct sim_skb *s)
{
	s->socket = to;
	s->place = SOCKET;
	model_append(&to->model.receive, &s->model);
	if (!to->model.udp) {
		queue_append(&to->socket.sk.sk_receive_queue, s->model.skb);
		return;
	}
	queue_udp(&to->socket, s->model.skb);
	s->udp = true;
}

static void announce(struct sim_socket *to)
{
	__u32 task = below(MODEL_TASKS);

	to->announcing = sim.world.exact;
	/* Without the announcement, the wake-up may be that of the one before. */
	if (!sim_data_ready(to))
		task = MODEL_TASKS;
	to->announcing = false;
	/* Nobody else wakes the task at the same time (task_struct.pi_lock), and it does not run. */
	for (int n = below(3); n && task < MODEL_TASKS && !sim.task_runs[task]; n--) {
		sim.task_runs[task] = true;
		sim_waking(task);
		sim.task_runs[task] = false;
	}
}

/* A reader on another CPU can take a datagram before it is announced. */
static void pause_here(void)
{
	if (sim.depth < SIMULATION_NESTED && percent(20))
		interrupt();
}

static void to_socket(struct sim_skb *s)
{
	struct sim_socket *to = any_socket(SIMULATION_SOCKETS - 1);
	__u32 fate = below(100);

	if (!to) {
		sim_drop(s, false);
		return;
	}
	if (!to->model.udp && fate < 20) { /* a task owns the socket */
		s->socket = to;
		s->place = OWNED;
		return;
	}
	to->locked = true;
	if (to->model.udp) {
		sim_enqueue(to, s);
		if (fate < 10) { /* its buffer is full */
			sim_drop(s, false);
			to->locked = false;
			return;
		}
	}
	if (!to->model.udp && fate < 40)
		s->place = FREE; /* TCP merges it into the tail */
	else
		append(to, s);
	if (to->model.udp)
		pause_here();
	announce(to);
	to->locked = false;
}

/* tcpdump gets a clone: another skb with the same head, in the last socket. */
static void clone_of(const struct sim_skb *s)
{
	struct sim_socket *to = &sim.socket[SIMULATION_SOCKETS - 1];
	struct sim_skb *other = to->locked ? NULL : allocate(s->model.skb->dev);

	if (!other)
		return;
	s->model.skb->cloned = 1;
	*other->model.skb = *s->model.skb;
	to->locked = true;
	append(to, other);
	announce(to);
	to->locked = false;
}

static void after_receive(struct sim_skb *s)
{
	__u32 fate = below(100);

	if (percent(20)) { /* up to a bridge */
		s->model.skb->dev = &machine.dev[below(MACHINE_NETS)][3];
		sim_receive(s);
	}
	if (percent(10))
		clone_of(s);
	if (fate < 55)
		to_socket(s);
	else if (fate < 72)
		send(s, any_device());
	else if (fate < 80)
		sim_drop(s, false);
	else if (fate < 90)
		sim_consume(s);
	else
		s->place = FREE; /* merged into another one, without a tracepoint */
}

/* GRO passes a list on: all are received before the first goes further. */
static void receive_some(void)
{
	struct sim_skb *list[SIMULATION_LIST];
	__u32 count = 0;

	for (__u32 n = 1 + below(percent(30) ? SIMULATION_LIST : 2); n; n--) {
		struct sim_skb *s = percent(50) ? take(BACKLOG) : NULL;

		if (!s)
			s = allocate(&machine.dev[below(MACHINE_NETS)][1 + below(2)]);
		if (!s)
			break;
		sim_receive(s);
		list[count++] = s;
	}
	for (__u32 i = 0; i < count; i++)
		after_receive(list[i]);
}

static void net_rx(void)
{
	cpu()->raised = false;
	sim_softirq_entry(NET_RX_SOFTIRQ);
	receive_some();
	if (percent(10))
		sim_raise(); /* the budget was used up */
	sim_softirq_exit(NET_RX_SOFTIRQ);
}

/* The driver completes transmits: some with kfree_skb, as xen-netfront does. */
static void net_tx(void)
{
	struct sim_skb *s;

	sim_softirq_entry(NET_TX_SOFTIRQ);
	for (__u32 n = 1 + below(4); n; n--) {
		s = take(DRIVER);
		if (!s)
			break;
		if (percent(70))
			sim_consume(s);
		else
			sim_drop(s, true);
	}
	sim_softirq_exit(NET_TX_SOFTIRQ);
}

static void softirqs(void)
{
	if (cpu()->bottom || cpu()->handler)
		return;
	if (cpu()->raised)
		net_rx();
	else if (percent(50))
		net_tx();
}

/* ---- process context ---- */

/* The first skb of a socket, taken by its reader. */
static struct sim_skb *first_of(struct sim_socket *from)
{
	struct sk_buff_head *queue = &from->socket.sk.sk_receive_queue;
	struct model_queue *q = &from->model.receive;

	if (from->model.udp) {
		if (!from->model.reader.count) {
			queue_splice(queue, &from->socket.udp.reader_queue);
			model_splice(&from->model);
		}
		queue = &from->socket.udp.reader_queue;
		q = &from->model.reader;
	}
	if (!q->count)
		return NULL;
	for (int i = 0; i < SIMULATION_SKBS; i++) {
		struct sim_skb *s = &sim.skb[i];

		if (&s->model != q->skb[0])
			continue;
		model_remove(q, &s->model);
		assert_ptr_equal(queue_take(queue), s->model.skb);
		s->place = BUSY;
		return s;
	}
	return NULL;
}

/* A socket's queue is read, purged or closed; a TCP socket is locked for it. */
static struct sim_skb *from_socket(struct sim_socket **from)
{
	*from = &sim.socket[below(SIMULATION_SOCKETS)];
	if ((*from)->announcing || ((*from)->locked && !(*from)->model.udp))
		return NULL;
	return first_of(*from);
}

static void read_one(void)
{
	struct sim_socket *from;
	struct sim_skb *s = from_socket(&from);

	if (!s)
		return;
	if (percent(5)) /* something linearized it in the queue */
		s->model.skb->head = new_head();
	if (percent(s->udp ? 30 : 60))
		sim_copy(s);
	if (sim.world.deferred && percent(70))
		sim_defer(s);
	else
		sim_consume(s);
}

/* A task releases its TCP socket: what was received for it is queued, in one go or one by one. */
static void release_one(void)
{
	struct sim_skb *s = take(OWNED);
	struct sim_socket *to = s ? s->socket : NULL;
	__u32 more = below(4);

	if (!s)
		return;
	if (to->locked) {
		s->place = OWNED;
		return;
	}
	to->locked = true;
	append(to, s);
	for (int i = 0; i < SIMULATION_SKBS && more; i++) {
		s = &sim.skb[i];
		if (s->place != OWNED || s->socket != to)
			continue;
		if (percent(50))
			announce(to);
		if (s->place != OWNED) /* an interrupt took it */
			continue;
		append(to, s);
		more--;
	}
	announce(to);
	to->locked = false;
}

static void send_one(void)
{
	struct net_device *dev = any_device();
	struct sim_skb *s = allocate(dev);

	if (!s)
		return;
	if (percent(80))
		send(s, dev);
	else
		transmit(s); /* a segment that was cut from another skb */
}

static void dequeue_one(void)
{
	struct sim_skb *s = take(QUEUED);

	if (s)
		transmit(s);
}

/* A socket is closed, or a queue is too long; the queue keeps its links where dev is. */
static void drop_one(void)
{
	struct sim_socket *from;
	struct sim_skb *s = percent(50) ? from_socket(&from) : take(percent(50) ? QUEUED : DRIVER);

	if (!s)
		return;
	/* In the kernel, reading through what a UDP socket has there gives zeros. */
	if (s->udp || percent(50))
		s->model.skb->dev = &sim.no_device;
	sim_drop(s, false);
}

/* AF_UNIX: no device received the skb, whatever was at its address before. */
static void foreign_one(void)
{
	struct sim_skb *s = allocate(NULL);

	if (!s)
		return;
	sim_copy(s);
	sim_consume(s);
}

/* TCP merges skbs of its queue, and frees one without a tracepoint. */
static void merge_one(void)
{
	struct sim_socket *from;
	struct sim_skb *s = from_socket(&from);

	if (s)
		s->place = FREE;
}

/* One step of a task that nothing else runs at the same time. */
static void work(void)
{
	static void (*const job[])(void) = {
		read_one,    read_one, read_one,    read_one,  send_one,    drop_one,
		dequeue_one, send_one, foreign_one, merge_one, release_one,
	};
	__u32 task = below(MODEL_TASKS);

	if (sim.task_runs[task])
		return;
	sim.task_runs[task] = true;
	stand_in.tid = cpu()->task = task;
	if (percent(80))
		sim_switch(task);
	job[below(sizeof(job) / sizeof(job[0]))]();
	sim.task_runs[task] = false;
}

/* One step on the current CPU, which may be in the middle of another. */
static void step(void)
{
	bool first = !cpu()->running;
	__u32 task = cpu()->task;

	cpu()->running = true;
	sim.steps++;
	if (!cpu()->handler && percent(30))
		sim_irq();
	if (first && percent(60))
		work();
	else
		softirqs();
	if (first)
		cpu()->running = false;
	cpu()->task = task;
}

/* In the middle of a program: on this CPU an interrupt, on another one anything. */
static void interrupt(void)
{
	struct seen *up = running;
	__u32 here = stand_in.cpu, there = below(MACHINE_CPUS), tid = stand_in.tid;

	if (there == here ? cpu()->handler : sim.cpu[there].running)
		return;
	sim.depth++;
	on_cpu(there);
	step();
	on_cpu(here);
	stand_in.tid = tid;
	running = up;
	sim.depth--;
}

/* ---- the whole ---- */

static __u64 setting(const char *name, __u64 otherwise)
{
	const char *text = getenv(name);

	return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

/* Whether an address can be one of the simulation's: nobody else has its place in a table. */
static bool fits(__u8 *sets, __u8 *hops, const struct sk_buff *skb)
{
	__u64 number = nf_address(skb);

	if (hops[nf_hash(number, settings.hops_shift)])
		return false;
	if (sim.world.exact && sets[nf_hash(number, settings.inflight_shift)] == NF_INFLIGHT_WAYS)
		return false;
	hops[nf_hash(number, settings.hops_shift)] = 1;
	sets[nf_hash(number, settings.inflight_shift)]++;
	return true;
}

static void choose_addresses(void)
{
	__u8 sets[1 << PATH_SETS_LOG2] = {0}, hops[2 << PATH_SETS_LOG2] = {0};
	__u32 n = 0;

	for (__u32 i = 0; n < SIMULATION_SKBS; i++) {
		assert_true(i < MACHINE_SKBS);
		if (fits(sets, hops, &machine.skb[i]))
			sim.skb[n++].model.skb = &machine.skb[i];
	}
}

static void begin_sockets(void)
{
	for (int i = 0; i < SIMULATION_SOCKETS; i++) {
		struct sim_socket *s = &sim.socket[i];

		s->model.udp = i < SIMULATION_SOCKETS / 2;
		socket_init(&s->socket, s->model.udp ? SOCK_DGRAM : 1,
			    s->model.udp ? IPPROTO_UDP : IPPROTO_TCP);
	}
	/* tcpdump's */
	sim.socket[SIMULATION_SOCKETS - 1].socket.sk.__sk_common.skc_family = 17;
}

static void begin_devices(void)
{
	static const struct rtnl_link_ops veth = {.kind = "veth"}, bridge = {.kind = "bridge"};

	for (int n = 0; n < MACHINE_NETS; n++) {
		machine.dev[n][2].rtnl_link_ops = &veth;
		machine.dev[n][3].rtnl_link_ops = &bridge;
	}
	if (sim.world.few_blocks)
		path_blocks(5 * MACHINE_CPUS, 12);
	/* A device that another CPU has just begun to give a slot is in no record. */
	for (int d = 0; d < MODEL_DEVICES; d++)
		nf_device_slot(&machine.dev[0][0] + d);
}

static void simulation_begin(const struct world *world, __u64 seed)
{
	memset(&model, 0, sizeof(model));
	sim = (struct sim){.world = *world, .random = seed * 0x9e3779b97f4a7c15ULL | 1};
	settings.udp_reader = false;
	settings.udp_enqueue = world->enqueue;
	settings.udp_deferred = world->deferred;
	settings.drop_keys = 10;
	settings.drop_quota = 8;
	if (!world->exact) /* 128 entries */
		settings.inflight_shift = 64 - 6;
	sim.head = test_calloc(SIMULATION_HEADS, MACHINE_HEAD);
	sim.heads = 1;
	stand_in.now = 1600000000;
	running = NULL;
	begin_sockets();
	sim.no_device.nd_net.net = &sim.no_net;
	sim.no_net.loopback_dev = &machine.dev[0][0]; /* which is not in no_net */
	sim.no_device.ifindex = 7;
	for (int i = 0; i < MODEL_TASKS; i++)
		sim.task[i].pid = i;
	choose_addresses();
	begin_devices();
	/* A socket gets what devices of all namespaces received, and none of them is above another. */
	memset(machine.index, 0, sizeof(machine.index));
	stand_in.hook = on_helper;
	stand_in.on_record = on_record;
}

static void check_events(void)
{
	static const enum nf_event event[] = {
		NF_EVENT_BEGUN,	      NF_EVENT_DELIVERED, NF_EVENT_CONSUMED,	NF_EVENT_FORWARDED,
		NF_EVENT_TRANSMITTED, NF_EVENT_DROPPED,	  NF_EVENT_INVALIDATED, NF_EVENT_COMPLETED,
		NF_EVENT_CHOSEN,      NF_EVENT_RECORDED,
	};

	for (size_t i = 0; i < sizeof(event) / sizeof(event[0]); i++)
		assert_int_equal(events(event[i]), model.event[event[i]]);
	assert_int_equal(events(NF_EVENT_OVERWRITTEN), 0);
	assert_int_equal(events(NF_EVENT_TORN), 0);
}

/* The devices whose counters are together: one, or those of a kind. */
static bool counts_with(const struct net_device *dev, const struct net_device *other)
{
	__u32 slot = nf_device_slot(dev), other_slot = nf_device_slot(other);
	const struct nf_device_info *info = stand_in_value(&nf_device_infos, &slot, 0);
	const struct nf_device_info *other_info = stand_in_value(&nf_device_infos, &other_slot, 0);

	return slot == other_slot || (sim.world.few_blocks && info->group == other_info->group);
}

/* Whether a block has counters of this device, or of one whose counters are with it. */
static bool is_block_of(const struct nf_device_stats *stats, const struct net_device *dev)
{
	__u32 slot = nf_device_slot(dev);
	const struct nf_device_info *info = stand_in_value(&nf_device_infos, &slot, 0);

	if (!stats->owner)
		return false;
	if (NF_BLOCK_SLOT(stats->owner) == info->group)
		return true;
	for (int d = 0; d < MODEL_DEVICES; d++)
		if (NF_BLOCK_SLOT(stats->owner) == nf_device_slot(&machine.dev[0][0] + d))
			return counts_with(dev, &machine.dev[0][0] + d);
	return false;
}

static void add_hist(struct model_hist *sum, const __u64 *bucket, __u64 sum_ns, __u64 max_ns)
{
	for (int b = 0; b < NF_HIST_BUCKETS; b++)
		sum->bucket[b] += bucket[b];
	sum->sum += sum_ns;
	sum->max = max_ns > sum->max ? max_ns : sum->max;
}

static void check_hist(const struct net_device *dev, int segment)
{
	struct model_hist wanted = {0}, found = {0};

	for (int d = 0; d < MODEL_DEVICES; d++) {
		const struct net_device *other = &machine.dev[0][0] + d;
		const struct model_hist *h = model_hist(other, segment);

		if (counts_with(dev, other))
			add_hist(&wanted, h->bucket, h->sum, h->max);
	}
	for (__u32 i = 1; i < PATH_CHUNKS << PATH_CHUNK_SHIFT; i++) {
		const struct nf_hist *h = &block(i)->hist[segment];

		if (is_block_of(block(i), dev))
			add_hist(&found, h->bucket, h->sum_ns, h->max_ns);
	}
	assert_int_equal(found.sum, wanted.sum);
	assert_int_equal(found.max, wanted.max);
	assert_memory_equal(found.bucket, wanted.bucket, sizeof(wanted.bucket));
}

static void check_hists(void)
{
	__u32 shared = 0;

	for (int d = 0; d < MODEL_DEVICES; d++) {
		const struct net_device *dev = &machine.dev[0][0] + d;
		__u32 slot = nf_device_slot(dev);

		shared += ((struct nf_device_info *)stand_in_value(&nf_device_infos, &slot, 0))
				  ->shared;
		for (int segment = 0; segment < NF_SEGMENT_COUNT; segment++)
			check_hist(dev, segment);
	}
	assert_int_equal(shared > 0, sim.world.few_blocks);
	assert_int_equal(nf_block_counts.lost, 0);
}

/* ---- drops ---- */

static __u64 packets_of(const struct nf_drop_entry *entry)
{
	__u64 packets = 0;

	for (__u32 i = 0; i < settings.drop_shards; i++)
		packets += entry->shard[i].packets;
	return packets;
}

/* The daemon begins a generation, in the middle of programs; it takes the old one after them. */
static void next_generation(void)
{
	__u32 next = !live.drop_generation;

	for (__u32 i = 0; i < stand_in_keys(&nf_drops);) {
		const struct nf_drop_key *k = stand_in_key(&nf_drops, i);

		if (k->flags >> NF_KEY_GENERATION_SHIFT != next) {
			i++;
			continue;
		}
		sim.folded += packets_of(stand_in_value(&nf_drops, k, 0));
		stand_in_delete(&nf_drops, k);
	}
	for (__u32 i = 0; i < NF_DROP_QUOTAS; i++) {
		__u32 index = next * NF_DROP_QUOTAS + i;

		*(__u64 *)stand_in_value(&nf_drop_quotas, &index, 0) = 0;
	}
	drop_generations[next].keys = drop_generations[next].full = 0;
	live.drop_generation = next;
}

/* Every kfree_skb that was no completion is under a key or a reason. */
static void check_drops(void)
{
	__u64 packets = sim.folded, unkeyed = 0;

	assert_int_equal(event_of(NF_PROBE_KFREE_SKB, NF_EVENT_HIT),
			 events(NF_EVENT_COUNTED) + events(NF_EVENT_UNKEYED) +
				 events(NF_EVENT_COMPLETED));
	for (__u32 i = 0; i < stand_in_keys(&nf_drops); i++)
		packets += packets_of(stand_in_value(&nf_drops, stand_in_key(&nf_drops, i), 0));
	for (__u32 i = 0; i < stand_in_keys(&nf_drop_reasons); i++)
		unkeyed += packets_of(
			stand_in_value(&nf_drop_reasons, stand_in_key(&nf_drop_reasons, i), 0));
	assert_int_equal(packets, events(NF_EVENT_COUNTED));
	assert_int_equal(unkeyed, events(NF_EVENT_UNKEYED));
}

static void simulate(const struct world *world)
{
	__u64 steps = setting("NETFLOWD_SIMULATION", SIMULATION_STEPS);
	__u64 seed = setting("NETFLOWD_SEED", 1);

	printf("# seed %llu, %llu steps\n", (unsigned long long)seed, (unsigned long long)steps);
	simulation_begin(world, seed);
	while (sim.steps < steps) {
		on_cpu(below(MACHINE_CPUS));
		step();
		if (!below(1000))
			assert_balanced();
		if (!below(500))
			next_generation();
	}
	stand_in.hook = NULL;
	stand_in.on_record = NULL;
	assert_balanced();
	check_drops();
	if (world->exact) {
		check_events();
		check_hists();
	}
	printf("# %llu journeys, %llu runs skipped\n", (unsigned long long)events(NF_EVENT_BEGUN),
	       (unsigned long long)machine.missed);
	test_free(sim.head);
}

EACH_TEST(path_begin, path_end);

/* Room for all: every end, every stage and every histogram is what the model says. */
TEST(test_exact)
{
	simulate(&(struct world){.exact = true});
}

TEST(test_enqueue)
{
	simulate(&(struct world){.exact = true, .enqueue = true});
}

TEST(test_deferred)
{
	simulate(&(struct world){.exact = true, .enqueue = true, .deferred = true});
}

/* Devices share the blocks of their groups: together they have what the model says. */
TEST(test_few_blocks)
{
	simulate(&(struct world){.exact = true, .few_blocks = true});
}

/* Three skbs for two entries: nothing is counted twice or lost, and no record is mixed. */
TEST(test_crowded)
{
	simulate(&(struct world){.exact = false});
	assert_true(events(NF_EVENT_OVERWRITTEN) > 0);
}

TEST(test_crowded_enqueue)
{
	simulate(&(struct world){.enqueue = true, .deferred = true, .few_blocks = true});
	assert_true(events(NF_EVENT_OVERWRITTEN) > 0);
}
