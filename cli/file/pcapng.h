/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packets in the form that Wireshark reads: pcapng (draft-ietf-opsawg-pcapng),
 * one section, one interface for each device and kind of link header, times in
 * nanoseconds, a comment on each packet.
 */
#ifndef CLI_FILE_PCAPNG_H
#define CLI_FILE_PCAPNG_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/cleanup.h"

/* What a packet's bytes begin with, as in the list of link-layer header types of tcpdump. */
enum pcapng_link {
	PCAPNG_ETHERNET = 1,
	PCAPNG_LINUX_SLL = 113,
};

struct pcapng_packet {
	const char *device;	 /* its interface's name */
	const char *description; /* of the interface; two with another one are two interfaces */
	enum pcapng_link link;
	uint64_t time_ns;    /* since 1970-01-01 00:00:00 UTC */
	const void *bytes;   /* from the link header on */
	uint32_t captured;   /* of bytes */
	uint32_t length;     /* on the wire, link header included; at least `captured` */
	const char *comment; /* UTF-8 */
};

struct pcapng;

/* Write the beginning of the section to `out`, which must outlive the object.  0 or -ENOMEM, -EIO.
 */
int pcapng_new(struct pcapng **pcapng, FILE *out, const char *application);
void pcapng_free(struct pcapng **pcapng);
#define OWN_PCAPNG CLEANUP(pcapng_free)

/* Write one packet, its interface first where it is new.  0 or -ENOMEM, -EIO. */
int pcapng_write(struct pcapng *pcapng, const struct pcapng_packet *packet);

/* Packets written so far. */
uint64_t pcapng_packets(const struct pcapng *pcapng);

#endif
