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

struct hlist_nulls_node {
	struct hlist_nulls_node *next;
};

struct hlist_nulls_head {
	struct hlist_nulls_node *first;
};

struct inet_ehash_bucket {
	struct hlist_nulls_head chain;
};

struct inet_listen_hashbucket {
	struct hlist_nulls_head nulls_head;
};

struct inet_hashinfo {
	struct inet_ehash_bucket *ehash;
	unsigned int ehash_mask;
	unsigned int lhash2_mask;
	struct inet_listen_hashbucket *lhash2;
};

struct hlist_node {
	struct hlist_node *next;
};

struct hlist_head {
	void *first;
};

struct udp_hslot {
	struct hlist_head head;
};

struct udp_table {
	struct udp_hslot *hash; /* by namespace and port */
	unsigned int mask;
};

struct raw_hashinfo {
	struct hlist_head ht[256]; /* of hlist_nulls_head from 5.19 to 6.2 */
};

struct inet_timewait_death_row {
	struct inet_hashinfo *hashinfo;
};

struct ipv4_devconf {
	int data[26]; /* net.ipv4.conf.DEV.*, by IPV4_DEVCONF_* of include/uapi/linux/ip.h, less 1 */
};

struct ipv6_devconf {
	__s32 forwarding; /* net.ipv6.conf.DEV.* */
	__s32 disable_ipv6;
	__s32 mtu6; /* bytes */
};

struct netns_ipv4 {
	struct inet_timewait_death_row tcp_death_row;
	struct ipv4_devconf *devconf_all;
};

struct netns_ipv6 {
	struct ipv6_devconf *devconf_all;
};

struct netns_xfrm {
	unsigned int policy_count[6]; /* by direction: in, out, forward; twice */
	__u8 policy_default[3];	      /* since 5.16: what is done without a policy */
};

struct net {
	struct ns_common ns;
	__u32 hash_mix;
	struct netns_ipv4 ipv4;
	struct netns_ipv6 ipv6;
	struct netns_xfrm xfrm;
	__u64 net_cookie;
	struct net_device *loopback_dev;
	struct hlist_head *dev_index_head; /* by the lower bits of the ifindex */
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

struct in_ifaddr {
	struct in_ifaddr *ifa_next;
	__u32 ifa_local; /* network byte order */
};

struct in_device {
	struct in_ifaddr *ifa_list;
	struct ipv4_devconf cnf;
};

struct inet6_dev {
	struct ipv6_devconf cnf;
	__u32 if_flags; /* IF_READY */
};

struct Qdisc {
	void *enqueue; /* NULL: it has no queue */
};

struct netdev_queue {
	struct Qdisc *qdisc;
};

struct bpf_prog;

struct bpf_xdp_link;

struct bpf_xdp_entity {
	struct bpf_prog *prog;
	struct bpf_xdp_link *link; /* instead of it */
};

enum { XDP_MODE_DRV = 1 };
struct kobject {
	const struct kernfs_node *sd;
};

struct device {
	struct kobject kobj;
};

struct net_device {
	char name[NF_DEVICE_NAME];
	struct hlist_node index_hlist; /* of dev_index_head */
	struct device dev;
	const struct rtnl_link_ops *rtnl_link_ops;
	int ifindex;
	unsigned int flags;
	unsigned int mtu;
	__u64 features;
	const struct net_device_ops *netdev_ops;
	struct net_device_stats stats;
	possible_net_t nd_net;
	struct in_device *ip_ptr;
	struct inet6_dev *ip6_ptr;
	struct netdev_queue *_tx;
	struct bpf_xdp_entity xdp_state[3]; /* since 5.9 (7f0a838254bd) */
	void *rx_handler;		    /* of a bridge, a bond, … */
	void *miniq_ingress, *miniq_egress; /* tc programs, until 6.5 */
	void *tcx_ingress, *tcx_egress;	    /* and since 6.6 */
};

struct in6_addr {
	union {
		__u32 u6_addr32[4];
	} in6_u;
};

struct sock;

struct sock_common {
	__u32 skc_daddr;     /* network byte order */
	__u32 skc_rcv_saddr; /* network byte order */
	__u32 skc_hash;
	__u8 skc_ipv6only : 1;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
	struct hlist_nulls_node skc_nulls_node; /* also the node of the hash of UDP */
	int skc_bound_dev_if;
	struct sock *skc_listener; /* of a request */
	__u16 skc_dport;	   /* network byte order */
	__u16 skc_num;		   /* host byte order */
	unsigned short skc_family;
	possible_net_t skc_net;
	volatile unsigned char skc_state;
};

typedef struct {
	int counter;
} atomic_t;

struct kernfs_node {
	__u64 id;
};

struct bpf_prog_array_item {
	void *prog; /* NULL: the end */
};

struct bpf_prog_array {
	struct bpf_prog_array_item items[1];
};

struct cgroup_bpf {
	struct bpf_prog_array *effective[1]; /* by type of attachment; the first is ingress */
};

struct cgroup {
	struct kernfs_node *kn;
	struct cgroup_bpf bpf;
};

struct sock_cgroup_data {
	struct cgroup *cgroup; /* since 5.15 */
	__u64 val;	       /* before; see nf_has_filter() */
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
	void *sk_filter;
	int sk_rcvbuf; /* bytes */
	int sk_rcvlowat;
	unsigned int sk_ack_backlog;
	unsigned int sk_max_ack_backlog;
	struct {
		atomic_t rmem_alloc; /* sk_rmem_alloc, bytes */
	} sk_backlog;
};

struct inet_connection_sock {
	struct sock sk; /* only its place is used, as in udp_sock */
	struct hlist_node icsk_listen_portaddr_node;
};

struct tcp_sack_block {
	__u32 start_seq;
	__u32 end_seq; /* the number behind its last byte */
};

struct tcp_sock {
	struct sock sk; /* only its place is used, as in udp_sock */
	__u32 rcv_nxt;
	struct tcp_sack_block selective_acks[4];
};

struct tcp_skb_cb {
	__u32 seq; /* host byte order */
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
	char cb[8];	 /* of the protocol, only its beginning: struct tcp_skb_cb */
	__u8 cloned : 1; /* another skb may have the same head */
	__u8 head_frag : 1;
	__u8 slow_gro : 1; /* since 5.15 (5fc88f93edf2, 9efb4b5baf6c) */
	__u16 vlan_proto;
	__u16 vlan_tci;
	__u16 protocol;
	__u16 transport_header;
	__u16 network_header;
	__u16 mac_header;
	__u8 pkt_type : 3;  /* PACKET_* */
	__u8 ip_summed : 2; /* CHECKSUM_* */
	__u8 csum_valid : 1;
	unsigned long _skb_refdst; /* address of the dst_entry, and bits */
	__u8 active_extensions;	   /* a bit for each of enum skb_ext_id */
	unsigned int end;	   /* offset of skb_shared_info from head, on 64-bit kernels */
	unsigned char *head;
	unsigned char *data;
};

/* What XDP passes on.  It is at the begin of the packet's memory. */
struct xdp_frame {
	void *data;
	__u32 headroom; /* bytes between it and the data */
	struct net_device *dev_rx;
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

struct dst_entry {
	struct net_device *dev;
	unsigned long
		_metrics; /* address of __u32[], by RTAX_* of include/uapi/linux/rtnetlink.h less 1, and bits */
	short error;
};

struct napi_struct {
	struct net_device *dev;
};

struct irqaction;

struct task_struct {
	void *stack;
	int pid;
	int softirq_disable_cnt; /* only with PREEMPT_RT */
};

/* CO-RE looks up the value by its name: releases renumber the reasons. */
enum skb_drop_reason {
	SKB_DROP_REASON_NOT_SPECIFIED,
};
enum skb_ext_id {
	SKB_EXT_SEC_PATH,
};

#pragma clang attribute pop

/*
 * include/uapi/linux/{in,if,if_packet}.h, include/linux/{net,socket,skbuff}.h,
 * include/net/sock.h, include/net/tcp_states.h
 */
enum {
	PACKET_BROADCAST = 1,
	PACKET_MULTICAST = 2,
	PACKET_OTHERHOST = 3,
	CHECKSUM_UNNECESSARY = 1,
	CHECKSUM_PARTIAL = 3,
	TCP_SYN_SENT = 2,
	TCP_SYN_RECV = 3,
	TCP_TIME_WAIT = 6,
	TCP_CLOSE = 7,
	TCP_LISTEN = 10,
	TCP_NEW_SYN_RECV = 12,
	AF_INET = 2,
	AF_INET6 = 10,
	AF_KEY = 15,
	AF_ALG = 38,
	AF_VSOCK = 40,
	IFF_UP = 0x1,
	SOCK_STREAM = 1,
	SOCK_DGRAM = 2,
	IPPROTO_ICMP = 1,
	IPPROTO_TCP = 6,
	IPPROTO_UDP = 17,
	IPPROTO_ICMPV6 = 58,
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
