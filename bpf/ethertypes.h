/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The EtherTypes that keys of drops distinguish.  A sender of raw frames chooses any, so only well-known ones have keys
 * of their own.  The programs and the correlator of trace events share this.
 */
#ifndef NF_ETHERTYPES_H
#define NF_ETHERTYPES_H

#include "records.h"

#define NF_ETH_P_IP 0x0800
#define NF_ETH_P_IPV6 0x86dd
#define NF_ETH_P_MIN 0x0600 /* smaller values are lengths, or the kernel's own numbers */

/* The well-known EtherTypes other than IPv4 and IPv6 (include/uapi/linux/if_ether.h). */
static inline __attribute__((always_inline)) _Bool nf_drop_knows_protocol(__u16 protocol)
{
	switch (protocol) {
	case 0x0806: /* ARP */
	case 0x8035: /* RARP */
	case 0x8100: /* VLAN, */
	case 0x88a8: /* of a provider */
	case 0x8847: /* MPLS, */
	case 0x8848: /* multicast */
	case 0x8863: /* PPPoE discovery, */
	case 0x8864: /* session */
	case 0x8809: /* LACP and other slow protocols */
	case 0x888e: /* EAPOL */
	case 0x88cc: /* LLDP */
	case 0x88e5: /* MACsec */
	case 0x88f7: /* PTP */
	case 0x8906: /* FCoE, */
	case 0x8914: /* its initialization */
	case 0x894f: /* NSH */
		return 1;
	default:
		return 0;
	}
}

#endif
