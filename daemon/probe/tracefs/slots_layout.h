/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the kernel keeps what a transmit's slots depend on, from its BTF and its caches. */
#ifndef DAEMON_PROBE_TRACEFS_SLOTS_LAYOUT_H
#define DAEMON_PROBE_TRACEFS_SLOTS_LAYOUT_H

#include <stddef.h>

/* Offsets and sizes in bytes. */
struct slots_layout {
	int len, data_len, head, data, end;	 /* in struct sk_buff */
	int nr_frags, gso_size, gso_segs, frags; /* in struct skb_shared_info */
	int shared_size;			 /* of it */
	int frags_max;				 /* entries of frags[] */
	int name, features;			 /* in struct net_device */
	int sg_bit, gso_bit, tso_bit;		 /* of features */
	int small_head; /* bytes that the kernel allocates for a small head; 0: none; -1: not known */
};

/* -ENOENT: the kernel has no BTF, or it lacks something; `why` (of `size` bytes) says what. */
int slots_layout_read(struct slots_layout *layout, char *why, size_t size);

#endif
