/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A machine on which the programs run: devices, namespaces, skbs, tasks.
 *
 * Include it after the programs ("bpf/netflowd.bpf.c" or "bpf/slots.bpf.c"):
 * it fills in the structs of bpf/kernel.h.
 */
#ifndef MACHINE_H
#define MACHINE_H

#include <stdlib.h>
#include <string.h>

#include "tests/unit/test.h"

#define MACHINE_CPUS 4
#define MACHINE_NETS 3
#define MACHINE_DEVICES 4 /* of each namespace; the first is lo */
#define MACHINE_SKBS 8192
#define MACHINE_HEAD 256 /* bytes of an skb's linear memory */
#define MACHINE_NESTED 8 /* programs that interrupt each other */

/* A socket; that of UDP has its struct sock at its begin. */
struct machine_socket {
	union {
		struct sock sk;
		struct udp_sock udp;
		struct tcp_sock tcp;
	};
};

struct machine_run {
	int (*program)(__u64 *ctx);
	__u32 cpu;
};

static struct machine {
	struct net net[MACHINE_NETS];
	struct net_device dev[MACHINE_NETS][MACHINE_DEVICES];
	struct hlist_head index[MACHINE_NETS]
			       [256]; /* of net_device.index_hlist, as dev_by_index() has it */
	struct net_device_ops ops;
	struct sk_buff *skb; /* [MACHINE_SKBS] */
	unsigned char (*head)[MACHINE_HEAD];
	__u32 skbs; /* used entries of both */
	struct task_struct task;
	__u64 ctx[MACHINE_NESTED][4];
	struct machine_run running[MACHINE_NESTED];
	__u32 depth;  /* entries of running[] */
	__u64 missed; /* runs that the kernel skipped, because the program was running */
} machine;

/* Whether the programs run on the stack of the current task. */
static inline void in_task(bool yes)
{
	machine.task.stack = yes ? (void *)machine.ctx : NULL;
}

static inline void on_cpu(__u32 cpu)
{
	stand_in.cpu = cpu;
}

/* Set the clock; the next reading of it is this time. */
static inline void at(__u64 ns)
{
	stand_in.now = ns;
}

static inline void machine_devices(void)
{
	static const char *const names[MACHINE_DEVICES] = {"lo", "eth0", "eth1", "br0"};

	for (__u32 n = 0; n < MACHINE_NETS; n++) {
		machine.net[n].ns.inum = 4026531840U + n;
		machine.net[n].net_cookie = 1 + n;
		machine.net[n].loopback_dev = &machine.dev[n][0];
		machine.net[n].dev_index_head = machine.index[n];
		for (int d = 0; d < MACHINE_DEVICES; d++) {
			struct net_device *dev = &machine.dev[n][d];

			strcpy(dev->name, names[d]);
			dev->ifindex = d + 1;
			dev->flags = d ? 0 : IFF_LOOPBACK;
			dev->nd_net.net = &machine.net[n];
			dev->netdev_ops = &machine.ops;
			machine.index[n][dev->ifindex & 255].first = &dev->index_hlist;
		}
	}
}

/* An empty machine with the programs' settings of tests: 16 ns a clock reading, no limits. */
static inline void machine_begin(void)
{
	struct sk_buff *skb = machine.skb;
	unsigned char(*head)[MACHINE_HEAD] = machine.head;

	machine = (struct machine){.skb = skb, .head = head};
	if (!skb) {
		machine.skb = test_calloc(MACHINE_SKBS, sizeof(*skb));
		machine.head = test_calloc(MACHINE_SKBS, MACHINE_HEAD);
	}
	stand_in_reset(MACHINE_CPUS);
	machine_devices();
	stand_in.now = 1000000000;
	stand_in.task = &machine.task;
	stand_in.pid = stand_in.tid = 100;
	strcpy(stand_in.comm, "reader");
	stand_in.missing[0] = "vlan_present";
	stand_in.missing[1] = "vlan_all";
	settings.stack_size = sizeof(machine.ctx);
	settings.atomic_fetch = settings.no_reentry = true;
}

static inline void machine_end(void)
{
	stand_in_free();
	test_free(machine.skb);
	test_free(machine.head);
	machine.skb = NULL;
	machine.head = NULL;
}

/* ---- skbs ---- */

/* Bytes before the network header: an Ethernet header, aligned as NET_IP_ALIGN does. */
enum { MACHINE_MAC = 2, MACHINE_NETWORK = 16, MACHINE_TRANSPORT = 36 };

/* A linear IPv4 skb at `dev`; `size`: bytes from the network header on. */
static inline void skb_fill(struct sk_buff *skb, unsigned char *head, struct net_device *dev,
			    __u32 size)
{
	*skb = (struct sk_buff){
		.dev = dev,
		.len = size,
		.protocol = bpf_htons(0x0800),
		.mac_header = MACHINE_MAC,
		.network_header = MACHINE_NETWORK,
		.transport_header = MACHINE_TRANSPORT,
		.head = head,
		.data = head + MACHINE_NETWORK,
	};
	memset(head, 0, MACHINE_HEAD);
	head[MACHINE_NETWORK] = 0x45;
	head[MACHINE_NETWORK + 2] = size >> 8;
	head[MACHINE_NETWORK + 3] = size;
	head[MACHINE_NETWORK + 9] = IPPROTO_UDP;
}

/* The next skb whose memory no other one had. */
static inline struct sk_buff *skb_new(struct net_device *dev)
{
	__u32 n = machine.skbs++;

	assert_true(n < MACHINE_SKBS);
	skb_fill(&machine.skb[n], machine.head[n], dev, 100);
	return &machine.skb[n];
}

/* The kernel freed the skb silently and gives out its memory, with another head. */
static inline void skb_reuse(struct sk_buff *skb, struct net_device *dev)
{
	skb_fill(skb, machine.head[machine.skbs++], dev, 100);
}

/* An skb of segments of 32 bytes. */
static inline void skb_segmented(struct sk_buff *skb, __u32 type, __u32 segments)
{
	struct skb_shared_info *info;

	skb->end = MACHINE_HEAD - sizeof(*info);
	info = (void *)(skb->head + skb->end);
	*info = (struct skb_shared_info){.gso_type = type, .gso_size = 32, .gso_segs = segments};
}

/* ---- queues of sockets ---- */

static inline struct sk_buff *queue_end(struct sk_buff_head *queue)
{
	return (struct sk_buff *)queue;
}

static inline void queue_init(struct sk_buff_head *queue)
{
	queue->next = queue->prev = queue_end(queue);
}

static inline void queue_append(struct sk_buff_head *queue, struct sk_buff *skb)
{
	if (queue->prev == queue_end(queue))
		queue->next = skb;
	skb->prev = queue->prev;
	queue->prev = skb;
}

/* The skb behind this one; the end of the queue if there is none. */
static inline struct sk_buff *queue_next(struct sk_buff_head *queue, const struct sk_buff *skb)
{
	struct sk_buff *next = queue_end(queue);

	for (struct sk_buff *at = queue->prev; at != skb; at = at->prev) {
		assert_ptr_not_equal(at, queue_end(queue));
		next = at;
	}
	return next;
}

static inline void queue_remove(struct sk_buff_head *queue, struct sk_buff *skb)
{
	struct sk_buff *next = queue_next(queue, skb);

	if (next == queue_end(queue))
		queue->prev = skb->prev;
	else
		next->prev = skb->prev;
	if (queue->next == skb)
		queue->next = next;
}

/* The first skb, removed; NULL: the queue is empty. */
static inline struct sk_buff *queue_take(struct sk_buff_head *queue)
{
	struct sk_buff *first = queue->next;

	if (first == queue_end(queue))
		return NULL;
	queue_remove(queue, first);
	return first;
}

/* udp_recvmsg() moves all to another queue (skb_queue_splice_tail_init()). */
static inline void queue_splice(struct sk_buff_head *from, struct sk_buff_head *to)
{
	for (struct sk_buff *skb = queue_take(from); skb; skb = queue_take(from))
		queue_append(to, skb);
}

/* A socket of IPv4 in the first namespace, with empty queues. */
static inline void socket_init(struct machine_socket *s, __u16 type, __u16 protocol)
{
	memset(s, 0, sizeof(*s));
	s->sk.__sk_common.skc_family = 2;
	s->sk.__sk_common.skc_net.net = &machine.net[0];
	s->sk.sk_type = type;
	s->sk.sk_protocol = protocol;
	queue_init(&s->sk.sk_receive_queue);
	if (protocol == IPPROTO_UDP)
		queue_init(&s->udp.reader_queue);
}

/* UDP keeps sizes in the place of skb->dev (udp_set_dev_scratch()): truesize, len, linear. */
static inline void queue_udp(struct machine_socket *s, struct sk_buff *skb)
{
	skb->dev = (void *)(uintptr_t)(1ULL << 48 | (__u64)skb->len << 32 | 768);
	queue_append(&s->sk.sk_receive_queue, skb);
}

/* ---- calling programs ---- */

/* The kernel does not start a program that is running on this CPU (since 6.1). */
static inline bool machine_skips(int (*program)(__u64 *ctx))
{
	for (__u32 i = 0; i < machine.depth; i++)
		if (settings.no_reentry && machine.running[i].program == program &&
		    machine.running[i].cpu == stand_in.cpu)
			return true;
	return false;
}

static inline void run(int (*program)(__u64 *ctx), __u64 a, __u64 b, __u64 c, __u64 d)
{
	__u64 *ctx = machine.ctx[machine.depth];
	__u32 cpu = stand_in.cpu;

	if (machine_skips(program)) {
		machine.missed++;
		return;
	}
	assert_true(machine.depth < MACHINE_NESTED);
	ctx[0] = a;
	ctx[1] = b;
	ctx[2] = c;
	ctx[3] = d;
	machine.running[machine.depth++] = (struct machine_run){.program = program, .cpu = cpu};
	assert_int_equal(program(ctx), 0);
	machine.depth--;
	assert_int_equal(stand_in.cpu, cpu);
}
#define RUN(program, a, b, c, d)                                                          \
	run(program, (__u64)(uintptr_t)(a), (__u64)(uintptr_t)(b), (__u64)(uintptr_t)(c), \
	    (__u64)(uintptr_t)(d))

#endif
