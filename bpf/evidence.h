/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Evidence: what an skb and its socket say at the moment of a drop, see NF_EVIDENCE_LIST.  Only
 * drops whose reason says too little need it, see settings.evidence.
 *
 * A socket of skb->sk or rx_sk can be a small one: a request or a connection in TIME_WAIT has only
 * the members of struct sock_common.
 *
 * The bits are collected in nf_cpu.evidence, one at a time.  The verifier knows nothing about that
 * memory; it would follow a register through each combination of its bits.
 */
#ifndef NF_EVIDENCE_H
#define NF_EVIDENCE_H

#include "bytes.h"
#include "device.h"
#include "lookup.h"

#define NF_TCP_FIN 0x01
#define NF_TCP_SYN 0x02
#define NF_TCP_RST 0x04
#define NF_TCP_ACK 0x10
#define NF_TCP_MIN 20  /* bytes of a TCP header without options */
#define NF_UDP_BYTES 8 /* of a UDP header, and the least of an ICMP message */
#define NF_IPV4_MIN 20 /* bytes of an IPv4 header without options */
#define NF_IPV4_MAX 64 /* and with all that fit, rounded up */
#define NF_IPV6_BYTES 40
#define NF_ENETUNREACH 101
#define NF_EHOSTUNREACH 113
#define NF_XFRM_BLOCK 1 /* XFRM_USERPOLICY_BLOCK of include/uapi/linux/xfrm.h */

#define NF_ETH_IPV6 0x86dd
#define NF_ETH_BYTES 14
#define NF_DHCP_SERVER 67 /* UDP ports */
#define NF_DHCP_CLIENT 68
#define NF_IF_READY 0x80000000 /* IF_READY of include/net/if_inet6.h: set by addrconf_notify() */
#define NF_OWN_ADDRESSES 4     /* of a device, that are compared with the source */

typedef volatile struct nf_evidence_state nf_evidence;

/* ---- the packet ---------------------------------------------------------------- */

/* Of a socket, or of an skb without one: whether it is no packet. */
static __always_inline bool nf_is_message(const struct sk_buff *skb, const struct sock *sk,
					  bool device)
{
	const __u64 families = 1ULL << AF_UNIX | 1ULL << AF_NETLINK | 1ULL << AF_KEY |
			       1ULL << AF_ALG | 1ULL << AF_VSOCK;
	__u16 family;

	/* Without branches: the verifier would follow all the rest once for each. */
	if (!sk)
		/* __alloc_skb() leaves network_header 0 and mac_header at all ones. */
		return !((__u32)device | skb->protocol | (skb->skb_iif > 0) | skb->network_header |
			 (skb->mac_header ^ 0xffff));
	family = BPF_CORE_READ(sk, __sk_common.skc_family);
	return family < 64 && families >> (family & 63) & 1;
}

static __always_inline void nf_evidence_skb(const struct sk_buff *skb, nf_evidence *e)
{
	__u32 summed = BPF_CORE_READ_BITFIELD(skb, ip_summed);

	switch (BPF_CORE_READ_BITFIELD(skb, pkt_type)) {
	case PACKET_MULTICAST:
		e->bits |= NF_EVIDENCE_MULTICAST;
		break;
	case PACKET_BROADCAST:
		e->bits |= NF_EVIDENCE_BROADCAST;
		break;
	case PACKET_OTHERHOST:
		e->bits |= NF_EVIDENCE_OTHERHOST;
		break;
	}
	if (!skb->len)
		e->bits |= NF_EVIDENCE_NO_BYTES;
	if (skb->skb_iif > 0)
		e->bits |= NF_EVIDENCE_RECEIVED;
	/* As skb_csum_unnecessary(). */
	if (summed == CHECKSUM_UNNECESSARY || summed == CHECKSUM_PARTIAL ||
	    BPF_CORE_READ_BITFIELD(skb, csum_valid))
		e->bits |= NF_EVIDENCE_CHECKED;
	if (nf_skb_has_sec_path(skb))
		e->bits |= NF_EVIDENCE_SEC_PATH;
}

/* Of the classifiers themselves nothing is read: a program that a device has may drop any packet. */
static __always_inline bool nf_has_classifier(const struct net_device *dev)
{
	if (bpf_core_field_exists(dev->tcx_ingress))
		return NF_WALK(dev, tcx_ingress) || NF_WALK(dev, tcx_egress);
	if (bpf_core_field_exists(dev->miniq_ingress))
		return NF_WALK(dev, miniq_ingress) || NF_WALK(dev, miniq_egress);
	return false;
}

/* IN_DEV_MAXCONF() and IN_DEV_ORCONF() of include/linux/inetdevice.h, by IPV4_DEVCONF_* less 1. */
enum {
	NF_IPV4_FORWARDING = 0,
	NF_IPV4_RP_FILTER = 7,
	NF_IPV4_ACCEPT_LOCAL = 22,
	NF_IPV4_ROUTE_LOCALNET = 25,
};

static __always_inline __u32 nf_ipv4_setting(const struct net_device *dev,
					     const struct ipv4_devconf *all, __u32 number)
{
	return NF_WALK(dev, ip_ptr, cnf.data[number]) | NF_WALK(all, data[number]);
}

/* As inet_lookup_ifaddr_rcu(), but of one device. */
static __always_inline bool nf_is_own_source(const struct sk_buff *skb,
					     const struct net_device *dev)
{
	const struct in_ifaddr *address = NF_WALK(dev, ip_ptr, ifa_list);
	__u32 source = 0;

	if (bpf_probe_read_kernel(&source, sizeof(source), skb->head + skb->network_header + 12))
		return false;
	for (int i = 0; i < NF_OWN_ADDRESSES; i++) {
		if (!address)
			return false;
		if (NF_WALK(address, ifa_local) == source)
			return true;
		address = NF_WALK(address, ifa_next);
	}
	return false;
}

static __always_inline void nf_evidence_device4(const struct sk_buff *skb,
						const struct net_device *dev, nf_evidence *e)
{
	const struct ipv4_devconf *all = NF_WALK(dev, nd_net.net, ipv4.devconf_all);

	if (!NF_WALK(dev, ip_ptr))
		e->bits |= NF_EVIDENCE_DISABLED;
	if (NF_WALK(dev, ip_ptr, cnf.data[NF_IPV4_FORWARDING]))
		e->bits |= NF_EVIDENCE_FORWARDING;
	if (nf_ipv4_setting(dev, all, NF_IPV4_RP_FILTER))
		e->bits |= NF_EVIDENCE_RP_FILTER;
	if (nf_ipv4_setting(dev, all, NF_IPV4_ROUTE_LOCALNET))
		e->bits &= ~(__u64)NF_EVIDENCE_LOOPBACK;
	if (e->bits & NF_EVIDENCE_IP && !nf_ipv4_setting(dev, all, NF_IPV4_ACCEPT_LOCAL) &&
	    nf_is_own_source(skb, dev))
		e->bits |= NF_EVIDENCE_OWN_SOURCE;
}

static __always_inline void nf_evidence_device6(const struct net_device *dev, nf_evidence *e)
{
	const struct inet6_dev *idev = NF_WALK(dev, ip6_ptr);
	const struct net *net = NF_WALK(dev, nd_net.net);

	/* With CONFIG_IPV6=m the kernel's own types lack these. */
	if (!bpf_core_field_exists(idev->cnf.disable_ipv6) ||
	    !bpf_core_field_exists(net->ipv6.devconf_all))
		return;
	if (!idev || NF_WALK(idev, cnf.disable_ipv6) || !(NF_WALK(idev, if_flags) & NF_IF_READY))
		e->bits |= NF_EVIDENCE_DISABLED;
	if (dev->flags & IFF_LOOPBACK)
		e->bits &= ~(__u64)NF_EVIDENCE_LOOPBACK;
	/* ip6_forward() asks for that of all devices. */
	if (NF_WALK(net, ipv6.devconf_all, forwarding))
		e->bits |= NF_EVIDENCE_FORWARDING;
}

/*
 * The Ethernet header is right before the network header, also when it is pulled.  A longer header is another
 * device's, such as that of ipoib_ib_handle_rx_wc(): a pseudo header of 20 bytes and 4 of its own.
 */
static __always_inline void nf_evidence_mac(const struct sk_buff *skb, nf_evidence *e)
{
	__u16 mac[6] = {}; /* destination, source */

	if (skb->mac_header == 0xffff || skb->mac_header + NF_ETH_BYTES != skb->network_header ||
	    bpf_probe_read_kernel(mac, sizeof(mac), skb->head + skb->mac_header))
		return;
	if (mac[3] & bpf_htons(0x0100) || !(mac[3] | mac[4] | mac[5]))
		e->bits |= NF_EVIDENCE_BAD_MAC;
	if (mac[0] == bpf_htons(0x0180) && mac[1] == bpf_htons(0xc200) && mac[2] == bpf_htons(1))
		e->bits |= NF_EVIDENCE_MAC_CONTROL;
}

/* `net`: bytes from the network header on in the linear part, 0 = not known. */
static __always_inline void nf_evidence_device(const struct sk_buff *skb,
					       const struct net_device *dev, __u32 net,
					       nf_evidence *e)
{
	const struct skb_shared_info *info = (const void *)(skb->head + skb->end);

	e->bits |= NF_EVIDENCE_DEVICE;
	if (!(dev->flags & IFF_UP))
		e->bits |= NF_EVIDENCE_DOWN;
	/* What LRO merged has a gso_size, but no type. */
	if (net && net + skb->data_len > dev->mtu && !BPF_CORE_READ(info, gso_type))
		e->bits |= NF_EVIDENCE_OVERSIZE;
	if (nf_has_classifier(dev))
		e->bits |= NF_EVIDENCE_CLASSIFIER;
	if (dev->ifindex != skb->skb_iif)
		e->bits |= NF_EVIDENCE_LEAVING;
	else
		nf_evidence_mac(skb, e);
	if (NF_WALK(dev, _tx, qdisc, enqueue))
		e->bits |= NF_EVIDENCE_QUEUE;
	if (NF_WALK(dev, rx_handler))
		e->bits |= NF_EVIDENCE_PORT;
	if (skb->protocol == bpf_htons(NF_ETH_IPV4))
		nf_evidence_device4(skb, dev, e);
	else if (skb->protocol == bpf_htons(NF_ETH_IPV6))
		nf_evidence_device6(dev, e);
}

/* As __xfrm_policy_check2(), of the policies for packets in and for forwarding; none without CONFIG_XFRM. */
#define NF_HAS_POLICIES(read, net)                                             \
	(bpf_core_field_exists((net)->xfrm.policy_count) &&                    \
	 (read(net, xfrm.policy_count[0]) | read(net, xfrm.policy_count[2]) || \
	  (bpf_core_field_exists((net)->xfrm.policy_default) &&                \
	   (read(net, xfrm.policy_default[0]) == NF_XFRM_BLOCK ||              \
	    read(net, xfrm.policy_default[2]) == NF_XFRM_BLOCK))))

static __always_inline void nf_evidence_namespace(const struct net *net, bool policies,
						  nf_evidence *e)
{
	e->net = (__u64)net;
	e->bits |= NF_EVIDENCE_NET;
	if (policies)
		e->bits |= NF_EVIDENCE_POLICIES;
}

/*
 * As ip_dst_mtu_maybe_forward() and ip6_dst_mtu_maybe_forward() for forwarding, without what path
 * MTU discovery found.  `mtu`, `mtu6`: of the route's device; 0: not known.  Bytes.
 */
static __always_inline __u32 nf_route_mtu(const struct sk_buff *skb, const struct dst_entry *dst,
					  __u32 mtu, __u32 mtu6)
{
	enum { LOCK = 0, MTU = 1, IS_LOCKED = 1 << 2 };
	__u32 metrics[2] = {};

	bpf_probe_read_kernel(metrics, sizeof(metrics),
			      (const void *)(BPF_CORE_READ(dst, _metrics) & ~3UL));
	if (metrics[MTU] && (skb->protocol == bpf_htons(NF_ETH_IPV4) || metrics[LOCK] & IS_LOCKED))
		return metrics[MTU];
	return mtu6 && mtu6 < mtu ? mtu6 : mtu;
}

/* Of an IPv6 packet; 0 of others. */
#define NF_MTU6(read, skb, dev)                                          \
	((skb)->protocol == bpf_htons(NF_ETH_IPV6) &&                    \
			 bpf_core_field_exists((dev)->ip6_ptr->cnf.mtu6) \
		 ? (__u32)read(dev, ip6_ptr, cnf.mtu6)                   \
		 : 0)

/*
 * An skb that waits in a socket's queue keeps other things where its route was: see whether it is
 * one.  `real`: whether its own device is.
 */
static __always_inline void nf_evidence_route(const struct sk_buff *skb,
					      const struct net_device *own, __u32 bytes, bool real,
					      nf_evidence *e)
{
	const struct skb_shared_info *info = (const void *)(skb->head + skb->end);
	const struct dst_entry *dst = (const void *)(skb->_skb_refdst & ~1UL);
	const struct net_device *dev = BPF_CORE_READ(dst, dev);
	__u32 mtu, mtu6;
	__s32 error;

	if (real && dev == own) {
		/* So that the compiler does not use `dev`, of which the verifier knows no type. */
		barrier_var(own);
		mtu = own->mtu;
		mtu6 = NF_MTU6(NF_WALK, skb, own);
	} else {
		const struct net *net = BPF_CORE_READ(dev, nd_net.net);

		if (!net || BPF_CORE_READ(net, loopback_dev, nd_net.net) != net)
			return;
		if (!real)
			nf_evidence_namespace(net, NF_HAS_POLICIES(BPF_CORE_READ, net), e);
		mtu = BPF_CORE_READ(dev, mtu);
		mtu6 = NF_MTU6(BPF_CORE_READ, skb, dev);
	}
	e->bits |= NF_EVIDENCE_ROUTE;
	error = BPF_CORE_READ(dst, error);
	if (error == -NF_ENETUNREACH || error == NF_ENETUNREACH) /* negative only in IPv6 */
		e->bits |= NF_EVIDENCE_NO_ROUTE;
	if (error == -NF_EHOSTUNREACH || error == NF_EHOSTUNREACH)
		e->bits |= NF_EVIDENCE_UNREACHABLE;
	if (bytes && bytes + skb->data_len > nf_route_mtu(skb, dst, mtu, mtu6) &&
	    !BPF_CORE_READ(info, gso_size))
		e->bits |= NF_EVIDENCE_OVER_ROUTE;
}

/* `header`: bytes behind the network header; `length`: of TCP's header and data. */
static __always_inline void nf_evidence_tcp(const struct sk_buff *skb, __u32 header, __u32 length,
					    nf_evidence *e)
{
	__u8 tcp[14]; /* up to the flags */
	__u32 bytes;

	if (bpf_probe_read_kernel(tcp, sizeof(tcp), skb->head + skb->network_header + header))
		return;
	bytes = (tcp[12] >> 4) * 4;
	if (bytes < NF_TCP_MIN || length < bytes) {
		e->bits |= NF_EVIDENCE_SHORT;
		return;
	}
	e->bits |= NF_EVIDENCE_TCP;
	if (length == bytes)
		e->bits |= NF_EVIDENCE_NO_PAYLOAD;
	/* Without branches: the verifier would follow each combination of flags. */
	e->bits |= (tcp[13] & NF_TCP_SYN) * (NF_EVIDENCE_TCP_SYN / NF_TCP_SYN) |
		   (tcp[13] & NF_TCP_FIN) * (NF_EVIDENCE_TCP_FIN / NF_TCP_FIN) |
		   (tcp[13] & NF_TCP_RST) * (NF_EVIDENCE_TCP_RST / NF_TCP_RST) |
		   (tcp[13] & NF_TCP_ACK) * (NF_EVIDENCE_TCP_ACK / NF_TCP_ACK);
	e->space = length - bytes + (tcp[13] & 1) + (tcp[13] >> 1 & 1);
	e->end_seq = ((__u32)tcp[4] << 24 | (__u32)tcp[5] << 16 | (__u32)tcp[6] << 8 | tcp[7]) +
		     e->space;
}

static __always_inline void nf_evidence_udp(const struct sk_buff *skb, __u32 header, __u32 length,
					    nf_evidence *e)
{
	__u8 udp[6]; /* up to the length */
	__u32 bytes;

	if (bpf_probe_read_kernel(udp, sizeof(udp), skb->head + skb->network_header + header))
		return;
	e->bits |= NF_EVIDENCE_UDP;
	if (udp[0] == 0 && udp[1] == NF_DHCP_SERVER && udp[2] == 0 && udp[3] == NF_DHCP_CLIENT)
		e->bits |= NF_EVIDENCE_DHCP;
	bytes = (__u32)udp[4] << 8 | udp[5];
	/* A length of 0 stands for more than 64 KiB, in IPv6 only. */
	if ((bytes && bytes < NF_UDP_BYTES) || bytes > length ||
	    (!bytes && skb->protocol == bpf_htons(NF_ETH_IPV4)))
		e->bits |= NF_EVIDENCE_SHORT;
}

/* The one's complement sum of an IPv4 header, whose checksum makes it 0xffff. */
static __always_inline bool nf_ipv4_sum_is_wrong(const __u16 *words)
{
	__u32 sum = 0;

	for (int i = 0; i < NF_IPV4_MAX / 2; i++)
		sum += words[i];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum != 0xffff;
}

static __always_inline void nf_evidence_ipv4_addresses(const __u8 *ip, nf_evidence *e)
{
	__u32 source, destination;

	__builtin_memcpy(&source, ip + 12, sizeof(source));
	__builtin_memcpy(&destination, ip + 16, sizeof(destination));
	source = bpf_ntohl(source);
	destination = bpf_ntohl(destination);
	if (source >> 28 == 0xe || source == 0xffffffff || !source)
		e->bits |= NF_EVIDENCE_BAD_SOURCE;
	if (!destination)
		e->bits |= NF_EVIDENCE_BAD_DESTINATION;
	if (source >> 24 == 127 || destination >> 24 == 127)
		e->bits |= NF_EVIDENCE_LOOPBACK;
	if (destination >> 28 != 0xe && destination != 0xffffffff)
		e->bits |= NF_EVIDENCE_UNICAST;
}

static __always_inline bool nf_ipv4_is_fragment(const __u8 *ip)
{
	return (ip[6] & 0x3f) | ip[7]; /* more fragments, or an offset */
}

static __always_inline void nf_evidence_ipv4(const struct sk_buff *skb, __u32 net, nf_evidence *e)
{
	__u32 header, length, total = net + skb->data_len;
	__u16 words[NF_IPV4_MAX / 2] = {};
	const __u8 *ip = (const void *)words;

	if (total < NF_IPV4_MIN)
		e->bits |= NF_EVIDENCE_BAD_HEADER;
	if (net < NF_IPV4_MIN ||
	    bpf_probe_read_kernel(words, NF_IPV4_MIN, skb->head + skb->network_header))
		return;
	e->bits |= NF_EVIDENCE_IP;
	header = (ip[0] & 0xf) * 4;
	length = (__u32)ip[2] << 8 | ip[3];
	if (ip[0] >> 4 != 4)
		e->bits |= NF_EVIDENCE_BAD_VERSION;
	if (header < NF_IPV4_MIN) {
		e->bits |= NF_EVIDENCE_BAD_HEADER;
		return;
	}
	if (header > NF_IPV4_MIN)
		e->bits |= NF_EVIDENCE_OPTIONS;
	if (length > total)
		e->bits |= NF_EVIDENCE_TRUNCATED;
	if (header <= net && skb->skb_iif > 0) {
		if (bpf_probe_read_kernel(words, header & (NF_IPV4_MAX - 1),
					  skb->head + skb->network_header))
			return; /* it has cleared `words` */
		if (nf_ipv4_sum_is_wrong(words))
			e->bits |= NF_EVIDENCE_BAD_CHECKSUM;
	}
	/* Above 64 KiB, which only GRO makes, the length is 0. */
	if (length < header && (length || total <= 65535)) {
		e->bits |= NF_EVIDENCE_BAD_HEADER;
		return;
	}
	nf_evidence_ipv4_addresses(ip, e);
	if (nf_ipv4_is_fragment(ip))
		e->bits |= NF_EVIDENCE_FRAGMENT;
	if (ip[8] <= 1)
		e->bits |= NF_EVIDENCE_EXPIRED;
	e->header = header;
	e->length = length - header;
	if (!nf_ipv4_is_fragment(ip))
		e->next = ip[9];
}

static __always_inline void nf_evidence_ipv6_addresses(const __u32 *source,
						       const __u32 *destination, nf_evidence *e)
{
	__u32 upper = source[0] | source[1] | source[2], last = bpf_ntohl(source[3]);
	__u32 to_upper = destination[0] | destination[1] | destination[2];
	__u32 to_last = bpf_ntohl(destination[3]);

	if (bpf_ntohl(source[0]) >> 24 == 0xff || (!upper && !last))
		e->bits |= NF_EVIDENCE_BAD_SOURCE;
	if (bpf_ntohl(source[0]) >> 22 == 0xfe80 >> 6)
		e->bits |= NF_EVIDENCE_LINK_LOCAL;
	if (!to_upper && !to_last)
		e->bits |= NF_EVIDENCE_BAD_DESTINATION;
	if ((!upper && last == 1) || (!to_upper && to_last == 1))
		e->bits |= NF_EVIDENCE_LOOPBACK;
	if (bpf_ntohl(destination[0]) >> 24 != 0xff)
		e->bits |= NF_EVIDENCE_UNICAST;
}

static __always_inline void nf_evidence_ipv6(const struct sk_buff *skb, __u32 net, nf_evidence *e)
{
	enum { HOP_BY_HOP = 0, ROUTING = 43, FRAGMENT = 44, DESTINATION = 60 };
	__u32 length, total = net + skb->data_len;
	__u32 words[NF_IPV6_BYTES / 4] = {};
	const __u8 *ip = (const void *)words;

	if (total < NF_IPV6_BYTES)
		e->bits |= NF_EVIDENCE_BAD_HEADER;
	if (net < NF_IPV6_BYTES ||
	    bpf_probe_read_kernel(words, NF_IPV6_BYTES, skb->head + skb->network_header))
		return;
	e->bits |= NF_EVIDENCE_IP;
	length = (__u32)ip[4] << 8 | ip[5];
	if (ip[0] >> 4 != 6)
		e->bits |= NF_EVIDENCE_BAD_VERSION;
	if (NF_IPV6_BYTES + length > total)
		e->bits |= NF_EVIDENCE_TRUNCATED;
	if (ip[6] == HOP_BY_HOP || ip[6] == ROUTING || ip[6] == DESTINATION)
		e->bits |= NF_EVIDENCE_OPTIONS;
	if (ip[6] == FRAGMENT)
		e->bits |= NF_EVIDENCE_FRAGMENT;
	if (ip[7] <= 1)
		e->bits |= NF_EVIDENCE_EXPIRED;
	nf_evidence_ipv6_addresses(words + 2, words + 6, e);
	if (ip[6] == IPPROTO_ICMPV6 && net >= NF_IPV6_BYTES + NF_UDP_BYTES) {
		/* By way of memory, because the verifier takes an address for a number only from there. */
		e->ip = (__u64)(skb->head + skb->network_header);
		e->bits |=
			nf_nd_evidence(e->ip + NF_IPV6_BYTES, ip[7], length, net - NF_IPV6_BYTES);
	}
	e->header = NF_IPV6_BYTES;
	e->length = length;
	e->next = ip[6];
}

/*
 * `net`: bytes from the network header on in the linear part.  In a queued skb the headers stand
 * before skb->data, but they are still there.
 */
static __always_inline void nf_evidence_ip(const struct sk_buff *skb, __u32 net, nf_evidence *e)
{
	if (!net)
		return;
	if (skb->protocol == bpf_htons(NF_ETH_IPV4))
		nf_evidence_ipv4(skb, net, e);
	else if (skb->protocol == bpf_htons(NF_ETH_IPV6))
		nf_evidence_ipv6(skb, net, e);
}

/* ---- the socket ----------------------------------------------------------------- */

static __always_inline void nf_evidence_state(__u8 state, nf_evidence *e)
{
	switch (state) {
	case TCP_LISTEN:
		e->bits |= NF_EVIDENCE_LISTEN;
		break;
	case TCP_TIME_WAIT:
		e->bits |= NF_EVIDENCE_TIME_WAIT;
		break;
	case TCP_NEW_SYN_RECV:
		e->bits |= NF_EVIDENCE_NEW_SYN_RECV;
		break;
	case TCP_CLOSE:
		e->bits |= NF_EVIDENCE_CLOSED;
		break;
	case TCP_SYN_SENT:
	case TCP_SYN_RECV:
		break;
	default:
		e->bits |= NF_EVIDENCE_ESTABLISHED;
	}
}

/* A connection: whether it has the data of this segment already. */
static __always_inline void nf_evidence_stream(const struct sock *sk, nf_evidence *e)
{
	const struct tcp_sock *tp = (const void *)sk;

	if (!(e->bits & NF_EVIDENCE_TCP) || BPF_CORE_READ(sk, sk_type) != SOCK_STREAM ||
	    BPF_CORE_READ(sk, sk_protocol) != IPPROTO_TCP)
		return;
	e->bits |= NF_EVIDENCE_STREAM;
	/* Without data it is old only before rcv_nxt, as a keepalive is. */
	if ((__s32)(e->end_seq - BPF_CORE_READ(tp, rcv_nxt)) < !!e->space)
		e->bits |= NF_EVIDENCE_OLD;
}

/* A full socket, not a small one. */
static __always_inline void nf_evidence_queues(const struct sock *sk, __u8 state, nf_evidence *e)
{
	if (nf_has_filter((__u64)sk))
		e->bits |= NF_EVIDENCE_FILTER;
	if (state == TCP_LISTEN) {
		/* As sk_acceptq_is_full(). */
		if (BPF_CORE_READ(sk, sk_ack_backlog) > BPF_CORE_READ(sk, sk_max_ack_backlog))
			e->bits |= NF_EVIDENCE_FULL;
		return;
	}
	if (BPF_CORE_READ(sk, sk_backlog.rmem_alloc.counter) >= BPF_CORE_READ(sk, sk_rcvbuf))
		e->bits |= NF_EVIDENCE_FULL;
	nf_evidence_stream(sk, e);
}

/* A request also has the socket that listens for it, as rx_sk of tcp_v4_rcv() then is. */
static __always_inline void nf_evidence_sock(const struct sock *sk, nf_evidence *e)
{
	__u8 state = BPF_CORE_READ(sk, __sk_common.skc_state);

	e->bits |= NF_EVIDENCE_LOOKED | NF_EVIDENCE_SOCKET;
	nf_evidence_state(state, e);
	if (state == TCP_NEW_SYN_RECV) {
		sk = BPF_CORE_READ(sk, __sk_common.skc_listener);
		state = BPF_CORE_READ(sk, __sk_common.skc_state);
		if (state != TCP_LISTEN)
			return;
		nf_evidence_state(state, e);
	}
	if (state != TCP_TIME_WAIT)
		nf_evidence_queues(sk, state, e);
}

/* ---- all of it ------------------------------------------------------------------- */

/*
 * These are called one after the other, not from each other: a stack has 512 bytes.  They are not
 * inlined, because few drops need them.
 */
static __noinline void nf_evidence_packet(const struct sk_buff *skb, const struct net_device *dev,
					  nf_evidence *e)
{
	if (nf_is_message(skb, (const void *)e->sock, nf_device_is_real(dev))) {
		e->bits |= NF_EVIDENCE_MESSAGE;
		return;
	}
	nf_evidence_skb(skb, e);
}

static __noinline void nf_evidence_headers(const struct sk_buff *skb, nf_evidence *e)
{
	nf_evidence_ip(skb, nf_net_bytes(skb), e);
}

/* What nf_evidence_ip() has found. */
static __noinline void nf_evidence_transport(const struct sk_buff *skb, nf_evidence *e)
{
	__u32 header = e->header, length = e->length, next = e->next;
	__u32 least = next == IPPROTO_TCP ? NF_TCP_MIN : NF_UDP_BYTES;
	__u32 net = nf_net_bytes(skb), total = net + skb->data_len;

	if (next != IPPROTO_TCP && next != IPPROTO_UDP && next != IPPROTO_ICMP &&
	    next != IPPROTO_ICMPV6)
		return;
	/* Above 64 KiB, which only GRO makes, the IP header has the length 0. */
	if (length > 65535 || (!length && total > 65535))
		length = total - header;
	if (length < least || total < header + least) {
		e->bits |= NF_EVIDENCE_SHORT;
		return;
	}
	if (net < header + least)
		return;
	if (next == IPPROTO_TCP)
		nf_evidence_tcp(skb, header, length, e);
	else if (next == IPPROTO_UDP)
		nf_evidence_udp(skb, header, length, e);
}

static __noinline void nf_evidence_devices(const struct sk_buff *skb, const struct net_device *dev,
					   nf_evidence *e)
{
	e->net = 0;
	if (!nf_device_is_real(dev))
		return;
	nf_evidence_device(skb, dev, nf_net_bytes(skb), e);
	nf_evidence_namespace(dev->nd_net.net, NF_HAS_POLICIES(NF_WALK, dev->nd_net.net), e);
}

static __noinline void nf_evidence_way(const struct sk_buff *skb, const struct net_device *dev,
				       nf_evidence *e)
{
	nf_evidence_route(skb, dev, nf_net_bytes(skb), nf_device_is_real(dev), e);
}

static __always_inline void nf_evidence_find(const struct sk_buff *skb, nf_evidence *e)
{
	e->ip = (__u64)(skb->head + skb->network_header);
	nf_find_receiver(bpf_get_smp_processor_id(), skb->skb_iif,
			 (__u32)(skb->data - skb->head) - skb->network_header, skb->protocol);
}

static __noinline void nf_evidence_socket(nf_evidence *e)
{
	if (e->sock == NF_FOUND_NONE)
		e->bits |= NF_EVIDENCE_LOOKED;
	else if (e->sock && e->sock != NF_FOUND_NOT_KNOWN)
		nf_evidence_sock((const void *)e->sock, e);
}

/*
 * Call it early: the verifier follows all the rest of the program once for each way out of here
 * that it can tell apart, so no way out returns a number that it knows.
 *
 * `dev`: what the skb has in the place of its device; `sk`: its socket or the receiving one, or NULL.  The
 * socket goes through memory, so that the verifier does not follow each of these by itself.  Before 6.1
 * an interrupt can run the program again in the middle of this: it leaves the state as it found it.
 * Later kernels need no copy of the state, but without it the verifier of 6.1 keeps more ways apart.
 */
static __always_inline __u64 nf_evidence_of(struct nf_cpu *cpu, const struct sk_buff *skb,
					    const struct net_device *dev, const struct sock *sk,
					    __u32 reason)
{
	struct nf_evidence_state interrupted;
	nf_evidence *e = &cpu->evidence;
	__u64 bits;
	__u8 level;

	if (reason >= NF_EVIDENCE_REASONS)
		return cpu->zero;
	level = settings.evidence[reason & (NF_EVIDENCE_REASONS - 1)];
	if (level == NF_EVIDENCE_NONE)
		return cpu->zero;
	interrupted = *e;
	e->bits = NF_EVIDENCE_KNOWN;
	e->next = 0;
	e->reason = reason;
	e->sock = (__u64)sk;
	if (level >= NF_EVIDENCE_HEADERS) {
		nf_evidence_packet(skb, dev, e);
		if (!(e->bits & NF_EVIDENCE_MESSAGE)) {
			nf_evidence_headers(skb, e);
			if (level == NF_EVIDENCE_ALL) {
				nf_evidence_transport(skb, e);
				nf_evidence_devices(skb, dev, e);
				nf_evidence_way(skb, dev, e);
				nf_evidence_find(skb, e);
				nf_evidence_socket(e);
			}
		}
	} else if (nf_is_message(skb, (const void *)e->sock, nf_device_is_real(dev))) {
		e->bits |= NF_EVIDENCE_MESSAGE;
	}
	bits = e->bits;
	*e = interrupted;
	return bits;
}

#endif
