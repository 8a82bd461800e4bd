/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bpf/slots.h and bpf/slots.bpf.c: how many slots a transmit needs, and its outcome. */
#include "bpf/slots.bpf.c"
#include "tests/unit/bpf/machine.h"
#include "tests/unit/bpf/stand_in.h"

#define VIF (&machine.dev[0][1])
#define VETH (&machine.dev[0][2])

enum { LIMIT = 18, TABLE = 3, BUSY = 0x10, PAGE = NF_SLOT_BYTES };

/* An skb with room for skb_shared_info as the kernel has it: an array of nf_skb_frag. */
struct slots_skb {
	struct sk_buff skb;
	_Alignas(PAGE) unsigned char linear[16 * PAGE];
	_Alignas(8) struct {
		struct skb_shared_info info;
		struct nf_skb_frag frags[NF_FRAGS_MAX];
	} shared;
};
static struct slots_skb packet;

static int slots_begin(void **state)
{
	(void)state;
	memset((void *)&settings, 0, sizeof(settings));
	memset((void *)&slots_settings, 0, sizeof(slots_settings));
	machine_begin();
	STAND_IN_MAP(nf_cpus, MACHINE_CPUS);
	STAND_IN_MAP(nf_slots_cpus, MACHINE_CPUS);
	STAND_IN_MAP(nf_slots_counts, TABLE);
	STAND_IN_MAP(nf_slots_infos, TABLE);
	STAND_IN_MAP(nf_slots_zero, 1);
	STAND_IN_RING(nf_ring);
	stand_in.number[0].name = "struct skb_shared_info";
	stand_in.number[0].value =
		offsetof(struct skb_shared_info, frags) + NF_FRAGS_MAX * sizeof(struct nf_skb_frag);
	slots_settings.limit = LIMIT;
	slots_settings.burst_ns = 1000000000000000;
	slots_settings.every_device = true;
	assert_int_equal(
		stand_in_update(&nf_slots_counts, &(__u64){0}, &(struct nf_slots_count){0}, 0), 0);
	return 0;
}

static int slots_end(void **state)
{
	(void)state;
	machine_end();
	return 0;
}

EACH_TEST(slots_begin, slots_end);

static struct nf_skb_frag *frag(int n)
{
	return (struct nf_skb_frag *)((char *)&packet.shared.info +
				      offsetof(struct skb_shared_info, frags)) +
	       n;
}

/* An skb whose linear part begins `offset` bytes into a page. */
static struct sk_buff *linear(__u32 offset, __u32 size)
{
	packet.skb = (struct sk_buff){
		.dev = VIF,
		.len = size,
		.head = packet.linear,
		.data = packet.linear + offset,
		.end = (unsigned char *)&packet.shared - packet.linear,
	};
	memset(&packet.shared, 0, sizeof(packet.shared));
	return &packet.skb;
}

static void add_frag(__u32 offset, __u32 size)
{
	*frag(packet.shared.info.nr_frags++) = (struct nf_skb_frag){.offset = offset, .size = size};
	packet.skb.len += size;
	packet.skb.data_len += size;
}

/* A linear part of one page and as many fragments as make `slots`; short enough for the wire. */
static struct sk_buff *with_slots(int slots)
{
	linear(0, 100);
	while (--slots > 0)
		add_frag(0, 1000);
	return &packet.skb;
}

static __u32 slots_of(struct sk_buff *skb)
{
	return nf_slots_of(nf_slots_this_cpu(), skb);
}

/* ---- counting slots ---- */

TEST(test_pages)
{
	assert_int_equal(nf_pages(0, 0), 0);
	assert_int_equal(nf_pages(0, 1), 1);
	assert_int_equal(nf_pages(0, PAGE), 1);
	assert_int_equal(nf_pages(0, PAGE + 1), 2);
	assert_int_equal(nf_pages(1, PAGE), 2);
	assert_int_equal(nf_pages(PAGE - 1, 1), 1);
	assert_int_equal(nf_pages(PAGE - 1, 2), 2);
	assert_int_equal(nf_pages(PAGE, PAGE), 1); /* the offset within its page counts */
	assert_int_equal(nf_pages(3 * PAGE + 100, PAGE - 100), 1);
	assert_int_equal(nf_pages(3 * PAGE + 100, PAGE - 99), 2);
}

/* The same linear part needs a slot more if it does not begin on a page's border. */
TEST(test_linear_part_on_a_border)
{
	assert_int_equal(slots_of(linear(0, 100)), 1);
	assert_int_equal(slots_of(linear(PAGE - 100, 100)), 1);
	assert_int_equal(slots_of(linear(PAGE - 99, 100)), 2);
	assert_int_equal(slots_of(linear(PAGE, PAGE)), 1);
	assert_int_equal(slots_of(linear(PAGE + 1, PAGE)), 2);
	assert_int_equal(slots_of(linear(0, 15 * PAGE)), 15);
	assert_int_equal(slots_of(linear(2, 15 * PAGE)), 16);
}

/* Each byte of a fragment counts, and its offset within a compound page only modulo a page. */
TEST(test_fragments_on_borders)
{
	linear(0, 100);
	add_frag(0, PAGE);
	assert_int_equal(slots_of(&packet.skb), 2);
	add_frag(0, PAGE + 1);
	assert_int_equal(slots_of(&packet.skb), 4);
	add_frag(PAGE - 1, 1);
	assert_int_equal(slots_of(&packet.skb), 5);
	add_frag(PAGE - 1, 2);
	assert_int_equal(slots_of(&packet.skb), 7);
	add_frag(7 * PAGE + 1, PAGE);
	assert_int_equal(slots_of(&packet.skb), 9);
	add_frag(0, 1);
	assert_int_equal(slots_of(&packet.skb), 10);
}

TEST(test_many_fragments)
{
	assert_int_equal(slots_of(with_slots(1 + NF_FRAGS_MAX)), 1 + NF_FRAGS_MAX);
	/* A count that no kernel has is not believed. */
	packet.shared.info.nr_frags = 255;
	assert_int_equal(slots_of(&packet.skb), 1 + NF_FRAGS_MAX);
}

/* A fragment list (data_len without fragments), and skb_shared_info that cannot be read. */
TEST(test_no_fragments)
{
	with_slots(5);
	stand_in.unreadable[0].from = &packet.shared;
	stand_in.unreadable[0].size = 1;
	assert_int_equal(slots_of(&packet.skb), 1);
	linear(0, 100);
	packet.skb.len += 5000;
	packet.skb.data_len = 5000;
	stand_in.unreadable[0].size = 0;
	assert_int_equal(slots_of(&packet.skb), 1);
}

/* Random skbs, against a count of the pages one byte at a time. */
static __u32 pages_touched(__u64 from, __u32 size)
{
	__u64 last = ~0ULL;
	__u32 pages = 0;

	for (__u32 i = 0; i < size; i++) {
		if ((from + i) / PAGE != last)
			pages++;
		last = (from + i) / PAGE;
	}
	return pages;
}

TEST(test_random_skbs)
{
	stand_in.random = 20250101;
	for (int round = 0; round < 500; round++) {
		__u32 offset = stand_in_random() % (2 * PAGE), size = stand_in_random() % 3000;
		int frags = stand_in_random() % 20;
		__u32 wanted = pages_touched(offset, size);

		linear(offset, size);
		for (int i = 0; i < frags; i++) {
			offset = stand_in_random() % (4 * PAGE);
			size = 1 + stand_in_random() % (2 * PAGE);
			if (stand_in_random() % 4 == 0)
				size = PAGE - offset % PAGE; /* to the border */
			add_frag(offset, size);
			wanted += pages_touched(offset, size);
		}
		assert_int_equal(slots_of(&packet.skb), wanted);
	}
}

/* ---- transmits ---- */

static void start(struct sk_buff *skb, struct net_device *dev)
{
	RUN(nf_slots_devices, skb, dev, 0, 0);
}

static void end(struct sk_buff *skb, struct net_device *dev, int rc)
{
	RUN(nf_slots_net_dev_xmit, skb, rc, dev, 0);
}

static void xen_start(struct sk_buff *skb, struct net_device *dev)
{
	RUN(nf_slots_xen_fentry, skb, dev, 0, 0);
}

static void xen_end(struct sk_buff *skb, struct net_device *dev, int rc)
{
	RUN(nf_slots_xen_fexit, skb, dev, rc, 0);
}

static struct nf_slots_cpu *state_of(__u32 cpu)
{
	return stand_in_value(&nf_slots_cpus, &cpu, 0);
}

/* Over all CPUs and both probes. */
static __u64 events(enum nf_slots_event event)
{
	__u64 sum = 0;

	for (__u32 cpu = 0; cpu < MACHINE_CPUS; cpu++)
		for (int row = 0; row < NF_SLOTS_PROBES; row++)
			sum += state_of(cpu)->events[row][event];
	return sum;
}

static struct nf_slots_count *count_of(const struct net_device *dev)
{
	__u64 key = NF_DEVICE_KEY(dev->nd_net.net->net_cookie, NF_DEVICE_BY_INDEX | dev->ifindex);

	return stand_in_value(&nf_slots_counts, &key, 0);
}

static struct nf_slots_info *info_of(const struct net_device *dev)
{
	__u64 key = NF_DEVICE_KEY(dev->nd_net.net->net_cookie, NF_DEVICE_BY_INDEX | dev->ifindex);

	return stand_in_value(&nf_slots_infos, &key, 0);
}

static void assert_balanced(__u64 open)
{
	assert_int_equal(events(NF_SLOTS_HIT), events(NF_SLOTS_COUNTED) + events(NF_SLOTS_UNKEYED));
	assert_int_equal(events(NF_SLOTS_CHOSEN),
			 events(NF_SLOTS_RECORDED) + events(NF_SLOTS_THROTTLED) +
				 events(NF_SLOTS_RING_FULL) + events(NF_SLOTS_UNENDED) + open);
}

static const struct nf_slots_record *record(void)
{
	size_t size;
	const struct nf_slots_record *r = stand_in_record(-1, &size);

	assert_int_equal(r->header.type, NF_RECORD_SLOTS);
	assert_int_equal(r->header.size, size);
	assert_int_equal(size, NF_SLOTS_RECORD_PLAIN + r->frags * sizeof(r->frag[0]));
	return r;
}

/* Every transmit is counted; from one below the limit on there is a record. */
TEST(test_each_number_of_slots)
{
	for (int slots = 1; slots <= NF_FRAGS_MAX; slots++) {
		struct sk_buff *skb = with_slots(slots);
		size_t before = stand_in_records();

		start(skb, VIF);
		end(skb, VIF, 0);
		assert_int_equal(count_of(VIF)->slots[slots], 1);
		assert_int_equal(stand_in_records() - before, slots >= LIMIT - 1);
		if (slots < LIMIT - 1)
			continue;
		assert_int_equal(record()->slots, slots);
		assert_int_equal(record()->limit, LIMIT);
		assert_int_equal(record()->frags, slots - 1);
		assert_int_equal(record()->outcome, NF_SLOTS_SENT);
	}
	assert_int_equal(count_of(VIF)->near, 2);
	assert_int_equal(count_of(VIF)->overflow[NF_SLOTS_SENT], NF_FRAGS_MAX - LIMIT);
	assert_string_equal(info_of(VIF)->device, "eth0");
	assert_int_equal(info_of(VIF)->netns, 4026531840U);
	assert_int_equal(info_of(VIF)->xen, 0);
	assert_balanced(0);
}

TEST(test_record)
{
	struct sk_buff *skb;

	linear(PAGE - 50, 100);
	for (int i = 0; i < LIMIT; i++)
		add_frag(i, 10);
	packet.shared.info.gso_size = 1448;
	packet.shared.info.gso_segs = 7;
	skb = &packet.skb;
	slots_settings.sg = 1;
	slots_settings.gso = 2;
	slots_settings.tso = 4;
	VIF->features = 5;
	at(7000);
	start(skb, VIF);
	end(skb, VIF, 0);
	assert_int_equal(record()->slots, LIMIT + 2);
	assert_int_equal(record()->head_offset, PAGE - 50);
	assert_int_equal(record()->head_len, 100);
	assert_int_equal(record()->len, 100 + 10 * LIMIT);
	assert_int_equal(record()->gso_size, 1448);
	assert_int_equal(record()->gso_segs, 7);
	assert_int_equal(record()->frag[3].offset, 3);
	assert_int_equal(record()->frag[3].size, 10);
	assert_int_equal(record()->flags, NF_SLOTS_FEATURES | NF_SLOTS_SG | NF_SLOTS_TSO);
	assert_int_equal(record()->ifindex, 2);
	assert_string_equal(record()->device, "eth0");
	assert_int_equal(record()->header.time_ns, 7000);
	assert_int_equal(count_of(VIF)->last_overflow_ns, 7000);
}

/* The record of a linear skb has nothing of the skb before it. */
TEST(test_record_of_a_linear_skb)
{
	struct sk_buff *skb = with_slots(LIMIT + 1);

	packet.shared.info.gso_size = 1448;
	start(skb, VIF);
	end(skb, VIF, 0);
	skb = linear(0, NF_SLOTS_WIRE_MAX + 1);
	start(skb, VIF);
	end(skb, VIF, 0);
	assert_int_equal(record()->len, NF_SLOTS_WIRE_MAX + 1);
	assert_int_equal(record()->frags, 0);
	assert_int_equal(record()->gso_size, 0);
}

/* What the driver did with an skb that needs too many slots. */
TEST(test_outcomes)
{
	struct sk_buff *skb = with_slots(LIMIT + 1);

	start(skb, VIF);
	skb->data_len = 0;
	end(skb, VIF, 0);
	assert_int_equal(record()->outcome, NF_SLOTS_LINEARIZED);
	skb = with_slots(LIMIT + 1);
	start(skb, VIF);
	RUN(nf_slots_kfree_skb, skb, 0x1000, 3, 0);
	end(skb, VIF, 0);
	assert_int_equal(record()->outcome, NF_SLOTS_DROPPED);
	start(skb, VIF);
	end(skb, VIF, BUSY);
	assert_int_equal(record()->outcome, NF_SLOTS_REQUEUED);
	start(skb, VIF);
	end(skb, VIF, 0);
	assert_int_equal(record()->outcome, NF_SLOTS_SENT);
	for (int i = 0; i < NF_SLOTS_OUTCOMES; i++)
		assert_int_equal(count_of(VIF)->overflow[i], i != NF_SLOTS_UNSEEN);
	assert_balanced(0);
}

/* On Xen, fields that changed are those of another skb, and tx_dropped shows a late kfree_skb. */
TEST(test_outcomes_on_xen)
{
	struct sk_buff *skb = with_slots(LIMIT + 1);

	xen_start(skb, VIF);
	xen_end(skb, VIF, 0);
	assert_int_equal(record()->outcome, NF_SLOTS_SENT);
	assert_true(record()->flags & NF_SLOTS_XEN);
	xen_start(skb, VIF);
	VIF->stats.tx_dropped++;
	xen_end(skb, VIF, 0);
	assert_int_equal(record()->outcome, NF_SLOTS_DROPPED);
	xen_start(skb, VIF);
	skb->len++;
	xen_end(skb, VIF, 0);
	assert_int_equal(record()->outcome, NF_SLOTS_UNSEEN);
	skb->len--;
	xen_start(skb, VIF);
	skb->data_len--;
	xen_end(skb, VIF, 0);
	assert_int_equal(record()->outcome, NF_SLOTS_UNSEEN);
	assert_int_equal(info_of(VIF)->xen, 1);
	assert_balanced(0);
}

/* An skb that is linear at the start was not linearized. */
TEST(test_linear_overflow)
{
	struct sk_buff *skb;

	slots_settings.limit = 10;
	skb = linear(0, 15 * PAGE);
	start(skb, VIF);
	end(skb, VIF, 0);
	assert_int_equal(record()->outcome, NF_SLOTS_SENT);
	assert_int_equal(count_of(VIF)->overflow[NF_SLOTS_SENT], 1);
}

/* Longer than Xen's wire format: neither near nor overflow, and counted if it is dropped. */
TEST(test_too_big)
{
	struct sk_buff *skb = linear(0, 100);

	skb->len = NF_SLOTS_WIRE_MAX + 1;
	skb->data_len = skb->len - 100;
	xen_start(skb, VIF);
	RUN(nf_slots_kfree_skb, skb, 0x1000, 3, 0);
	xen_end(skb, VIF, 0);
	assert_true(record()->flags & NF_SLOTS_TOO_BIG);
	assert_int_equal(count_of(VIF)->too_big, 1);
	assert_int_equal(count_of(VIF)->near, 0);
	skb->len--;
	skb->data_len--;
	xen_start(skb, VIF);
	xen_end(skb, VIF, 0);
	assert_int_equal(count_of(VIF)->too_big, 1);
	assert_int_equal(events(NF_SLOTS_CHOSEN), 1);
	assert_balanced(0);
}

/* The same transmit passes both probes of a device that slots.devices names: counted once. */
TEST(test_xen_device_by_name)
{
	struct sk_buff *skb = with_slots(LIMIT + 1);

	start(skb, VIF);
	xen_start(skb, VIF);
	assert_int_equal(events(NF_SLOTS_HIT), 1);
	assert_int_equal(info_of(VIF)->xen, 1);
	xen_end(skb, VIF, 0);
	assert_true(record()->flags & NF_SLOTS_XEN);
	end(skb, VIF, 0);
	assert_int_equal(stand_in_records(), 1);
	/* The next transmit of the same skb is another one. */
	xen_start(skb, VIF);
	assert_int_equal(events(NF_SLOTS_HIT), 2);
	assert_int_equal(count_of(VIF)->slots[LIMIT + 1], 2);
	xen_end(skb, VIF, 0);
	assert_balanced(0);
}

/* By kprobe the skb is a copy, and nothing of it is readable directly. */
TEST(test_kprobe)
{
	struct sk_buff *skb = with_slots(LIMIT + 1);
	struct pt_regs registers = {.di = (unsigned long)skb, .si = (unsigned long)VIF};

	assert_int_equal(nf_slots_xen_kprobe(&registers), 0);
	end(skb, VIF, 0);
	assert_int_equal(record()->slots, LIMIT + 1);
	assert_int_equal(count_of(VIF)->slots[LIMIT + 1], 1);
	stand_in.unreadable[0].from = skb;
	stand_in.unreadable[0].size = 1;
	assert_int_equal(nf_slots_xen_kprobe(&registers), 0);
	assert_int_equal(events(NF_SLOTS_HIT), 1);
}

static int xennet(void *skb, struct net_device *dev)
{
	(void)skb;
	(void)dev;
	return 0;
}

/* By tracepoint the driver's transmits are recognized by their function. */
TEST(test_tracepoint)
{
	struct sk_buff *skb = with_slots(LIMIT + 1);

	slots_settings.xennet = (__u64)xennet;
	RUN(nf_slots_xen_tracepoint, skb, VIF, 0, 0);
	assert_int_equal(events(NF_SLOTS_HIT), 0);
	machine.ops.ndo_start_xmit = xennet;
	RUN(nf_slots_xen_tracepoint, skb, VIF, 0, 0);
	assert_int_equal(events(NF_SLOTS_HIT), 1);
	assert_int_equal(info_of(VIF)->xen, 1);
}

TEST(test_named_devices)
{
	struct sk_buff *skb = with_slots(3);

	slots_settings.every_device = false;
	start(skb, VIF);
	assert_int_equal(events(NF_SLOTS_HIT), 0);
	slots_settings.names = 2;
	memcpy((void *)slots_settings.name[1], "eth0", 4);
	memcpy((void *)slots_settings.name[2], "eth1", 4);
	start(skb, VIF);
	assert_int_equal(events(NF_SLOTS_HIT), 1);
	start(skb, VETH); /* behind the last name */
	assert_int_equal(events(NF_SLOTS_HIT), 1);
}

/* More devices than the table holds share the key 0. */
TEST(test_full_table)
{
	struct sk_buff *skb = with_slots(LIMIT + 1);

	for (int n = 0; n < TABLE; n++) {
		start(skb, &machine.dev[n][1]);
		end(skb, &machine.dev[n][1], 0);
	}
	assert_int_equal(events(NF_SLOTS_COUNTED), TABLE - 1);
	assert_int_equal(events(NF_SLOTS_UNKEYED), 1);
	assert_int_equal(((struct nf_slots_count *)stand_in_value(&nf_slots_counts, &(__u64){0}, 0))
				 ->overflow[NF_SLOTS_SENT],
			 1);
	assert_int_equal(events(NF_SLOTS_RECORDED), TABLE);
	assert_balanced(0);
}

/* Frames whose end the kernel skipped are given up when there is no room for another. */
TEST(test_unended)
{
	static struct sk_buff copy[NF_SLOTS_DEPTH + 1];

	for (int i = 0; i <= NF_SLOTS_DEPTH; i++) {
		copy[i] = *with_slots(LIMIT + 1);
		start(&copy[i], VIF);
	}
	assert_int_equal(events(NF_SLOTS_UNENDED), NF_SLOTS_DEPTH);
	assert_int_equal(count_of(VIF)->overflow[NF_SLOTS_UNSEEN], NF_SLOTS_DEPTH);
	assert_int_equal(state_of(0)->depth, 1);
	assert_balanced(1);
	end(&copy[0], VIF, 0); /* given up: not found */
	assert_int_equal(stand_in_records(), 0);
	end(&copy[NF_SLOTS_DEPTH], VIF, 0);
	assert_int_equal(stand_in_records(), 1);
	assert_balanced(0);
}

/* Transmits through stacked devices nest; the inner one of the same skb ends first. */
TEST(test_stacked_devices)
{
	struct sk_buff *skb = with_slots(LIMIT + 1);

	start(skb, VETH);
	start(skb, VIF);
	end(skb, VIF, 0);
	assert_string_equal(record()->device, "eth0");
	end(skb, VETH, 0);
	assert_string_equal(record()->device, "eth1");
	assert_balanced(0);
}

/* Near misses do not use up the records of overflows. */
TEST(test_buckets)
{
	slots_settings.interval_ns = 1000000;
	slots_settings.burst_ns = 0;
	for (int i = 0; i < 3; i++) {
		start(with_slots(LIMIT), VIF);
		end(&packet.skb, VIF, 0);
	}
	assert_int_equal(events(NF_SLOTS_RECORDED), 1);
	assert_int_equal(events(NF_SLOTS_THROTTLED), 2);
	start(with_slots(LIMIT + 1), VIF);
	end(&packet.skb, VIF, 0);
	assert_int_equal(events(NF_SLOTS_RECORDED), 2);
	stand_in.ring_full = true;
	at(stand_in.now + 10000000);
	start(with_slots(LIMIT + 1), VIF);
	end(&packet.skb, VIF, 0);
	assert_int_equal(events(NF_SLOTS_RING_FULL), 1);
	assert_balanced(0);
}
