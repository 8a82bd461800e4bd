/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A packet as a record shows it: its headers, and the texts that every reader of a record needs. */
#ifndef DAEMON_CORE_CONTENTS_H
#define DAEMON_CORE_CONTENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/records.h"
#include "daemon/core/packet.h"

struct contents {
	const struct nf_bytes *bytes; /* of the record; borrowed */
	struct packet packet;
	char protocol[PACKET_PROTOCOL_MAX];
	char flow[PACKET_FLOW_MAX]; /* empty: neither ARP nor IP */
};

/* Read the bytes.  The upper protocol is the one that packet_parse() finds in them. */
void contents_read(struct contents *contents, const struct nf_bytes *bytes);

/* Read the bytes.  The upper protocol is `l4`, as the kernel read it; it is not known unless `l4_known`. */
void contents_read_l4(struct contents *contents, const struct nf_bytes *bytes, bool l4_known,
		      uint8_t l4);

#endif
