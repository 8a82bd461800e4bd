/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ring slots: how many slots of its ring a transmit takes on a Xen device, and
 * what became of those that take more than there are.
 *
 * Counted as xennet_count_skb_slots() counts: the pages of 4096 bytes that the
 * linear part and each fragment touch.  Above XEN_NETIF_NR_SLOTS_MIN (18) the
 * driver linearizes the skb and goes on, since 3.16 (97a6d1bb2b65); before, it
 * dropped it above MAX_SKB_FRAGS + 1.  What it did is seen, not assumed: at the
 * end of start_xmit the skb has no fragments any more, or kfree_skb was called
 * for it meanwhile.
 *
 * Every transmit is counted at its start.  Those near the limit, above it, or
 * too long for Xen's wire format get a frame, which is classified and becomes
 * a record at their end.
 */
#ifndef NF_SLOTS_H
#define NF_SLOTS_H

#include "bytes.h"
#include "cpu.h"
#include "throttle.h"

#define NF_SLOTS_NAMES_MAX 16

_Static_assert(!(NF_SLOTS_BUCKETS & (NF_SLOTS_BUCKETS - 1)), "a mask bounds an index");

const volatile struct {
	__u32 limit;
	__u32 names;	    /* of name[]; 0 in the object for xen-netfront */
	__u64 interval_ns;  /* records: one per interval, CPU and kind */
	__u64 burst_ns;	    /* after a burst of burst / interval */
	__u64 xennet;	    /* address of xennet_start_xmit, for the tracepoint in its stead */
	__u64 sg, gso, tso; /* bits of net_device.features, 0 = not known */
	bool every_device;  /* all names match */
	__u64 name[NF_SLOTS_NAMES_MAX][2]; /* device names, ended by zeros */
} slots_settings;

/* Index: CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct nf_slots_cpu);
} nf_slots_cpus SEC(".maps");

/* The daemon puts in the key 0, for devices that find no room. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, struct nf_slots_count);
} nf_slots_counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, struct nf_slots_info);
} nf_slots_infos SEC(".maps");

/* What a new device begins with; too large for a program's stack. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct nf_slots_count);
} nf_slots_zero SEC(".maps");

/*
 * One entry of skb_shared_info.frags: struct bio_vec, and skb_frag since 6.9
 * (21d2e6737c97), alike on 64-bit machines.
 */
struct nf_skb_frag {
	__u64 page;
	__u32 size;
	__u32 offset;
};

/* A transmit as the programs get it. */
struct nf_slots_skb {
	const struct sk_buff *skb; /* to be read directly: the skb itself, or a copy */
	const struct net_device *dev;
	__u64 number, dev_number; /* their addresses */
	bool typed;		  /* dev may be read directly */
	bool xen;
};

static __always_inline struct nf_slots_cpu *nf_slots_this_cpu(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&nf_slots_cpus, &cpu);
}

static __always_inline void nf_slots_event(struct nf_slots_cpu *cpu, __u32 row,
					   enum nf_slots_event event)
{
	if (row < NF_SLOTS_PROBES)
		nf_add(&cpu->events[row][event], 1);
}

/* The address in a pointer that the verifier lets nothing be calculated with. */
static __always_inline __u64 nf_slots_number(struct nf_slots_cpu *cpu, const void *pointer)
{
	return nf_number(&cpu->scratch, pointer);
}

/* ---- counting slots ------------------------------------------------------ */

static __always_inline __u32 nf_pages(__u32 offset, __u32 size)
{
	return ((offset & (NF_SLOT_BYTES - 1)) + size + NF_SLOT_BYTES - 1) / NF_SLOT_BYTES;
}

/*
 * skb_shared_info in one read: it has room for all fragments there can be,
 * however many there are.  What was not readable has no fragments.
 */
static __always_inline void nf_slots_read_frags(struct nf_slots_cpu *cpu, const struct sk_buff *skb)
{
	__u32 size = bpf_core_type_size(struct skb_shared_info);
	struct skb_shared_info *shinfo = (void *)cpu->shinfo;

	if (size > sizeof(cpu->shinfo))
		size = sizeof(cpu->shinfo);
	if (!skb->data_len || bpf_probe_read_kernel(shinfo, size, skb->head + skb->end))
		shinfo->nr_frags = 0;
}

static __always_inline const struct nf_skb_frag *nf_slots_frags(const struct nf_slots_cpu *cpu)
{
	return (const void *)cpu->shinfo + bpf_core_field_offset(struct skb_shared_info, frags);
}

static __always_inline __u32 nf_slots_frag_count(const struct nf_slots_cpu *cpu)
{
	return ((const struct skb_shared_info *)cpu->shinfo)->nr_frags;
}

static __always_inline __u32 nf_slots_of(struct nf_slots_cpu *cpu, const struct sk_buff *skb)
{
	__u32 slots = nf_pages(nf_slots_number(cpu, skb->data), skb->len - skb->data_len);
	__u32 count, i;
	const struct nf_skb_frag *frags = nf_slots_frags(cpu);

	if (!skb->data_len)
		return slots;
	nf_slots_read_frags(cpu, skb);
	count = nf_slots_frag_count(cpu);
	for (i = 0; i < NF_FRAGS_MAX; i++) {
		if (i >= count)
			break;
		slots += nf_pages(frags[i].offset, frags[i].size);
	}
	return slots;
}

/* ---- devices ------------------------------------------------------------- */

static __always_inline __u64 nf_slots_key(const struct nf_slots_skb *s)
{
	const struct net_device *dev = s->dev;
	const struct net *net;
	__u32 id = 0;

	if (s->typed)
		return NF_DEVICE_KEY(nf_netns_id(dev->nd_net.net), dev->ifindex);
	net = BPF_CORE_READ(dev, nd_net.net);
	if (bpf_core_field_exists(net->net_cookie))
		id = BPF_CORE_READ(net, net_cookie);
	if (!id)
		id = BPF_CORE_READ(net, ns.inum);
	return NF_DEVICE_KEY(id, BPF_CORE_READ(dev, ifindex));
}

/* The first transmit of a device makes its entries; 0 and the shared count when there is no room.
 */
static __noinline struct nf_slots_count *nf_slots_new_device(__u64 *key,
							     const struct nf_slots_skb *s)
{
	const struct net_device *dev = s->dev;
	struct nf_slots_info info = {.xen = s->xen};
	struct nf_slots_count *zero, *count;
	__u32 first = 0;

	zero = bpf_map_lookup_elem(&nf_slots_zero, &first);
	if (!zero)
		return 0;
	count = nf_map_insert(&nf_slots_counts, key, zero);
	if (!count) {
		*key = 0;
		return bpf_map_lookup_elem(&nf_slots_counts, key);
	}
	info.netns = BPF_CORE_READ(dev, nd_net.net, ns.inum);
	BPF_CORE_READ_STR_INTO(&info.device, dev, name);
	bpf_map_update_elem(&nf_slots_infos, key, &info, BPF_NOEXIST);
	return count;
}

static __always_inline bool nf_slots_is_named(const struct net_device *dev)
{
	const __u64 *name = (const __u64 *)dev->name;
	bool found = slots_settings.every_device;
	__u32 i;

#pragma unroll
	for (i = 0; i < NF_SLOTS_NAMES_MAX; i++)
		if (i < slots_settings.names && slots_settings.name[i][0] == name[0] &&
		    slots_settings.name[i][1] == name[1])
			found = true;
	return found;
}

/* ---- records ------------------------------------------------------------- */

static __always_inline void nf_slots_fill_features(struct nf_slots_record *r,
						   const struct net_device *dev)
{
	__u64 features = BPF_CORE_READ(dev, features);

	if (!slots_settings.sg || !slots_settings.gso || !slots_settings.tso)
		return;
	r->flags |= NF_SLOTS_FEATURES;
	if (features & slots_settings.sg)
		r->flags |= NF_SLOTS_SG;
	if (features & slots_settings.gso)
		r->flags |= NF_SLOTS_GSO;
	if (features & slots_settings.tso)
		r->flags |= NF_SLOTS_TSO;
}

static __always_inline void nf_slots_fill_frags(const struct nf_slots_cpu *cpu,
						struct nf_slots_record *r)
{
	const struct skb_shared_info *shinfo = (const void *)cpu->shinfo;
	const struct nf_skb_frag *frags = nf_slots_frags(cpu);
	__u32 count = nf_slots_frag_count(cpu), i;

	r->frags = 0;
	r->gso_size = shinfo->gso_size;
	r->gso_segs = shinfo->gso_segs;
	for (i = 0; i < NF_FRAGS_MAX; i++) {
		if (i >= count)
			break;
		r->frag[i].offset = frags[i].offset;
		r->frag[i].size = frags[i].size;
		r->frags = i + 1;
	}
}

static __always_inline void nf_slots_fill(void *ctx, struct nf_slots_cpu *cpu,
					  const struct nf_slots_skb *s, __u32 slots,
					  struct nf_slots_record *r)
{
	const struct sk_buff *skb = s->skb;
	const struct net_device *dev = s->dev;
	const struct nf_cpu *context = nf_this_cpu();

	r->flags = s->xen ? NF_SLOTS_XEN : 0;
	if (context && nf_in_task(context, ctx, &cpu->scratch))
		r->flags |= NF_SLOTS_TASK;
	nf_header_fill(&r->header, NF_RECORD_SLOTS, NF_SLOTS_RECORD_PLAIN, bpf_ktime_get_ns());
	r->slots = slots;
	r->limit = slots_settings.limit;
	r->len = skb->len;
	r->head_offset = nf_slots_number(cpu, skb->data) & (NF_SLOT_BYTES - 1);
	r->head_len = skb->len - skb->data_len;
	r->ifindex = BPF_CORE_READ(dev, ifindex);
	r->netns = BPF_CORE_READ(dev, nd_net.net, ns.inum);
	BPF_CORE_READ_STR_INTO(&r->device, dev, name);
	nf_slots_fill_features(r, dev);
	nf_slots_fill_frags(cpu, r);
	nf_task_fill(&r->task);
	nf_bytes_fill(&r->bytes, skb);
	r->header.size += r->frags * sizeof(r->frag[0]);
}

/* As for drops; near misses and all others apart, so that the harmless do not hide the harmful. */
static __always_inline bool nf_slots_admit(struct nf_slots_cpu *cpu, bool near)
{
	return nf_throttle_admit(&cpu->bucket[near ? 0 : 1], bpf_ktime_get_ns(),
				 slots_settings.interval_ns, slots_settings.burst_ns);
}

static __always_inline void nf_slots_send(struct nf_slots_cpu *cpu, struct nf_slots_frame *frame,
					  bool near)
{
	__u32 size = frame->record.header.size;

	if (!nf_slots_admit(cpu, near)) {
		nf_slots_event(cpu, frame->row, NF_SLOTS_THROTTLED);
		return;
	}
	if (size > sizeof(frame->record))
		size = sizeof(frame->record);
	nf_slots_event(cpu, frame->row,
		       bpf_ringbuf_output(&nf_ring, &frame->record, size, 0) ? NF_SLOTS_RING_FULL
									     : NF_SLOTS_RECORDED);
}

/* ---- from start to end --------------------------------------------------- */

/* What a frame counts as under its device, now that its outcome is known. */
static __always_inline void nf_slots_classify(struct nf_slots_frame *frame)
{
	struct nf_slots_record *r = &frame->record;
	struct nf_slots_count *count = bpf_map_lookup_elem(&nf_slots_counts, &frame->key);
	__u32 outcome = r->outcome;

	if (!count || outcome >= NF_SLOTS_OUTCOMES)
		return;
	if (r->flags & NF_SLOTS_TOO_BIG) {
		if (outcome == NF_SLOTS_DROPPED)
			nf_add(&count->too_big, 1);
	} else if (r->slots > slots_settings.limit) {
		nf_add(&count->overflow[outcome], 1);
		count->last_overflow_ns = r->header.time_ns;
	} else {
		nf_add(&count->near, 1);
	}
}

/* A transmit whose end never came: it began before the programs for the end were attached. */
static __noinline int nf_slots_give_up(struct nf_slots_cpu *cpu)
{
	int i;

	for (i = 0; i < NF_SLOTS_DEPTH; i++) {
		struct nf_slots_frame *frame = &cpu->frame[i];

		if (!frame->skb)
			continue;
		frame->skb = 0;
		frame->record.outcome = NF_SLOTS_UNSEEN;
		nf_slots_classify(frame);
		nf_slots_event(cpu, frame->row, NF_SLOTS_UNENDED);
	}
	cpu->depth = 0;
	return 0;
}

static __always_inline void nf_slots_mark_xen(struct nf_slots_record *r)
{
	r->flags |= NF_SLOTS_XEN;
	if (r->len > NF_SLOTS_WIRE_MAX)
		r->flags |= NF_SLOTS_TOO_BIG;
}

static __always_inline void nf_slots_begin(void *ctx, struct nf_slots_cpu *cpu,
					   const struct nf_slots_skb *s, __u64 key, __u32 slots,
					   __u32 row)
{
	const struct net_device *dev = s->dev;
	struct nf_slots_frame *frame;
	__u32 depth;

	nf_slots_event(cpu, row, NF_SLOTS_CHOSEN);
	if (cpu->depth >= NF_SLOTS_DEPTH)
		nf_slots_give_up(cpu);
	depth = cpu->depth;
	if (depth >= NF_SLOTS_DEPTH)
		return;
	frame = &cpu->frame[depth];
	cpu->depth = depth + 1;
	frame->skb = s->number;
	frame->key = key;
	frame->tx_dropped = BPF_CORE_READ(dev, stats.tx_dropped);
	frame->data_len = s->skb->data_len;
	frame->row = row;
	frame->dropped = 0;
	nf_slots_fill(ctx, cpu, s, slots, &frame->record);
	if (s->xen)
		nf_slots_mark_xen(&frame->record);
}

/* The innermost frame of this skb, or NULL. */
static __always_inline struct nf_slots_frame *nf_slots_find(struct nf_slots_cpu *cpu, __u64 number)
{
	struct nf_slots_frame *found = 0;
	__u32 i;

#pragma unroll
	for (i = 0; i < NF_SLOTS_DEPTH; i++)
		if (i < cpu->depth && cpu->frame[i].skb == number)
			found = &cpu->frame[i];
	return found;
}

/* start_xmit begins. */
static __always_inline void nf_slots_start(void *ctx, struct nf_slots_cpu *cpu,
					   const struct nf_slots_skb *s, __u32 row)
{
	__u32 slots = nf_slots_of(cpu, s->skb), bucket = slots;
	struct nf_slots_count *count;
	__u64 key = nf_slots_key(s);

	nf_slots_event(cpu, row, NF_SLOTS_HIT);
	count = bpf_map_lookup_elem(&nf_slots_counts, &key);
	if (!count)
		count = nf_slots_new_device(&key, s);
	nf_slots_event(cpu, row, key ? NF_SLOTS_COUNTED : NF_SLOTS_UNKEYED);
	if (bucket >= NF_SLOTS_BUCKETS)
		bucket = NF_SLOTS_BUCKETS - 1;
	barrier_var(bucket); /* the mask is for the verifier, and would be optimized away */
	if (count)
		nf_add(&count->slots[bucket & (NF_SLOTS_BUCKETS - 1)], 1);
	if (slots + 1 >= slots_settings.limit || s->skb->len > NF_SLOTS_WIRE_MAX)
		nf_slots_begin(ctx, cpu, s, key, slots, row);
}

/*
 * The skb may be freed by now, and in theory used again: what it says is taken
 * only if it fits what it was.  tx_dropped is for a drop in a context with
 * interrupts off (netpoll), whose kfree_skb comes later.
 */
static __always_inline enum nf_slots_outcome nf_slots_outcome(const struct nf_slots_frame *frame,
							      const struct sk_buff *skb,
							      const struct net_device *dev, int rc)
{
	enum { NETDEV_TX_BUSY = 0x10 };
	__u32 len = BPF_CORE_READ(skb, len), data_len = BPF_CORE_READ(skb, data_len);

	if (frame->dropped)
		return NF_SLOTS_DROPPED;
	if (rc == NETDEV_TX_BUSY)
		return NF_SLOTS_REQUEUED;
	if (len == frame->record.len && frame->data_len && !data_len)
		return NF_SLOTS_LINEARIZED;
	if (!(frame->record.flags & NF_SLOTS_XEN))
		return NF_SLOTS_SENT; /* a veth's peer may have it, and have changed it */
	if (len != frame->record.len || data_len != frame->data_len)
		return NF_SLOTS_UNSEEN;
	return BPF_CORE_READ(dev, stats.tx_dropped) != frame->tx_dropped ? NF_SLOTS_DROPPED
									 : NF_SLOTS_SENT;
}

/* start_xmit has ended with `rc`. */
static __always_inline void nf_slots_end(struct nf_slots_cpu *cpu, const struct sk_buff *skb,
					 const struct net_device *dev, int rc)
{
	struct nf_slots_frame *frame;
	struct nf_slots_record *r;

	if (!cpu->depth)
		return;
	frame = nf_slots_find(cpu, nf_slots_number(cpu, skb));
	if (!frame)
		return;
	r = &frame->record;
	r->outcome = nf_slots_outcome(frame, skb, dev, rc);
	nf_slots_classify(frame);
	nf_slots_send(cpu, frame,
		      !(r->flags & NF_SLOTS_TOO_BIG) && r->slots <= slots_settings.limit);
	frame->skb = 0;
	cpu->depth--;
}

#endif
