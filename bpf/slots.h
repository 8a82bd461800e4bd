/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ring slots: how many slots of the ring a transmit needs on a Xen device, and
 * the outcome of transmits that need more than the limit.
 *
 * The count is that of xennet_count_skb_slots(): the pages of 4096 bytes that
 * the linear part and each fragment touch.  Above 18 slots
 * (XEN_NETIF_NR_SLOTS_MIN) the driver linearizes the skb and sends it, since
 * 3.16 (97a6d1bb2b65).  Before 3.16 it dropped the skb above MAX_SKB_FRAGS + 1.
 * The outcome is observed: at the end of start_xmit the skb has no fragments any
 * more, or kfree_skb was called for it before.
 *
 * Each transmit is counted at its start.  A transmit near the limit, above it or
 * too long for Xen's wire format also gets a frame.  At its end the frame is
 * classified and becomes a record.
 */
#ifndef NF_SLOTS_H
#define NF_SLOTS_H

#include "bytes.h"
#include "cpu.h"
#include "pages.h"
#include "throttle.h"

#define NF_SLOTS_NAMES_MAX 16

_Static_assert(!(NF_SLOTS_BUCKETS & (NF_SLOTS_BUCKETS - 1)), "a mask bounds an index");

NF_SETTINGS struct {
	__u32 limit;	    /* slots; a transmit that needs more is an overflow */
	__u32 names;	    /* entries of name[]; 0 in the copy for xen-netfront */
	__u64 interval_ns;  /* token bucket of slots records, per CPU and kind, */
	__u64 burst_ns;	    /* see bpf/throttle.h */
	__u64 xennet;	    /* address of xennet_start_xmit, if attached by tracepoint */
	__u64 sg, gso, tso; /* masks of net_device.features, 0 = not known */
	bool every_device;  /* every device name matches */
	__u64 name[NF_SLOTS_NAMES_MAX][2]; /* device names, padded with zeros */
} slots_settings;

/* Index: CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct nf_slots_cpu);
} nf_slots_cpus SEC(".maps");

/* Key: NF_DEVICE_KEY.  The daemon adds the key 0, for devices that find the table full. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, struct nf_slots_count);
} nf_slots_counts SEC(".maps");

/* Key: NF_DEVICE_KEY. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, struct nf_slots_info);
} nf_slots_infos SEC(".maps");

/* The zeros that a new device begins with; too large for the stack of a program (512 bytes). */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct nf_slots_count);
} nf_slots_zero SEC(".maps");

/*
 * An entry of skb_shared_info.frags: struct bio_vec before 6.9, struct skb_frag
 * since then (21d2e6737c97).  Both have this layout on 64-bit machines.
 */
struct nf_skb_frag {
	__u64 page;
	__u32 size;
	__u32 offset;
};

/* The arguments of start_xmit, however the program is attached. */
struct nf_slots_skb {
	const struct sk_buff *skb; /* readable directly: the skb itself, or a copy of it */
	const struct net_device *dev;
	__u64 number, dev_number; /* addresses of the skb and of the device */
	__u64 key;		  /* of the device */
	bool xen;		  /* a transmit of xen-netfront */
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

/* The address in a pointer on which the verifier allows no arithmetic. */
static __always_inline __u64 nf_slots_number(struct nf_slots_cpu *cpu, const void *pointer)
{
	return nf_number(&cpu->scratch, pointer);
}

/* ---- counting slots ------------------------------------------------------ */

/*
 * Copy skb_shared_info in one read, with room for all possible fragments.  If it
 * is not readable, the copy has no fragments.
 */
static __always_inline void nf_slots_read_frags(struct nf_slots_cpu *cpu, const struct sk_buff *skb)
{
	__u32 size = bpf_core_type_size(struct skb_shared_info);
	struct skb_shared_info *shinfo = (void *)cpu->shinfo;

	if (size > sizeof(cpu->shinfo))
		size = sizeof(cpu->shinfo);
	if (bpf_probe_read_kernel(shinfo, size, skb->head + skb->end))
		shinfo->nr_frags = shinfo->gso_size = shinfo->gso_segs = 0;
}

static __always_inline const struct nf_skb_frag *nf_slots_frags(const struct nf_slots_cpu *cpu)
{
	return (const void *)cpu->shinfo + bpf_core_field_offset(struct skb_shared_info, frags);
}

static __always_inline __u32 nf_slots_frag_count(const struct nf_slots_cpu *cpu)
{
	return ((const struct skb_shared_info *)cpu->shinfo)->nr_frags;
}

/* The slots that the skb needs; reads skb_shared_info into cpu->shinfo if there are fragments. */
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

/*
 * The entries of a device, made at its first transmit.  If the table is full,
 * `key` becomes 0, and this is the count that all such devices share.
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
	info.ifindex = BPF_CORE_READ(dev, ifindex);
	BPF_CORE_READ_STR_INTO(&info.device, dev, name);
	bpf_map_update_elem(&nf_slots_infos, key, &info, BPF_NOEXIST);
	return count;
}

/* Whether slots.devices names the device. */
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
	r->netns_id = NF_KEY_NETNS_ID(s->key);
	r->device_id = NF_KEY_DEVICE(s->key);
	BPF_CORE_READ_STR_INTO(&r->device, dev, name);
	nf_slots_fill_features(r, dev);
	/* nf_slots_of() reads it only if there are fragments; this one is of an skb before. */
	if (!skb->data_len)
		nf_slots_read_frags(cpu, skb);
	nf_slots_fill_frags(cpu, r);
	nf_task_fill(&r->task);
	nf_bytes_fill(&r->bytes, skb);
	r->header.size += r->frags * sizeof(r->frag[0]);
}

/* Near misses have a bucket of their own, so that they do not hide overflows. */
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

/* Count the frame under its device by its outcome. */
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

/* Count and free the frames whose end was not seen, because the kernel skipped the program. */
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

/* start_xmit begins: count the transmit, and keep a frame of it if it can become a record. */
static __always_inline void nf_slots_start(void *ctx, struct nf_slots_cpu *cpu,
					   const struct nf_slots_skb *s, __u32 row)
{
	__u32 slots = nf_slots_of(cpu, s->skb), bucket = slots;
	struct nf_slots_count *count;
	__u64 key = s->key;

	nf_slots_event(cpu, row, NF_SLOTS_HIT);
	count = bpf_map_lookup_elem(&nf_slots_counts, &key);
	if (!count)
		count = nf_slots_new_device(&key, s);
	nf_slots_event(cpu, row, key ? NF_SLOTS_COUNTED : NF_SLOTS_UNKEYED);
	if (bucket >= NF_SLOTS_BUCKETS)
		bucket = NF_SLOTS_BUCKETS - 1;
	barrier_var(bucket); /* or clang removes the mask, which the verifier needs */
	if (count)
		nf_add(&count->slots[bucket & (NF_SLOTS_BUCKETS - 1)], 1);
	if (slots + 1 >= slots_settings.limit || s->skb->len > NF_SLOTS_WIRE_MAX)
		nf_slots_begin(ctx, cpu, s, key, slots, row);
}

/*
 * The skb may be freed by now, and in theory reused.  So its fields count only
 * if they agree with those at the start.  tx_dropped shows a drop with
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
		return NF_SLOTS_SENT; /* the peer of a veth may already have changed the skb */
	if (len != frame->record.len || data_len != frame->data_len)
		return NF_SLOTS_UNSEEN;
	return BPF_CORE_READ(dev, stats.tx_dropped) != frame->tx_dropped ? NF_SLOTS_DROPPED
									 : NF_SLOTS_SENT;
}

/* start_xmit has returned `rc`: find the outcome, count it and send the record. */
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
