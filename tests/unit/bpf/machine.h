/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A machine on which the programs run: devices, namespaces, skbs, tasks.
 *
 * Include it after the programs ("bpf/netflowd.bpf.c" or "bpf/slots.bpf.c"):
 * it fills in the structs of bpf/kernel.h.
 */
#ifndef MACHINE_H
#define MACHINE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MACHINE_CPUS 4
#define MACHINE_NETS 3
#define MACHINE_DEVICES 4 /* of each namespace; the first is lo */
#define MACHINE_SKBS 4096
#define MACHINE_HEAD 256 /* bytes of an skb's linear memory */
#define MACHINE_NESTED 8 /* programs that interrupt each other */

/* The layout that stand_in_rdonly_cast() expects: a UDP socket behind its struct sock. */
struct machine_socket {
	struct sock sk;
	struct udp_sock udp;
};

struct machine_run {
	int (*program)(__u64 *ctx);
	__u32 cpu;
};

static struct machine {
	struct net net[MACHINE_NETS];
	struct net_device dev[MACHINE_NETS][MACHINE_DEVICES];
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

static inline const void *machine_udp(const void *sk)
{
	return &((const struct machine_socket *)sk)->udp;
}

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
		for (int d = 0; d < MACHINE_DEVICES; d++) {
			struct net_device *dev = &machine.dev[n][d];

			strcpy(dev->name, names[d]);
			dev->ifindex = d + 1;
			dev->flags = d ? 0 : IFF_LOOPBACK;
			dev->nd_net.net = &machine.net[n];
			dev->netdev_ops = &machine.ops;
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
	stand_in.rdonly_cast = machine_udp;
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
