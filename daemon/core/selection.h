/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records selected by a tcpdump expression (pcap-filter(7)).  libpcap compiles it for Ethernet, and it runs on the
 * frame that wire_frame_build() makes from the contents of a record:
 *
 * - VLAN tags are in the frame only if the expression contains the word "vlan".  All other expressions see the packet
 *   without tags, as tcpdump does on a device that strips them: "tcp port 443" selects tagged packets, too.
 * - "len", "less" and "greater" count an Ethernet header of 14 bytes, also for packets that have none, and 4 bytes for
 *   each tag in the frame.
 * - A test of bytes that were not captured ends the evaluation: the record is not selected, even inside "not" or "or".
 * - A packet without a recorded Ethernet header has no addresses: "not ether host …" selects it, and no test for an
 *   address does.  The same applies to a packet whose EtherType is not known.
 * - Names are refused, because libpcap would ask the resolver and the daemon would wait: hosts, networks, services
 *   ("port https") and protocols ("ip proto \tcp") must be numbers.  Names that libpcap itself knows are valid: "tcp",
 *   "icmp-echo", "ether proto \arp".
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
	 * One sentence in printable ASCII, in libpcap's words if libpcap found the error, with its position: "illegal
	 * port number 99999 > 65535, at "99999", character 10".
	 */
	char text[SELECTION_ERROR_MAX];
	/* The faulty part of the expression, in bytes; length 0: all of it, or its end. */
	size_t offset;
	size_t length;
};

/*
 * Compile `expression`; an empty one selects everything.  Takes less than 50 ms and does not look up names.  The caller
 * frees the selection.
 *
 * -EINVAL: the expression is invalid, and `error` says why and where; -E2BIG: it exceeds a limit of expression.h, which
 * `error` says; -ENOMEM.
 */
int selection_new(struct selection **selection, const char *expression,
		  struct selection_error *error);
void selection_free(struct selection **selection);
#define OWN_SELECTION CLEANUP(selection_free)

bool selection_takes(const struct selection *selection, const struct wire_frame_source *source);

/* Lengths in the record that exceed its arrays are reduced to them. */
bool selection_takes_bytes(const struct selection *selection, const struct nf_bytes *bytes);

#endif
