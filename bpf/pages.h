/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pages that a part of a packet touches.  Each is a slot of a Xen device's
 * ring.  The programs and the correlator of trace events share this.
 */
#ifndef NF_PAGES_H
#define NF_PAGES_H

#include "records.h"

/* Pages of NF_SLOT_BYTES that `size` bytes touch from `offset` on. */
static inline __attribute__((always_inline)) __u32 nf_pages(__u32 offset, __u32 size)
{
	return ((offset & (NF_SLOT_BYTES - 1)) + size + NF_SLOT_BYTES - 1) / NF_SLOT_BYTES;
}

#endif
