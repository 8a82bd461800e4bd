/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The attach points of ring slots.  They are an object of their own, which the
 * daemon loads when xen-netfront is loaded, possibly as a module and late, or
 * when slots.devices names devices: one copy for each of the two.  The copies
 * share the maps of netflowd.bpf.c by name, and the second copy the maps of the
 * first.
 *
 * The start of a transmit is xennet_start_xmit, attached in one of three ways,
 * the most reliable first.  Its end is seen by fexit, otherwise by net_dev_xmit.
 */
#include "kernel.h"
#include "registers.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_tracing.h>

#include "settings.h"
#include "compat.h"
#include "maps.h"
#include "cpu.h"
#include "bytes.h"
#include "slots.h"

char LICENSE[] SEC("license") = "GPL";

#define NF_SLOTS_ROW_XEN (NF_PROBE_XENNET_START_XMIT - NF_PROBE_SLOTS_FIRST)
#define NF_SLOTS_ROW_DEVICES (NF_PROBE_SLOTS_DEVICES - NF_PROBE_SLOTS_FIRST)

/* ---- xen-netfront -------------------------------------------------------- */

/*
 * Whether nf_slots_devices has just counted this transmit, because slots.devices
 * names the device too.  Then the device and the frame are only marked as Xen's.
 */
static __always_inline bool nf_slots_counted(struct nf_slots_cpu *cpu, const struct nf_slots_skb *s)
{
	struct nf_slots_frame *frame;
	struct nf_slots_info *info;

	if (cpu->seen_skb != s->number || cpu->seen_dev != s->dev_number)
		return false;
	cpu->seen_skb = 0;
	info = bpf_map_lookup_elem(&nf_slots_infos, &s->key);
	if (info)
		info->xen = 1;
	frame = nf_slots_find(cpu, s->number);
	if (frame)
		nf_slots_mark_xen(&frame->record);
	return true;
}

/* A start_xmit whose arguments have their types. */
static __always_inline int nf_slots_typed(void *ctx, const struct sk_buff *skb,
					  const struct net_device *dev, bool xen, __u32 row)
{
	struct nf_slots_cpu *cpu = nf_slots_this_cpu();
	struct nf_slots_skb s = {.skb = skb, .dev = dev, .xen = xen};

	if (!cpu)
		return 0;
	s.number = nf_slots_number(cpu, skb);
	s.dev_number = nf_slots_number(cpu, dev);
	s.key = nf_device_key(dev);
	if (xen && nf_slots_counted(cpu, &s))
		return 0;
	nf_slots_start(ctx, cpu, &s, row);
	if (!xen) {
		cpu->seen_skb = s.number;
		cpu->seen_dev = s.dev_number;
	}
	return 0;
}

/* xennet_start_xmit(struct sk_buff *skb, struct net_device *dev) */
SEC("fentry/xennet_start_xmit")
int nf_slots_xen_fentry(__u64 *ctx)
{
	return nf_slots_typed(ctx, (const void *)ctx[0], (const void *)ctx[1], true,
			      NF_SLOTS_ROW_XEN);
}

/* The same, with the return value behind the arguments. */
SEC("fexit/xennet_start_xmit")
int nf_slots_xen_fexit(__u64 *ctx)
{
	struct nf_slots_cpu *cpu = nf_slots_this_cpu();

	if (cpu)
		nf_slots_end(cpu, (const void *)ctx[0], (const void *)ctx[1], (int)ctx[2]);
	return 0;
}

/* Without the BTF of modules (before 5.11): the arguments have no types, so the skb is copied. */
SEC("kprobe/xennet_start_xmit")
int nf_slots_xen_kprobe(struct pt_regs *ctx)
{
	struct nf_slots_cpu *cpu = nf_slots_this_cpu();
	struct nf_slots_skb s = {
		.number = PT_REGS_PARM1(ctx),
		.dev_number = PT_REGS_PARM2(ctx),
		.xen = true,
	};
	__u32 size = bpf_core_type_size(struct sk_buff);

	if (!cpu)
		return 0;
	s.dev = (const void *)s.dev_number;
	s.key = nf_device_key_untyped(s.dev);
	if (nf_slots_counted(cpu, &s))
		return 0;
	if (size > sizeof(cpu->skb))
		size = sizeof(cpu->skb);
	if (bpf_probe_read_kernel(cpu->skb, size, (const void *)s.number))
		return 0;
	s.skb = (const void *)cpu->skb;
	nf_slots_start(ctx, cpu, &s, NF_SLOTS_ROW_XEN);
	return 0;
}

/* If neither can be attached: all transmits pass here, those of the driver are recognized. */
SEC("tp_btf/net_dev_start_xmit")
int nf_slots_xen_tracepoint(__u64 *ctx)
{
	const struct net_device *dev = (const void *)ctx[1];

	if ((__u64)dev->netdev_ops->ndo_start_xmit != slots_settings.xennet)
		return 0;
	return nf_slots_typed(ctx, (const void *)ctx[0], dev, true, NF_SLOTS_ROW_XEN);
}

/* ---- devices of slots.devices --------------------------------------------- */

/* net_dev_start_xmit(const struct sk_buff *skb, const struct net_device *dev) */
SEC("tp_btf/net_dev_start_xmit")
int nf_slots_devices(__u64 *ctx)
{
	const struct net_device *dev = (const void *)ctx[1];

	if (!nf_slots_is_named(dev))
		return 0;
	return nf_slots_typed(ctx, (const void *)ctx[0], dev, false, NF_SLOTS_ROW_DEVICES);
}

/* ---- the end --------------------------------------------------------------- */

/* net_dev_xmit(struct sk_buff *skb, int rc, struct net_device *dev, unsigned int len) */
SEC("tp_btf/net_dev_xmit")
int nf_slots_net_dev_xmit(__u64 *ctx)
{
	struct nf_slots_cpu *cpu = nf_slots_this_cpu();

	if (!cpu)
		return 0;
	cpu->seen_skb = 0;
	nf_slots_end(cpu, (const void *)ctx[0], (const void *)ctx[2], (int)ctx[1]);
	return 0;
}

/* kfree_skb(struct sk_buff *skb, …): an skb that is in start_xmit is dropped. */
SEC("tp_btf/kfree_skb")
int nf_slots_kfree_skb(__u64 *ctx)
{
	struct nf_slots_cpu *cpu = nf_slots_this_cpu();
	struct nf_slots_frame *frame;

	if (!cpu || !cpu->depth)
		return 0;
	frame = nf_slots_find(cpu, nf_slots_number(cpu, (const void *)ctx[0]));
	if (frame)
		frame->dropped = 1;
	return 0;
}
