/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records selected by a tcpdump expression (pcap-filter(7)).  libpcap compiles
 * it for Ethernet, and it runs over the frame that wire_frame_build() makes of what
 * a record holds.  What it means there:
 *
 * - VLAN tags are in the frame only for expressions that have the word "vlan".
 *   All others see the packet as it is without tags, like tcpdump on a device
 *   that takes them off: "tcp port 443" selects tagged packets, too.
 * - "len", "less" and "greater" count an Ethernet header of 14 bytes, also for
 *   packets that have none, and each tag with 4 where tags are in the frame.
 * - A test that reads bytes that were not captured ends the evaluation: the
 *   record is not selected, whatever "not" or "or" stand around it.
 * - A packet without a recorded Ethernet header has no addresses: it is
 *   selected by "not ether host …" and by no comparison with an address.
 *   The same goes for one whose EtherType is not known.
 * - Names are refused, because libpcap would ask the resolver and the daemon
 *   would wait: hosts, networks, services ("port https") and protocols
 *   ("ip proto \tcp") are numbers.  What libpcap knows by itself stays:
 *   "tcp", "icmp-echo", "ether proto \arp".
 * - "inbound", "outbound" and "ifindex" are refused: only a capture knows them.
 */
#ifndef DAEMON_CORE_SELECTION_H
#define DAEMON_CORE_SELECTION_H

#include <stdbool.h>
#include <stddef.h>

#include "common/cleanup.h"

struct wire_frame_source;
struct nf_bytes;
struct selection;

#define SELECTION_ERROR_MAX 512

struct selection_error {
	/*
	 * One sentence in printable ASCII, libpcap's own where it comes from
	 * there, with the place: "illegal port number 99999 > 65535, at "99999",
	 * character 10".
	 */
	char text[SELECTION_ERROR_MAX];
	/* The part of the expression that is meant, in bytes; length 0: all of it, or its end. */
	size_t offset;
	size_t length;
};

/*
 * Compile `expression`; an empty one selects everything.  Takes less than 0.1 s
 * and asks nobody.  The caller frees the selection.
 *
 * -EINVAL: not valid, `error` says why and where; -E2BIG: longer or more
 * complicated than the bounds in expression.h, which `error` says; -ENOMEM.
 */
int selection_new(struct selection **selection, const char *expression,
		  struct selection_error *error);
void selection_free(struct selection **selection);
#define OWN_SELECTION CLEANUP(selection_free)

bool selection_takes(const struct selection *selection, const struct wire_frame_source *source);

/* Lengths in the record larger than its arrays are cut down to them. */
bool selection_takes_bytes(const struct selection *selection, const struct nf_bytes *bytes);

#endif
