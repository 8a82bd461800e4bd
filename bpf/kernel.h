/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's types, reduced to the fields that the programs read.
 *
 * With preserve_access_index, libbpf looks up each field by its name in the
 * running kernel's BTF, so the order and the size of fields here have no
 * meaning.  Three underscores and a suffix (struct net___x) name the same
 * kernel type in another version; only bpf/compat.h uses such types.
 */
#ifndef NF_KERNEL_H
#define NF_KERNEL_H

#include "records.h"

/* bpf_helper_defs.h uses these types; the headers of user space would include libc's. */
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
#define bool _Bool
#define true 1
#define false 0

enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
};
enum {
	BPF_F_MMAPABLE = 1 << 10,
};
enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_HASH = 5,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_QUEUE = 22,
	BPF_MAP_TYPE_RINGBUF = 27,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
	unsigned int inum;
};

struct net_device;

struct net {
	struct ns_common ns;
	__u64 net_cookie;
	struct net_device *loopback_dev;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct net_device_ops {
	int (*ndo_start_xmit)(void *skb, struct net_device *dev);
};

struct net_device_stats {
	unsigned long tx_dropped;
};

struct rtnl_link_ops {
	const char *kind;
};

struct net_device {
	char name[NF_DEVICE_NAME];
	const struct rtnl_link_ops *rtnl_link_ops;
	int ifindex;
	unsigned int flags;
	__u64 features;
	const struct net_device_ops *netdev_ops;
	struct net_device_stats stats;
	possible_net_t nd_net;
};

struct sock_common {
	unsigned short skc_family;
	possible_net_t skc_net;
	volatile unsigned char skc_state;
};

struct kernfs_node {
	__u64 id;
};

struct cgroup {
	struct kernfs_node *kn;
};

struct sock_cgroup_data {
	struct cgroup *cgroup;
};

struct sk_buff;

struct sk_buff_head {
	struct sk_buff *next;
	struct sk_buff *prev;
};

struct sock {
	struct sock_common __sk_common;
	struct sk_buff_head sk_receive_queue;
	__u16 sk_type;
	__u16 sk_protocol;
	struct sock_cgroup_data sk_cgrp_data;
};

struct udp_sock {
	struct sock sk; /* only its place is used: it is first, in the kernel as in the tests */
	struct sk_buff_head reader_queue;
};

struct sk_buff {
	struct sk_buff *prev;
	struct net_device *dev;
	struct sock *sk;
	unsigned int len;
	unsigned int data_len;
	int skb_iif;
	__u16 vlan_proto;
	__u16 vlan_tci;
	__u16 protocol;
	__u16 transport_header;
	__u16 network_header;
	__u16 mac_header;
	unsigned int end; /* offset of skb_shared_info from head, on 64-bit kernels */
	unsigned char *head;
	unsigned char *data;
};

struct skb_frag {
	unsigned int len;
};

struct skb_shared_info {
	__u8 nr_frags;
	unsigned short gso_size;
	unsigned short gso_segs;
	unsigned int gso_type;
	/* Only its offset is used, see bpf/slots.h.  The tests need the alignment. */
	struct skb_frag frags[1] __attribute__((aligned(8)));
};

struct napi_struct {
	struct net_device *dev;
};

struct irqaction;

struct task_struct {
	void *stack;
	int pid;
};

/* CO-RE looks up the value by its name: releases renumber the reasons. */
enum skb_drop_reason {
	SKB_DROP_REASON_NOT_SPECIFIED,
};

#pragma clang attribute pop

/* include/uapi/linux/{in,if}.h, include/linux/{net,socket}.h */
enum {
	SOCK_DGRAM = 2,
	IPPROTO_TCP = 6,
	IPPROTO_UDP = 17,
	AF_UNIX = 1,
	AF_NETLINK = 16,
	MSG_PEEK = 0x2,
	MSG_ERRQUEUE = 0x2000,
	IFF_LOOPBACK = 0x8,
};

/* Softirq vectors of include/linux/interrupt.h, arguments of the softirq tracepoints. */
enum {
	NET_TX_SOFTIRQ = 2,
	NET_RX_SOFTIRQ = 3,
};

#endif
