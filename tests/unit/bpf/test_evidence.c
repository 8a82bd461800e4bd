/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bpf/evidence.h: what drops say without a reason. */
#include "tests/unit/bpf/path.h"

#define NET_A (&machine.dev[0][1])
#define E(name) ((__u64)NF_EVIDENCE_##name)

/* plain() makes a datagram that nothing is wrong with. */
#define PLAIN (E(KNOWN) | E(IP) | E(UDP) | E(UNICAST) | E(RECEIVED) | E(DEVICE) | E(NET))
#define SEGMENT ((PLAIN & ~E(UDP)) | E(TCP))

enum { REASON = 3, SEQ = 1000, BYTES = 100, UDP = 17, ICMP6 = 58 };

static struct in_device ipv4;
static struct inet6_dev ipv6;
static struct ipv4_devconf all_ipv4;
static struct ipv6_devconf all_ipv6;

static __u64 evidence_with(struct sk_buff *skb, __u32 reason)
{
	const struct nf_drop_record *r;

	drop(skb, 0x81000000, reason);
	r = stand_in_record(-1, NULL);
	assert_int_equal(r->header.type, NF_RECORD_DROP);
	assert_int_equal(machine.missed, 0);
	return r->evidence;
}

static __u64 evidence_of(struct sk_buff *skb)
{
	settings.evidence[REASON] = NF_EVIDENCE_ALL;
	return evidence_with(skb, REASON);
}

static unsigned char *ip_of(const struct sk_buff *skb)
{
	return skb->head + MACHINE_NETWORK;
}

/* Set the length and the checksum of the IPv4 header, which has `bytes` (20 to 60). */
static void seal(struct sk_buff *skb, __u32 length, __u32 bytes)
{
	unsigned char *ip = ip_of(skb);
	__u32 sum = 0;

	ip[2] = length >> 8;
	ip[3] = length;
	ip[10] = ip[11] = 0;
	for (__u32 i = 0; i < bytes; i += 2)
		sum += (__u32)ip[i] << 8 | ip[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	ip[10] = ~sum >> 8;
	ip[11] = ~sum;
}

/* An IPv4 datagram from 10.0.0.1 to 10.0.0.2, received at a device that is configured. */
static struct sk_buff *plain(void)
{
	static const unsigned char mac[12] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1};
	static const unsigned char addresses[8] = {10, 0, 0, 1, 10, 0, 0, 2};
	struct sk_buff *skb = skb_new(NET_A);
	unsigned char *ip = ip_of(skb);

	ipv4 = (struct in_device){0};
	ipv6 = (struct inet6_dev){.if_flags = NF_IF_READY};
	all_ipv4 = (struct ipv4_devconf){0};
	all_ipv6 = (struct ipv6_devconf){0};
	machine.net[0].ipv4.devconf_all = &all_ipv4;
	machine.net[0].ipv6.devconf_all = &all_ipv6;
	machine.net[0].xfrm = (struct netns_xfrm){0};
	NET_A->mtu = 1500;
	NET_A->flags = IFF_UP;
	NET_A->ip_ptr = &ipv4;
	NET_A->ip6_ptr = &ipv6;
	skb->skb_iif = NET_A->ifindex;
	skb->end = 192;
	memcpy(skb->head + MACHINE_MAC, mac, sizeof(mac));
	ip[8] = 64;
	memcpy(ip + 12, addresses, sizeof(addresses));
	ip[20 + 1] = 53;
	ip[20 + 5] = BYTES - 20;
	seal(skb, BYTES, 20);
	return skb;
}

/* The same of IPv6, from fd00::1 to fd00::2. */
static struct sk_buff *plain6(void)
{
	struct sk_buff *skb = plain();
	unsigned char *ip = ip_of(skb);

	memset(ip, 0, BYTES);
	skb->protocol = bpf_htons(0x86dd);
	ip[0] = 0x60;
	ip[5] = BYTES - 40;
	ip[6] = IPPROTO_UDP;
	ip[7] = 64;
	ip[8] = ip[24] = 0xfd;
	ip[23] = 1;
	ip[39] = 2;
	ip[40 + 5] = BYTES - 40;
	return skb;
}

/* What the reading of `skb` has found, without a drop. */
static __u64 read_of(const struct sk_buff *skb)
{
	static struct nf_cpu cpu;

	settings.evidence[REASON] = NF_EVIDENCE_ALL;
	return nf_evidence_of(&cpu, skb, skb->dev, skb->sk, REASON);
}

/* A TCP segment at an address that expects SEQ next. */
static struct sk_buff *segment(__u32 seq, __u32 payload, __u8 flags)
{
	struct sk_buff *skb = plain();
	unsigned char *ip = ip_of(skb), *tcp = ip + 20;

	skb->len = 40 + payload;
	ip[9] = IPPROTO_TCP;
	seal(skb, skb->len, 20);
	memset(tcp, 0, 20);
	tcp[6] = seq >> 8;
	tcp[7] = seq;
	tcp[12] = 5 << 4;
	tcp[13] = flags;
	return skb;
}

static struct tcp_sock *stream(__u8 state)
{
	static struct kernfs_node node;
	static struct cgroup cgroup = {.kn = &node};
	static struct tcp_sock tp;

	tp = (struct tcp_sock){.sk = {.__sk_common = {.skc_family = AF_INET,
						      .skc_state = state,
						      .skc_net.net = &machine.net[0]},
				      .sk_cgrp_data.cgroup = &cgroup,
				      .sk_type = SOCK_STREAM,
				      .sk_protocol = IPPROTO_TCP,
				      .sk_rcvbuf = 4096},
			       .rcv_nxt = SEQ};
	return &tp;
}

/* ---- when it is read ---- */

EACH_TEST(path_begin, path_end);

TEST(test_only_for_reasons_that_need_it)
{
	assert_int_equal(evidence_with(plain(), REASON), 0);
	assert_int_equal(evidence_with(plain(), 0), 0);
	assert_int_equal(evidence_of(plain()), PLAIN);
	assert_int_equal(evidence_with(plain(), NF_EVIDENCE_REASONS + REASON), 0);
	assert_int_equal(evidence_with(plain(), 1U << 16 | REASON), 0);
	settings.evidence[NF_EVIDENCE_REASONS - 1] = NF_EVIDENCE_ALL;
	assert_int_equal(evidence_with(plain(), NF_EVIDENCE_REASONS - 1), PLAIN);
}

TEST(test_a_kernel_without_reasons)
{
	settings.kfree_skb_reason = false;
	settings.evidence[0] = NF_EVIDENCE_ALL;
	assert_int_equal(evidence_with(plain(), 77), PLAIN);
}

TEST(test_only_whether_it_is_a_message)
{
	struct sk_buff *skb = plain();

	settings.evidence[REASON] = NF_EVIDENCE_ONLY_MESSAGE;
	assert_int_equal(evidence_with(skb, REASON), E(KNOWN));
	skb->sk = &stream(1)->sk;
	assert_int_equal(evidence_with(skb, REASON), E(KNOWN));
	skb->sk->__sk_common.skc_family = AF_UNIX;
	assert_int_equal(evidence_with(skb, REASON), E(KNOWN) | E(MESSAGE));
}

/* Of a report of multicast groups: hop-by-hop options, a hop limit of 1, and nothing of sockets and devices. */
TEST(test_only_the_headers)
{
	struct sk_buff *skb = plain6();
	unsigned char *ip = ip_of(skb);

	settings.evidence[REASON] = NF_EVIDENCE_HEADERS;
	assert_int_equal(evidence_with(skb, REASON), E(KNOWN) | E(RECEIVED) | E(IP) | E(UNICAST));
	ip[6] = 0;
	ip[7] = 1;
	ip[24] = 0xff;
	ip[25] = 2;
	assert_int_equal(evidence_with(skb, REASON),
			 E(KNOWN) | E(RECEIVED) | E(IP) | E(OPTIONS) | E(EXPIRED));
	skb->sk = &stream(1)->sk;
	assert_int_equal(evidence_with(skb, REASON),
			 E(KNOWN) | E(RECEIVED) | E(IP) | E(OPTIONS) | E(EXPIRED));
	skb->sk->__sk_common.skc_family = AF_UNIX;
	assert_int_equal(evidence_with(skb, REASON), E(KNOWN) | E(MESSAGE));
}

/* Drops with other evidence are counted by themselves, also where keys are coarse. */
TEST(test_it_is_part_of_the_key)
{
	struct sk_buff *skb = plain();

	settings.drop_quota = settings.host_quota = 0;
	evidence_of(skb);
	skb->skb_iif = 0;
	evidence_of(skb);
	assert_int_equal(stand_in_keys(&nf_drops), 2);
	for (__u32 i = 0; i < 2; i++) {
		const struct nf_drop_key *key = stand_in_key(&nf_drops, i);

		assert_int_equal(key->flags, NF_KEY_COARSE);
		assert_true(key->evidence == PLAIN ||
			    key->evidence == ((PLAIN & ~E(RECEIVED)) | E(LEAVING)));
	}
}

/* ---- messages ---- */

TEST(test_messages_by_family)
{
	static const __u16 families[] = {AF_UNIX, AF_NETLINK, AF_KEY, AF_ALG, AF_VSOCK};
	struct sk_buff *skb = plain();
	struct sock *sk = &stream(1)->sk;

	skb->sk = sk;
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		sk->__sk_common.skc_family = families[i];
		assert_int_equal(evidence_of(skb), E(KNOWN) | E(MESSAGE));
	}
	for (__u16 family = 2; family <= 17; family += 15) { /* AF_INET, AF_PACKET */
		sk->__sk_common.skc_family = family;
		assert_false(evidence_of(skb) & E(MESSAGE));
	}
}

/* Netlink drops skbs that have no socket yet. */
TEST(test_messages_without_a_socket)
{
	const struct sk_buff fresh = {.mac_header = 0xffff, .len = 20};
	struct sk_buff *skb = plain(), was = *skb;

	*skb = fresh;
	skb->head = was.head;
	skb->data = was.head;
	assert_int_equal(evidence_of(skb), E(KNOWN) | E(MESSAGE));
	skb->protocol = was.protocol;
	assert_false(evidence_of(skb) & E(MESSAGE));
	skb->protocol = 0;
	skb->skb_iif = 1;
	assert_false(evidence_of(skb) & E(MESSAGE));
	skb->skb_iif = 0;
	skb->network_header = was.network_header;
	assert_false(evidence_of(skb) & E(MESSAGE));
	skb->network_header = 0;
	skb->mac_header = 0;
	assert_false(evidence_of(skb) & E(MESSAGE));
	skb->mac_header = 0xffff;
	skb->dev = NET_A;
	assert_false(evidence_of(skb) & E(MESSAGE));
}

/* ---- the skb ---- */

TEST(test_skb)
{
	static const __u64 types[] = {0, E(BROADCAST), E(MULTICAST), E(OTHERHOST), 0};
	struct sk_buff *skb = plain();

	for (__u8 type = 0; type < 5; type++) {
		skb->pkt_type = type;
		assert_int_equal(evidence_of(skb), PLAIN | types[type]);
	}
	skb->active_extensions = 1;
	assert_int_equal(evidence_of(skb), PLAIN | E(SEC_PATH));
	skb->active_extensions = 2;
	assert_int_equal(evidence_of(skb), PLAIN);
	skb->skb_iif = 0;
	assert_int_equal(evidence_of(skb), (PLAIN & ~E(RECEIVED)) | E(LEAVING));
	skb->len = 0;
	assert_true(evidence_of(skb) & E(NO_BYTES));
}

TEST(test_checksum)
{
	static const bool checked[] = {false, true, false,
				       true}; /* none, unnecessary, complete, partial */
	struct sk_buff *skb = plain();

	for (__u8 summed = 0; summed < 4; summed++) {
		skb->ip_summed = summed;
		assert_int_equal(evidence_of(skb), PLAIN | (checked[summed] ? E(CHECKED) : 0));
	}
	skb->ip_summed = 2;
	skb->csum_valid = 1;
	assert_int_equal(evidence_of(skb), PLAIN | E(CHECKED));
}

/* ---- its device and namespace ---- */

TEST(test_device)
{
	struct sk_buff *skb = plain();
	struct skb_shared_info *info = (void *)(skb->head + skb->end);

	NET_A->mtu = BYTES;
	assert_int_equal(evidence_of(skb), PLAIN);
	NET_A->flags = 0;
	assert_int_equal(evidence_of(skb), PLAIN | E(DOWN));
	NET_A->flags = IFF_UP;
	NET_A->mtu = BYTES - 1;
	assert_int_equal(evidence_of(skb), PLAIN | E(OVERSIZE));
	info->gso_size = 50; /* of LRO, which gives no type */
	assert_int_equal(evidence_of(skb), PLAIN | E(OVERSIZE));
	info->gso_type = 1;
	assert_int_equal(evidence_of(skb), PLAIN);
	info->gso_size = info->gso_type = 0;
	NET_A->mtu = BYTES;
	skb->len++; /* a byte that is not in the linear part */
	skb->data_len++;
	assert_int_equal(evidence_of(skb), PLAIN | E(OVERSIZE));
	skb->dev = NULL;
	assert_int_equal(evidence_of(skb), PLAIN & ~(E(DEVICE) | E(NET)));
}

TEST(test_classifiers)
{
	void **members[] = {&NET_A->tcx_ingress, &NET_A->tcx_egress, &NET_A->miniq_ingress,
			    &NET_A->miniq_egress};
	struct sk_buff *skb = plain();

	for (size_t i = 0; i < 4; i++) {
		*members[i] = skb;
		stand_in.missing[2] = stand_in.missing[3] = NULL;
		assert_int_equal(evidence_of(skb), PLAIN | (i < 2 ? E(CLASSIFIER) : 0));
		stand_in.missing[2] = "tcx_ingress"; /* before 6.6 */
		assert_int_equal(evidence_of(skb), PLAIN | (i < 2 ? 0 : E(CLASSIFIER)));
		stand_in.missing[3] = "miniq_ingress"; /* without CONFIG_NET_CLS_ACT */
		assert_int_equal(evidence_of(skb), PLAIN);
		*members[i] = NULL;
	}
}

TEST(test_way)
{
	struct Qdisc qdisc = {0};
	struct netdev_queue queue = {&qdisc};
	struct sk_buff *skb = plain();

	NET_A->_tx = &queue;
	assert_int_equal(evidence_of(skb), PLAIN);
	qdisc.enqueue = skb;
	assert_int_equal(evidence_of(skb), PLAIN | E(QUEUE));
	NET_A->_tx = NULL;
	NET_A->rx_handler = skb;
	assert_int_equal(evidence_of(skb), PLAIN | E(PORT));
	NET_A->rx_handler = NULL;
	skb->skb_iif = 3;
	assert_int_equal(evidence_of(skb), PLAIN | E(LEAVING));
}

TEST(test_mac_header)
{
	struct sk_buff *skb = plain();
	unsigned char *mac = skb->head + MACHINE_MAC;
	static const unsigned char pause[6] = {1, 0x80, 0xc2, 0, 0, 1};

	mac[6] = 3;
	assert_int_equal(evidence_of(skb), PLAIN | E(BAD_MAC));
	skb->skb_iif = 3; /* of one that leaves, the header is not the one that was received */
	assert_int_equal(evidence_of(skb), PLAIN | E(LEAVING));
	skb->skb_iif = NET_A->ifindex;
	memset(mac + 6, 0, 6);
	assert_int_equal(evidence_of(skb), PLAIN | E(BAD_MAC));
	for (int i = 6; i < 12; i++) {
		mac[i] = i == 6 ? 2 : 1;
		assert_int_equal(evidence_of(skb), PLAIN);
		mac[i] = 0;
	}
	mac[11] = 1;
	memcpy(mac, pause, 6);
	assert_int_equal(evidence_of(skb), PLAIN | E(MAC_CONTROL));
	for (int i = 0; i < 6; i++) {
		mac[i] ^= 0x20;
		assert_int_equal(evidence_of(skb), PLAIN);
		mac[i] ^= 0x20;
	}
	skb->mac_header = 0xffff;
	assert_int_equal(evidence_of(skb), PLAIN);
	skb->mac_header = MACHINE_MAC + 1; /* no room for it */
	assert_int_equal(evidence_of(skb), PLAIN);
	skb->mac_header = MACHINE_MAC;
	memset(mac, 0, 12);
	assert_int_equal(evidence_of(skb), PLAIN | E(BAD_MAC));
	skb->mac_header = MACHINE_MAC - 2; /* a longer header, as of IP over InfiniBand */
	memset(skb->head + skb->mac_header, 1, 16);
	assert_int_equal(evidence_of(skb), PLAIN);
}

TEST(test_configuration)
{
	struct sk_buff *skb = plain();

	for (int i = 0; i < 26; i++) {
		static const __u64 bits[26] = {[0] = E(FORWARDING), [7] = E(RP_FILTER)};

		ipv4.cnf.data[i] = 1;
		assert_int_equal(evidence_of(skb), PLAIN | bits[i]);
		ipv4.cnf.data[i] = 0;
		all_ipv4.data[i] = 1; /* forwarding is asked of the device only */
		assert_int_equal(evidence_of(skb), PLAIN | (i ? bits[i] : 0));
		all_ipv4.data[i] = 0;
	}
	all_ipv6 = (struct ipv6_devconf){1, 1, 1};
	ipv6.cnf = (struct ipv6_devconf){1, 1, 1};
	assert_int_equal(evidence_of(skb), PLAIN);
	NET_A->ip_ptr = NULL;
	assert_int_equal(evidence_of(skb), PLAIN | E(DISABLED));
}

TEST(test_configuration6)
{
	struct sk_buff *skb = plain6();

	for (int i = 0; i < 26; i++)
		ipv4.cnf.data[i] = all_ipv4.data[i] = 1;
	assert_int_equal(evidence_of(skb), PLAIN);
	ipv6.cnf.forwarding = all_ipv6.disable_ipv6 = 1; /* not asked */
	assert_int_equal(evidence_of(skb), PLAIN);
	all_ipv6.forwarding = 1;
	assert_int_equal(evidence_of(skb), PLAIN | E(FORWARDING));
	ipv6.cnf.disable_ipv6 = 1;
	assert_int_equal(evidence_of(skb), PLAIN | E(FORWARDING) | E(DISABLED));
	ipv6.cnf.disable_ipv6 = 0;
	ipv6.if_flags = ~NF_IF_READY;
	assert_int_equal(evidence_of(skb), PLAIN | E(FORWARDING) | E(DISABLED));
	ipv6.cnf.disable_ipv6 = 1;
	stand_in.missing[2] = "disable_ipv6";
	assert_int_equal(evidence_of(skb), PLAIN);
	stand_in.missing[2] = "ipv6.devconf_all";
	assert_int_equal(evidence_of(skb), PLAIN);
	stand_in.missing[2] = NULL;
	all_ipv6.forwarding = 0;
	NET_A->ip6_ptr = NULL;
	assert_int_equal(evidence_of(skb), PLAIN | E(DISABLED));
}

TEST(test_own_source)
{
	struct in_ifaddr address[NF_OWN_ADDRESSES + 1] = {0};
	struct sk_buff *skb = plain();

	ipv4.ifa_list = address;
	for (int i = 0; i < NF_OWN_ADDRESSES; i++)
		address[i].ifa_next = &address[i + 1];
	assert_int_equal(evidence_of(skb), PLAIN);
	for (int i = 0; i <= NF_OWN_ADDRESSES; i++) {
		address[i].ifa_local = bpf_htonl(0x0a000001);
		assert_int_equal(evidence_of(skb),
				 PLAIN | (i < NF_OWN_ADDRESSES ? E(OWN_SOURCE) : 0));
		address[i].ifa_local = bpf_htonl(0x0a000002);
	}
	address[0].ifa_local = bpf_htonl(0x0a000001);
	ipv4.cnf.data[22] = 1; /* accept_local */
	assert_int_equal(evidence_of(skb), PLAIN);
	ipv4.cnf.data[22] = 0;
	all_ipv4.data[22] = 1;
	assert_int_equal(evidence_of(skb), PLAIN);
}

TEST(test_policies)
{
	struct netns_xfrm *xfrm = &machine.net[0].xfrm;
	struct sk_buff *skb = plain();

	for (int i = 0; i < 6; i++) {
		xfrm->policy_count[i] = 1;
		assert_int_equal(evidence_of(skb), PLAIN | (i == 0 || i == 2 ? E(POLICIES) : 0));
		xfrm->policy_count[i] = 0;
	}
	for (__u8 what = 0; what < 3; what++)
		for (int i = 0; i < 3; i++) {
			xfrm->policy_default[i] = what;
			assert_int_equal(evidence_of(skb),
					 PLAIN | (what == 1 && i != 1 ? E(POLICIES) : 0));
			xfrm->policy_default[i] = 0;
		}
	xfrm->policy_default[0] = 1;
	stand_in.missing[2] = "policy_default"; /* before 5.16 */
	assert_int_equal(evidence_of(skb), PLAIN);
	xfrm->policy_count[0] = 1;
	assert_int_equal(evidence_of(skb), PLAIN | E(POLICIES));
	stand_in.missing[2] = "xfrm.policy_count";
	assert_int_equal(evidence_of(skb), PLAIN);
}

/* ---- its route ---- */

TEST(test_route)
{
	static const struct {
		short error;
		__u64 bits;
	} errors[] = {{0, 0},
		      {-101, E(NO_ROUTE)},
		      {101, E(NO_ROUTE)},
		      {-113, E(UNREACHABLE)},
		      {113, E(UNREACHABLE)},
		      {-13, 0}};
	struct net_device other_device = {0};
	struct net other_net = {0};
	struct dst_entry dst = {.dev = &machine.dev[1][1]};
	struct sk_buff *skb = plain();

	dst.dev->mtu = 1500;
	skb->_skb_refdst = (unsigned long)&dst;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		dst.error = errors[i].error;
		assert_int_equal(evidence_of(skb), PLAIN | E(ROUTE) | errors[i].bits);
	}
	skb->_skb_refdst |= 1; /* without a reference */
	assert_int_equal(evidence_of(skb), PLAIN | E(ROUTE));
	/* Without a device of its own, the namespace is that of the route. */
	skb->dev = NULL;
	assert_int_equal(evidence_of(skb), (PLAIN & ~E(DEVICE)) | E(ROUTE));
	machine.net[1].xfrm.policy_count[0] = 1;
	assert_int_equal(evidence_of(skb), (PLAIN & ~E(DEVICE)) | E(ROUTE) | E(POLICIES));
	skb->dev = NET_A;
	assert_int_equal(evidence_of(skb), PLAIN | E(ROUTE));
	/* No route, but what an skb in a queue has there. */
	dst.dev = &other_device;
	assert_int_equal(evidence_of(skb), PLAIN);
	other_device.nd_net.net = &other_net;
	assert_int_equal(evidence_of(skb), PLAIN);
	other_net.loopback_dev = NET_A;
	assert_int_equal(evidence_of(skb), PLAIN);
	dst.dev = NULL;
	assert_int_equal(evidence_of(skb), PLAIN);
	skb->_skb_refdst = 8;
	assert_int_equal(evidence_of(skb), PLAIN);
}

/* The MTU of a route: that of the route, of IPv6 of the device, of the device. */
TEST(test_over_route)
{
	static const struct {
		bool six;
		__u32 device, mtu6, lock, metric;
		bool over;
	} cases[] = {
		{false, BYTES, 0, 0, 0, false},		{false, BYTES - 1, 0, 0, 0, true},
		{false, BYTES, BYTES - 1, 0, 0, false}, /* that of IPv6 is not asked */
		{false, BYTES, 0, 0, BYTES - 1, true},	{false, BYTES - 1, 0, 0, BYTES, false},
		{true, BYTES, 0, 0, 0, false},		{true, BYTES, BYTES - 1, 0, 0, true},
		{true, BYTES, BYTES, 0, 0, false},	{true, BYTES - 1, BYTES, 0, 0, true},
		{true, BYTES, 0, 0, BYTES - 1, false}, /* only if it is locked */
		{true, BYTES, 0, 3, BYTES - 1, false},	{true, BYTES, 0, 4, BYTES - 1, true},
		{true, BYTES - 1, 0, 4, BYTES, false},	{true, BYTES, BYTES, 4, 0, false},
	};
	__u32 metrics[2] = {0};
	struct inet6_dev route_ipv6 = {0};
	struct dst_entry dst = {.dev = &machine.dev[0][2], ._metrics = (unsigned long)metrics | 3};

	dst.dev->ip6_ptr = &route_ipv6;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sk_buff *skb = cases[i].six ? plain6() : plain();

		skb->_skb_refdst = (unsigned long)&dst;
		dst.dev->mtu = cases[i].device;
		route_ipv6.cnf.mtu6 = cases[i].mtu6;
		metrics[0] = cases[i].lock;
		metrics[1] = cases[i].metric;
		assert_int_equal(evidence_of(skb),
				 PLAIN | E(ROUTE) | (cases[i].over ? E(OVER_ROUTE) : 0));
		((struct skb_shared_info *)(skb->head + skb->end))->gso_size = 10;
		assert_int_equal(evidence_of(skb), PLAIN | E(ROUTE));
		if (cases[i].mtu6) {
			((struct skb_shared_info *)(skb->head + skb->end))->gso_size = 0;
			stand_in.missing[2] = "mtu6";
			assert_int_equal(evidence_of(skb),
					 PLAIN | E(ROUTE) |
						 (cases[i].device < BYTES ? E(OVER_ROUTE) : 0));
			stand_in.missing[2] = NULL;
		}
	}
}

/* ---- headers ---- */

TEST(test_ipv4)
{
	struct sk_buff *skb = plain();
	unsigned char *ip = ip_of(skb);

	for (__u32 ttl = 0; ttl < 256; ttl += ttl < 3 ? 1 : 63) {
		ip[8] = ttl;
		seal(skb, BYTES, 20);
		assert_int_equal(evidence_of(skb), PLAIN | (ttl < 2 ? E(EXPIRED) : 0));
	}
	ip[8] = 64;
	ip[6] = 0x40; /* don't fragment */
	seal(skb, BYTES, 20);
	assert_int_equal(evidence_of(skb), PLAIN);
	for (int bit = 0; bit < 14; bit++) { /* more fragments, or an offset */
		ip[6] = 1 << bit >> 8;
		ip[7] = 1 << bit;
		seal(skb, BYTES, 20);
		assert_int_equal(evidence_of(skb), (PLAIN & ~E(UDP)) | E(FRAGMENT));
	}
	skb->protocol = bpf_htons(0x0806);
	assert_int_equal(evidence_of(skb), PLAIN & ~(E(IP) | E(UDP) | E(UNICAST)));
}

TEST(test_ipv4_checksum)
{
	struct sk_buff *skb = plain();
	unsigned char *ip = ip_of(skb);

	for (int bit = 0; bit < 16; bit++) {
		ip[10 + bit / 8] ^= 1 << bit % 8;
		assert_int_equal(evidence_of(skb), PLAIN | E(BAD_CHECKSUM));
		ip[10 + bit / 8] ^= 1 << bit % 8;
	}
	/* One that this host sends has none yet. */
	ip[10] ^= 1;
	skb->skb_iif = 0;
	assert_int_equal(evidence_of(skb), (PLAIN & ~E(RECEIVED)) | E(LEAVING));
	/* A sum of 0 does not stand for 0xffff. */
	skb = plain();
	memset(ip_of(skb), 0, 20);
	ip_of(skb)[0] = 0x45;
	skb->len = 20;
	assert_true(evidence_of(skb) & E(BAD_CHECKSUM));
}

TEST(test_ipv4_addresses)
{
	static const struct {
		__u32 address;
		__u64 as_source, as_destination;
	} cases[] = {
		{0, E(BAD_SOURCE), E(UNICAST) | E(BAD_DESTINATION)},
		{1, 0, E(UNICAST)},
		{0x00ffffff, 0, E(UNICAST)},
		{0x7effffff, 0, E(UNICAST)},
		{0x7f000000, E(LOOPBACK), E(UNICAST) | E(LOOPBACK)},
		{0x7fffffff, E(LOOPBACK), E(UNICAST) | E(LOOPBACK)},
		{0x80000000, 0, E(UNICAST)},
		{0xdfffffff, 0, E(UNICAST)},
		{0xe0000000, E(BAD_SOURCE), 0},
		{0xefffffff, E(BAD_SOURCE), 0},
		{0xf0000000, 0, E(UNICAST)},
		{0xfffffffe, 0, E(UNICAST)},
		{0xffffffff, E(BAD_SOURCE), 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		__u32 address = bpf_htonl(cases[i].address);
		struct sk_buff *skb = plain();

		memcpy(ip_of(skb) + 12, &address, 4);
		seal(skb, BYTES, 20);
		assert_int_equal(evidence_of(skb), PLAIN | cases[i].as_source);
		ipv4.cnf.data[25] = 1; /* route_localnet */
		assert_int_equal(evidence_of(skb), PLAIN | (cases[i].as_source & ~E(LOOPBACK)));
		skb = plain();
		memcpy(ip_of(skb) + 16, &address, 4);
		seal(skb, BYTES, 20);
		assert_int_equal(evidence_of(skb), (PLAIN & ~E(UNICAST)) | cases[i].as_destination);
		all_ipv4.data[25] = 1;
		assert_int_equal(evidence_of(skb),
				 (PLAIN & ~E(UNICAST)) | (cases[i].as_destination & ~E(LOOPBACK)));
	}
}

/* Each length of the header, options up to the last byte, of each version. */
TEST(test_ipv4_header_length)
{
	for (__u32 version = 0; version < 16; version++) {
		__u64 wrong = version == 4 ? 0 : E(BAD_VERSION);

		for (__u32 words = 0; words < 16; words++) {
			struct sk_buff *skb = plain();
			unsigned char *ip = ip_of(skb);
			__u32 bytes = words * 4;

			ip[0] = version << 4 | words;
			if (bytes < 20) {
				seal(skb, BYTES, 20);
				assert_int_equal(evidence_of(skb),
						 (PLAIN & ~(E(UDP) | E(UNICAST))) | wrong |
							 E(BAD_HEADER));
				continue;
			}
			memset(ip + 20, 0x5a, bytes - 20);
			memset(ip + bytes, 0, 8);
			ip[bytes + 5] = BYTES - bytes;
			seal(skb, BYTES, bytes);
			assert_int_equal(evidence_of(skb),
					 PLAIN | wrong | (bytes > 20 ? E(OPTIONS) : 0));
			ip[bytes - 1] ^= 1;
			assert_int_equal(evidence_of(skb), PLAIN | wrong | E(BAD_CHECKSUM) |
								   (bytes > 20 ? E(OPTIONS) : 0));
		}
	}
}

/* Whatever length the header gives: of a linear part of 0 to 100 bytes, with and without more. */
TEST(test_ipv4_lengths)
{
	struct sk_buff *skb = plain();

	ip_of(skb)[9] = 200; /* nothing further is read */
	for (__u32 linear = 1; linear <= BYTES; linear++)
		for (__u32 more = 0; more <= 40; more += 20)
			for (__u32 length = 0; length < 65536; length += length < 160 ? 1 : 5945) {
				__u64 bits = (PLAIN & ~E(UDP));

				skb->len = linear + more;
				skb->data_len = more;
				seal(skb, length, 20);
				if (linear < 20)
					bits &= ~(E(IP) | E(UNICAST));
				else if (length < 20)
					bits &= ~E(UNICAST);
				if (linear + more < 20 || (linear >= 20 && length < 20))
					bits |= E(BAD_HEADER);
				if (linear >= 20 && length > linear + more)
					bits |= E(TRUNCATED);
				assert_int_equal(read_of(skb), bits);
			}
	/* Options that are not in the linear part: their checksum is not known. */
	skb = plain();
	ip_of(skb)[0] = 0x4f;
	ip_of(skb)[9] = 200;
	for (skb->len = 59; skb->len <= 60; skb->len++) {
		seal(skb, 60, 20);
		assert_int_equal(read_of(skb),
				 (PLAIN & ~E(UDP)) | E(OPTIONS) |
					 (skb->len < 60 ? E(TRUNCATED) : E(BAD_CHECKSUM)));
	}
}

/* Only GRO makes packets of more than 64 KiB; their length is 0. */
TEST(test_big_packets)
{
	struct sk_buff *skb = segment(SEQ, 60, 0x10);

	((struct skb_shared_info *)(skb->head + skb->end))->gso_type = 1;
	skb->data_len = 65536 - BYTES;
	skb->len = 65536;
	seal(skb, 0, 20);
	assert_int_equal(read_of(skb), SEGMENT | E(TCP_ACK));
	skb->data_len--;
	skb->len--;
	assert_int_equal(read_of(skb), (SEGMENT & ~(E(TCP) | E(UNICAST))) | E(BAD_HEADER));
	skb = plain6();
	((struct skb_shared_info *)(skb->head + skb->end))->gso_type = 1;
	skb->data_len = 65536 - BYTES;
	skb->len = 65536;
	memset(ip_of(skb) + 40, 0, 20);
	ip_of(skb)[40 + 12] = 5 << 4;
	ip_of(skb)[5] = 0;
	ip_of(skb)[6] = IPPROTO_TCP;
	assert_int_equal(read_of(skb), SEGMENT);
	skb->data_len--;
	skb->len--;
	assert_int_equal(read_of(skb), (PLAIN & ~E(UDP)) | E(SHORT));
}

/* Headers behind which the page ends. */
TEST(test_unreadable_headers)
{
	struct sk_buff *skb = plain();

	stand_in.unreadable[0].from = ip_of(skb);
	stand_in.unreadable[0].size = 1;
	assert_int_equal(read_of(skb), PLAIN & ~(E(IP) | E(UDP) | E(UNICAST)));
	skb->protocol = bpf_htons(0x86dd);
	assert_int_equal(read_of(skb), PLAIN & ~(E(IP) | E(UDP) | E(UNICAST)));
	skb = plain();
	stand_in.unreadable[0].from = ip_of(skb) + 20;
	assert_int_equal(read_of(skb), PLAIN & ~E(UDP));
	ip_of(skb)[0] = 0x46;
	seal(skb, BYTES, 24);
	assert_int_equal(read_of(skb), (PLAIN & ~(E(UDP) | E(UNICAST))) | E(OPTIONS));
	skb = segment(SEQ, 0, 0x10);
	stand_in.unreadable[0].from = ip_of(skb) + 20 + 13;
	assert_int_equal(read_of(skb), SEGMENT & ~E(TCP));
	skb = plain();
	stand_in.unreadable[0].from = skb->head + MACHINE_MAC;
	assert_int_equal(read_of(skb), PLAIN);
}

TEST(test_ipv6)
{
	static const struct {
		__u8 next;
		__u64 bits;
	} headers[] = {{0, E(OPTIONS)},	  {43, E(OPTIONS)},
		       {44, E(FRAGMENT)}, {60, E(OPTIONS)},
		       {UDP, E(UDP)},	  {50, 0},
		       {51, 0},		  {59, 0},
		       {ICMP6, 0},	  {1, 0}};
	struct sk_buff *skb = plain6();
	unsigned char *ip = ip_of(skb);

	assert_int_equal(evidence_of(skb), PLAIN);
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
		ip[6] = headers[i].next;
		assert_int_equal(evidence_of(skb), (PLAIN & ~E(UDP)) | headers[i].bits);
	}
	ip[6] = UDP;
	for (__u32 hops = 0; hops < 256; hops += hops < 3 ? 1 : 63) {
		ip[7] = hops;
		assert_int_equal(evidence_of(skb), PLAIN | (hops < 2 ? E(EXPIRED) : 0));
	}
	ip[7] = 64;
	for (__u32 version = 0; version < 16; version++) {
		ip[0] = version << 4 | 0xf;
		assert_int_equal(evidence_of(skb), PLAIN | (version == 6 ? 0 : E(BAD_VERSION)));
	}
	skb = plain6();
	ip = ip_of(skb);
	ip[6] = IPPROTO_TCP;
	memset(ip + 40, 0, 20);
	ip[40 + 12] = 5 << 4;
	ip[40 + 13] = 0x10;
	assert_int_equal(evidence_of(skb), SEGMENT | E(TCP_ACK));
	ip[5] = 20;
	assert_int_equal(evidence_of(skb), SEGMENT | E(TCP_ACK) | E(NO_PAYLOAD));
}

TEST(test_ipv6_lengths)
{
	struct sk_buff *skb = plain6();
	unsigned char *ip = ip_of(skb);

	ip[6] = 200;
	for (__u32 linear = 1; linear <= BYTES; linear++)
		for (__u32 more = 0; more <= 60; more += 30)
			for (__u32 length = 0; length < 65536; length += length < 160 ? 1 : 5945) {
				__u64 bits = PLAIN & ~E(UDP);

				skb->len = linear + more;
				skb->data_len = more;
				ip[4] = length >> 8;
				ip[5] = length;
				if (linear < 40)
					bits &= ~(E(IP) | E(UNICAST));
				if (linear + more < 40)
					bits |= E(BAD_HEADER);
				if (linear >= 40 && 40 + length > linear + more)
					bits |= E(TRUNCATED);
				assert_int_equal(read_of(skb), bits);
			}
}

TEST(test_ipv6_addresses)
{
	static const struct {
		__u8 first, second, last;
		__u64 as_source, as_destination;
	} cases[] = {
		{0, 0, 0, E(BAD_SOURCE), E(UNICAST) | E(BAD_DESTINATION)},
		{0, 0, 1, E(LOOPBACK), E(UNICAST) | E(LOOPBACK)},
		{0, 0, 2, 0, E(UNICAST)},
		{0, 1, 1, 0, E(UNICAST)},
		{0xfd, 0, 0, 0, E(UNICAST)},
		{0xfe, 0x7f, 1, 0, E(UNICAST)},
		{0xfe, 0x80, 1, E(LINK_LOCAL), E(UNICAST)},
		{0xfe, 0xbf, 1, E(LINK_LOCAL), E(UNICAST)},
		{0xfe, 0xc0, 1, 0, E(UNICAST)},
		{0xff, 0x02, 1, E(BAD_SOURCE), 0},
		{0xff, 0, 0, E(BAD_SOURCE), 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (int destination = 0; destination < 2; destination++) {
			struct sk_buff *skb = plain6();
			unsigned char *address = ip_of(skb) + 8 + 16 * destination;

			address[0] = cases[i].first;
			address[1] = cases[i].second;
			address[15] = cases[i].last;
			assert_int_equal(evidence_of(skb),
					 destination
						 ? (PLAIN & ~E(UNICAST)) | cases[i].as_destination
						 : PLAIN | cases[i].as_source);
		}
	for (int word = 1; word < 3; word++) { /* each word of an address counts */
		struct sk_buff *skb = plain6();

		memset(ip_of(skb) + 8, 0, 15);
		memset(ip_of(skb) + 24, 0, 15);
		ip_of(skb)[39] = 1;
		assert_int_equal(evidence_of(skb), PLAIN | E(LOOPBACK));
		NET_A->flags |= IFF_LOOPBACK;
		assert_int_equal(evidence_of(skb), PLAIN);
		NET_A->flags = IFF_UP;
		ip_of(skb)[8 + word * 4] = ip_of(skb)[24 + word * 4] = 1;
		assert_int_equal(evidence_of(skb), PLAIN);
	}
}

TEST(test_neighbour_discovery)
{
	struct sk_buff *skb = plain6();
	unsigned char *ip = ip_of(skb);

	ip[6] = ICMP6;
	skb->len = 40 + 40; /* the longest fixed part */
	ip[5] = 40;
	for (__u32 type = 0; type < 256; type++) {
		bool ours = type >= 133 && type <= 137;

		ip[40] = type;
		/* All parts that look like options are 8 bytes long. */
		for (int i = 48; i < 80; i += 8)
			ip[i + 1] = 1;
		for (__u32 hops = 64; hops < 256; hops += 191 - 1)
			for (ip[41] = 0; ip[41] < 2; ip[41]++) {
				ip[7] = hops;
				assert_int_equal(read_of(skb),
						 (PLAIN & ~E(UDP)) | (ours ? E(ND_FAR) : 0) |
							 (ours && ip[41] ? E(ND_CODE) : 0));
			}
		ip[7] = 255;
		ip[41] = 0;
		assert_int_equal(read_of(skb), PLAIN & ~E(UDP));
	}
	ip[40] = 135;
	ip[41] = ip[7] = 1;
	skb->len = 47; /* one byte is missing */
	ip[5] = 7;
	assert_int_equal(read_of(skb), (PLAIN & ~E(UDP)) | E(EXPIRED) | E(SHORT));
}

/* Bytes before the options of a message, by its type from 133 on. */
static const unsigned char fixed_of[] = {8, 16, 24, 24, 40};

TEST(test_fixed_parts_of_neighbour_discovery)
{
	struct sk_buff *skb = plain6();
	unsigned char *ip = ip_of(skb);

	ip[6] = ICMP6;
	ip[7] = 255;
	for (__u32 i = 0; i < sizeof(fixed_of); i++) {
		ip[40] = 133 + i;
		ip[5] = fixed_of[i];
		skb->len = 40 + ip[5];
		assert_int_equal(read_of(skb), PLAIN & ~E(UDP));
		ip[5]--;
		skb->len--;
		assert_int_equal(read_of(skb), (PLAIN & ~E(UDP)) | E(SHORT));
	}
}

TEST(test_options_of_neighbour_discovery)
{
	struct sk_buff *skb = plain6();
	unsigned char *ip = ip_of(skb);

	ip[6] = ICMP6;
	ip[7] = 255;
	for (__u32 i = 0; i < sizeof(fixed_of); i++) {
		unsigned char *option = ip + 40 + fixed_of[i];

		memset(ip + 40, 0, 80);
		ip[40] = 133 + i;
		ip[5] = fixed_of[i] + 24;
		skb->len = 40 + ip[5];
		option[1] = 1;
		option[8 + 1] = 2;
		assert_int_equal(read_of(skb), PLAIN & ~E(UDP));
		option[8 + 1] = 3; /* past the end */
		assert_int_equal(read_of(skb), (PLAIN & ~E(UDP)) | E(ND_OPTIONS));
		option[8 + 1] = 0;
		assert_int_equal(read_of(skb), (PLAIN & ~E(UDP)) | E(ND_OPTIONS));
		/* What is not in the linear part is not read. */
		skb->data_len = 8;
		assert_int_equal(read_of(skb), PLAIN & ~E(UDP));
		skb->data_len = 0;
	}
}

/* ---- raw sockets ---- */

#define RAW_PROTOCOL 253
#define RAW_MIX 0x12345678

static struct raw_hashinfo raw_table;

/* A raw socket before all others of the chain, whose queue is full. */
static void add_raw(struct sock *sk)
{
	void **head = &raw_table.ht[(RAW_MIX ^ RAW_PROTOCOL) * 0x61C88647U >> 24].first;

	memset(sk, 0, sizeof(*sk));
	sk->__sk_common.skc_family = AF_INET;
	sk->__sk_common.skc_state = TCP_CLOSE;
	sk->__sk_common.skc_num = RAW_PROTOCOL;
	sk->__sk_common.skc_net.net = &machine.net[0];
	sk->__sk_common.skc_nulls_node.next = *head;
	sk->sk_rcvbuf = 1000;
	sk->sk_backlog.rmem_alloc.counter = 1000;
	*head = &sk->__sk_common.skc_nulls_node;
}

/* A packet for a raw socket, that no protocol wanted. */
static struct sk_buff *no_protocol(void)
{
	struct sk_buff *skb = plain();

	memset(&raw_table, 0, sizeof(raw_table));
	settings.raw_table = (__u64)&raw_table;
	settings.noproto_reason = REASON;
	machine.net[0].hash_mix = RAW_MIX;
	ip_of(skb)[9] = RAW_PROTOCOL;
	seal(skb, skb->len, 20);
	return skb;
}

static const __u64 raw_nothing = PLAIN & ~E(UDP), raw_none = (PLAIN & ~E(UDP)) | E(LOOKED),
		   raw_some = (PLAIN & ~E(UDP)) | E(LOOKED) | E(SOCKET) | E(CLOSED);

TEST(test_raw_sockets)
{
	struct sk_buff *skb = no_protocol();
	struct sock one, two;

	assert_int_equal(evidence_of(skb), raw_none);
	add_raw(&one);
	assert_int_equal(evidence_of(skb), raw_some | E(FULL));
	one.sk_backlog.rmem_alloc.counter = 999;
	assert_int_equal(evidence_of(skb), raw_some);
	/* Two that do not say the same, and two that do. */
	add_raw(&two);
	assert_int_equal(evidence_of(skb), raw_nothing);
	one.sk_backlog.rmem_alloc.counter = 5000;
	assert_int_equal(evidence_of(skb), raw_some | E(FULL));
	settings.raw_table = 0;
	assert_int_equal(evidence_of(skb), raw_nothing);
	settings.raw_table = (__u64)&raw_table;
	settings.noproto_reason = REASON + 1; /* another reason pays nothing */
	assert_int_equal(evidence_of(skb), raw_nothing);
}

/* Sockets that are not for the packet. */
TEST(test_other_raw_sockets)
{
	struct sk_buff *skb = no_protocol();
	struct sock sk;

	add_raw(&sk);
	sk.__sk_common.skc_num++;
	assert_int_equal(evidence_of(skb), raw_none);
	sk.__sk_common.skc_num--;
	sk.__sk_common.skc_net.net = &machine.net[1];
	assert_int_equal(evidence_of(skb), raw_none);
	sk.__sk_common.skc_net.net = &machine.net[0];
	sk.__sk_common.skc_bound_dev_if = skb->skb_iif + 1;
	assert_int_equal(evidence_of(skb), raw_none);
	sk.__sk_common.skc_bound_dev_if = skb->skb_iif;
	memcpy(&sk.__sk_common.skc_daddr, ip_of(skb) + 12, 4);
	memcpy(&sk.__sk_common.skc_rcv_saddr, ip_of(skb) + 16, 4);
	assert_int_equal(evidence_of(skb), raw_some | E(FULL));
	sk.__sk_common.skc_daddr ^= 1;
	assert_int_equal(evidence_of(skb), raw_none);
	sk.__sk_common.skc_daddr ^= 1;
	sk.__sk_common.skc_rcv_saddr ^= 1;
	assert_int_equal(evidence_of(skb), raw_none);
}

/* Of a longer chain than that the result is not known. */
TEST(test_long_chains_of_raw_sockets)
{
	struct sk_buff *skb = no_protocol();
	struct sock socks[NF_CHAIN_MAX + 1];

	for (int i = 0; i < NF_CHAIN_MAX; i++) {
		add_raw(&socks[i]);
		assert_int_equal(evidence_of(skb), raw_some | E(FULL));
	}
	add_raw(&socks[NF_CHAIN_MAX]);
	assert_int_equal(evidence_of(skb), raw_nothing);
}

/* The length of UDP: of IPv4 0 to 65535, of IPv6 0 is more than 64 KiB. */
TEST(test_udp)
{
	for (int six = 0; six < 2; six++) {
		struct sk_buff *skb = six ? plain6() : plain();
		__u32 header = six ? 40 : 20;
		unsigned char *udp = ip_of(skb) + header;

		for (__u32 length = 0; length < 65536; length += length < 256 ? 1 : 255) {
			bool whole = length >= 8 && length <= BYTES - header;

			udp[4] = length >> 8;
			udp[5] = length;
			assert_int_equal(read_of(skb),
					 PLAIN | (whole || (six && !length) ? 0 : E(SHORT)));
		}
		udp[4] = 0;
		udp[5] = 8;
		for (skb->len = header; skb->len <= header + 8; skb->len++) {
			if (six)
				ip_of(skb)[5] = skb->len - 40;
			else
				seal(skb, skb->len, 20);
			assert_int_equal(read_of(skb), skb->len < header + 8
							       ? (PLAIN & ~E(UDP)) | E(SHORT)
							       : PLAIN);
		}
		/* The header is not in the linear part: nothing is known of it. */
		skb->len = header + 8;
		skb->data_len = 1;
		assert_int_equal(read_of(skb), PLAIN & ~E(UDP));
	}
}

TEST(test_dhcp)
{
	struct sk_buff *skb = plain();
	unsigned char *udp = ip_of(skb) + 20;

	for (__u32 ports = 0; ports < 0x10000; ports++) { /* the lower bytes of both */
		udp[1] = ports >> 8;
		udp[3] = ports;
		assert_int_equal(read_of(skb), PLAIN | (ports == 0x4344 ? E(DHCP) : 0));
	}
	udp[1] = 67;
	udp[3] = 68;
	udp[0] = 1;
	assert_int_equal(read_of(skb), PLAIN);
	udp[0] = 0;
	udp[2] = 1;
	assert_int_equal(read_of(skb), PLAIN);
}

TEST(test_icmp)
{
	struct sk_buff *skb = plain();

	ip_of(skb)[9] = IPPROTO_ICMP;
	for (skb->len = 20; skb->len < 40; skb->len++) {
		seal(skb, skb->len, 20);
		assert_int_equal(read_of(skb), (PLAIN & ~E(UDP)) | (skb->len < 28 ? E(SHORT) : 0));
	}
	skb->len = BYTES; /* padding is not part of it */
	seal(skb, 27, 20);
	assert_int_equal(read_of(skb), (PLAIN & ~E(UDP)) | E(SHORT));
}

TEST(test_tcp)
{
	struct sk_buff *skb;

	for (__u32 flags = 0; flags < 256; flags++)
		assert_int_equal(read_of(segment(SEQ, 0, flags)),
				 SEGMENT | E(NO_PAYLOAD) | (flags & 0x01 ? E(TCP_FIN) : 0) |
					 (flags & 0x02 ? E(TCP_SYN) : 0) |
					 (flags & 0x04 ? E(TCP_RST) : 0) |
					 (flags & 0x10 ? E(TCP_ACK) : 0));
	assert_int_equal(evidence_of(segment(SEQ, 1, 0x10)), SEGMENT | E(TCP_ACK));
	/* Padding of a short frame is no payload. */
	skb = segment(SEQ, 0, 0x10);
	skb->len += 6;
	assert_int_equal(evidence_of(skb), SEGMENT | E(TCP_ACK) | E(NO_PAYLOAD));
	/* Only the first fragment has a header. */
	skb = segment(SEQ, 0, 0x10);
	ip_of(skb)[7] = 1;
	seal(skb, 40, 20);
	assert_int_equal(evidence_of(skb), (SEGMENT & ~E(TCP)) | E(FRAGMENT));
	/* A header that is not whole. */
	skb = segment(SEQ, 0, 0x10);
	skb->len--;
	assert_int_equal(evidence_of(skb), (SEGMENT & ~E(TCP)) | E(TRUNCATED) | E(SHORT));
	for (__u32 words = 0; words < 16; words++)
		for (__u32 behind = 20; behind < 70; behind++) {
			bool whole = words >= 5 && words * 4 <= behind;

			skb = segment(SEQ, 0, 0x10);
			skb->len = 20 + behind;
			seal(skb, skb->len, 20);
			ip_of(skb)[20 + 12] = words << 4 | 0xf;
			assert_int_equal(read_of(skb),
					 whole ? SEGMENT | E(TCP_ACK) |
							 (words * 4 == behind ? E(NO_PAYLOAD) : 0)
					       : (SEGMENT & ~E(TCP)) | E(SHORT));
		}
}

/* A queued FIN: the headers were pulled, and no byte is left. */
TEST(test_queued_fin)
{
	struct sk_buff *skb = segment(SEQ, 0, 0x11);

	skb->dev = NULL;
	skb->data += 40;
	skb->len = 0;
	skb->sk = &stream(TCP_CLOSE)->sk;
	assert_int_equal(evidence_of(skb), (SEGMENT & ~(E(DEVICE) | E(NET))) | E(NO_BYTES) |
						   E(TCP_FIN) | E(TCP_ACK) | E(NO_PAYLOAD) |
						   E(LOOKED) | E(SOCKET) | E(CLOSED) | E(STREAM));
}

/* ---- sockets ---- */

TEST(test_states)
{
	static const __u64 states[] = {
		[1] = E(ESTABLISHED),
		[2] = 0,
		[3] = 0,
		[4] = E(ESTABLISHED),
		[5] = E(ESTABLISHED),
		[6] = E(TIME_WAIT),
		[7] = E(CLOSED),
		[8] = E(ESTABLISHED),
		[9] = E(ESTABLISHED),
		[10] = E(LISTEN),
		[11] = E(ESTABLISHED),
		[12] = E(NEW_SYN_RECV),
	};
	struct sk_buff *skb = plain();

	for (__u8 i = 1; i <= 12; i++) {
		skb->sk = &stream(i)->sk;
		assert_int_equal(evidence_of(skb), PLAIN | E(LOOKED) | E(SOCKET) | states[i]);
	}
}

/* Of a small socket only the common members are there. */
TEST(test_small_sockets)
{
	struct sk_buff *skb = segment(SEQ - 1, 1, 0x10);
	struct tcp_sock *tp;

	for (__u8 i = TCP_TIME_WAIT; i <= TCP_NEW_SYN_RECV; i += 6) {
		tp = stream(i);
		tp->sk.sk_backlog.rmem_alloc.counter = 5000;
		skb->sk = &tp->sk;
		assert_false(evidence_of(skb) & (E(FULL) | E(STREAM) | E(OLD)));
	}
}

TEST(test_the_receiving_socket)
{
	struct sk_buff *skb = plain();

	settings.evidence[REASON] = NF_EVIDENCE_ALL;
	RUN(nf_kfree_skb, skb, 0x81000000, REASON, &stream(TCP_LISTEN)->sk);
	assert_int_equal(((const struct nf_drop_record *)stand_in_record(-1, NULL))->evidence,
			 PLAIN | E(LOOKED) | E(SOCKET) | E(LISTEN));
}

TEST(test_queues)
{
	struct sk_buff *skb = plain();
	struct tcp_sock *tp = stream(TCP_LISTEN);

	skb->sk = &tp->sk;
	tp->sk.sk_ack_backlog = tp->sk.sk_max_ack_backlog = 5;
	assert_false(evidence_of(skb) & E(FULL));
	tp->sk.sk_ack_backlog++;
	assert_true(evidence_of(skb) & E(FULL));
	tp = stream(TCP_CLOSE);
	tp->sk.sk_ack_backlog = 1;
	tp->sk.sk_backlog.rmem_alloc.counter = 4095;
	assert_false(evidence_of(skb) & E(FULL));
	tp->sk.sk_backlog.rmem_alloc.counter = 4096;
	assert_true(evidence_of(skb) & E(FULL));
}

TEST(test_filters)
{
	struct bpf_prog_array programs = {0}, none = {0};
	struct cgroup cgroup = {.bpf.effective[0] = &programs};
	struct sk_buff *skb = plain();
	struct sock *sk = &stream(1)->sk;
	const __u64 without = PLAIN | E(LOOKED) | E(SOCKET) | E(ESTABLISHED);

	cgroup.kn = sk->sk_cgrp_data.cgroup->kn;
	skb->sk = sk;
	sk->sk_cgrp_data.cgroup = &cgroup;
	assert_int_equal(evidence_of(skb), without);
	programs.items[0].prog = skb;
	assert_int_equal(evidence_of(skb), without | E(FILTER));
	stand_in.missing[2] = "bpf.effective";
	assert_int_equal(evidence_of(skb), without);
	stand_in.missing[2] = "sk_cgrp_data.cgroup";
	assert_int_equal(evidence_of(skb), without);
	sk->sk_filter = skb;
	assert_int_equal(evidence_of(skb), without | E(FILTER));
	stand_in.missing[2] = NULL;
	cgroup.bpf.effective[0] = &none;
	assert_int_equal(evidence_of(skb), without | E(FILTER));
	sk->sk_filter = NULL;
	/* Before 5.15: the same address as a number, or a class. */
	stand_in.missing[2] = "sk_cgrp_data.cgroup";
	cgroup.bpf.effective[0] = &programs;
	sk->sk_cgrp_data.val = (__u64)&cgroup;
	assert_int_equal(evidence_of(skb), without | E(FILTER));
	programs.items[0].prog = NULL;
	assert_int_equal(evidence_of(skb), without);
	sk->sk_cgrp_data.val = 1;
	assert_int_equal(evidence_of(skb), without | E(FILTER));
	stand_in.missing[2] = NULL;
	sk->__sk_common.skc_state = TCP_TIME_WAIT; /* it has no such member */
	assert_int_equal(evidence_of(skb), PLAIN | E(LOOKED) | E(SOCKET) | E(TIME_WAIT));
}

/* A request: also what its listening socket says. */
TEST(test_requests)
{
	struct tcp_sock *listener = stream(TCP_LISTEN);
	struct sock request = {.__sk_common = {.skc_family = AF_INET,
					       .skc_state = TCP_NEW_SYN_RECV,
					       .skc_net.net = &machine.net[0],
					       .skc_listener = &listener->sk}};
	struct sk_buff *skb = plain();
	const __u64 asked = PLAIN | E(LOOKED) | E(SOCKET) | E(NEW_SYN_RECV);

	skb->sk = &request;
	assert_int_equal(evidence_of(skb), asked | E(LISTEN));
	listener->sk.sk_ack_backlog = 1;
	assert_int_equal(evidence_of(skb), asked | E(LISTEN) | E(FULL));
	listener->sk.__sk_common.skc_state = TCP_CLOSE;
	assert_int_equal(evidence_of(skb), asked);
	request.__sk_common.skc_listener = NULL;
	assert_int_equal(evidence_of(skb), asked);
}

TEST(test_old_segments)
{
	static const struct {
		__u32 seq, payload;
		__u8 flags;
		bool old;
	} cases[] = {
		{SEQ - 10, 10, 0x10, true},
		{SEQ - 10, 11, 0x10, false},
		{SEQ - 10, 9, 0x11, true}, /* FIN takes a number, */
		{SEQ - 10, 10, 0x11, false},
		{SEQ - 1, 0, 0x02, true}, /* and SYN */
		{SEQ, 0, 0x02, false},
		{SEQ - 1, 0, 0x10, true}, /* without data only before rcv_nxt: a keepalive, */
		{SEQ, 0, 0x10, false},	  /* and not an acknowledgement */
		{SEQ, 0, 0x04, false},
		{SEQ + 1, 0, 0x10, false},
		{SEQ + 0x7fffffffU, 1, 0x10, true}, /* the numbers wrap around */
	};
	struct tcp_sock *tp = stream(1);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sk_buff *skb = segment(cases[i].seq, cases[i].payload, cases[i].flags);
		__u64 evidence;

		skb->sk = &tp->sk;
		evidence = evidence_of(skb);
		assert_true(evidence & E(STREAM));
		assert_int_equal(!!(evidence & E(OLD)), cases[i].old);
	}
	tp->sk.sk_protocol = 132; /* SCTP */
	{
		struct sk_buff *skb = segment(SEQ - 10, 10, 0x10);

		skb->sk = &tp->sk;
		assert_false(evidence_of(skb) & (E(STREAM) | E(OLD)));
	}
}

/* Whatever an skb holds: nothing unreadable is read, and no bit is set without those that it needs. */
TEST(test_any_skb)
{
	__u32 random = 1;

	for (int round = 0; round < 2000; round++) {
		struct sk_buff *skb = plain();
		__u64 evidence;

		for (int i = 0; i < 64; i++) {
			random = random * 1664525 + 1013904223;
			skb->head[MACHINE_NETWORK + i] = random >> 24;
		}
		skb->head[MACHINE_NETWORK + 9] = skb->head[MACHINE_NETWORK + 6] = IPPROTO_TCP;
		skb->protocol = bpf_htons(random & 1 ? 0x0800 : 0x86dd);
		skb->len = random >> 8 & 0x7f;
		evidence = evidence_of(skb);
#define X(name, word, needs, bit) assert_true(!(evidence & (bit)) || evidence & E(needs));
		NF_EVIDENCE_LIST(X)
#undef X
	}
}

/* ---- interrupted ---- */

static struct {
	struct sk_buff *skb;
	__u32 after; /* calls of helpers until the other drop */
	__u64 found; /* its evidence */
} other;

static void interrupt(enum stand_in_point point)
{
	const struct nf_drop_record *r;
	struct sk_buff *skb = other.skb;

	if (point != STAND_IN_READ || !skb || other.after--)
		return;
	other.skb = NULL;
	drop(skb, 0x81000000, REASON);
	r = stand_in_record(-1, NULL);
	other.found = r->evidence;
}

/* Before 6.1 a drop can interrupt another one, wherever that reads: both have their own evidence. */
TEST(test_interrupted)
{
	__u32 interrupted = 0;

	settings.no_reentry = false;
	for (__u32 after = 0; after < 200; after++) {
		struct sk_buff *skb = segment(SEQ - 10, 10, 0x10), *with = plain6();

		skb->sk = &stream(1)->sk;
		with->pkt_type = 2;
		other.skb = with;
		other.after = after;
		other.found = 0;
		stand_in.hook = interrupt;
		assert_int_equal(evidence_of(skb), SEGMENT | E(TCP_ACK) | E(LOOKED) | E(SOCKET) |
							   E(STREAM) | E(ESTABLISHED) | E(OLD));
		stand_in.hook = NULL;
		if (other.skb)
			break;
		assert_int_equal(other.found, PLAIN | E(MULTICAST));
		interrupted++;
	}
	assert_true(interrupted > 20);
	other.skb = NULL;
}
