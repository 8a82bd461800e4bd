/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pcapng files (draft-ietf-opsawg-pcapng), which Wireshark reads.  A file has one section, one interface per device and
 * type of link header, times in nanoseconds, and a comment on each packet.
 */
#ifndef CLI_FILE_PCAPNG_H
#define CLI_FILE_PCAPNG_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/cleanup.h"

/* The link header at the start of a packet: a LINKTYPE_ value of the tcpdump project. */
enum pcapng_link {
	PCAPNG_ETHERNET = 1,
	PCAPNG_LINUX_SLL = 113,
};

struct pcapng_packet {
	const char *device; /* name of the interface */
	const char *
		description; /* of the interface; a different description is a different interface */
	enum pcapng_link link;
	uint64_t time_ns;    /* since 1970-01-01 00:00:00 UTC */
	const void *bytes;   /* from the link header on */
	uint32_t captured;   /* length of `bytes` */
	uint32_t length;     /* on the wire, link header included; at least `captured` */
	const char *comment; /* UTF-8 */
};

struct pcapng;

/* Write the section header to `out`, which must outlive the object.  0 or a negative errno. */
int pcapng_new(struct pcapng **pcapng, FILE *out, const char *application);
void pcapng_free(struct pcapng **pcapng);
#define OWN_PCAPNG CLEANUP(pcapng_free)

/* Write one packet, and before it its interface if that is new.  0 or a negative errno. */
int pcapng_write(struct pcapng *pcapng, const struct pcapng_packet *packet);

/* The number of packets written. */
uint64_t pcapng_packets(const struct pcapng *pcapng);

#endif
