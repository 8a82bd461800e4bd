/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records as packets of a pcapng file.  A record with an Ethernet header becomes an Ethernet frame, including its VLAN
 * tag.  Any other record becomes a Linux cooked packet, because that needs no invented addresses.  The file says how
 * long a packet was on the wire; bytes that the daemon did not record are missing at its end.
 */
#ifndef CLI_FILE_CAPTURE_H
#define CLI_FILE_CAPTURE_H

#include <jansson.h>

#include "cli/file/output.h"
#include "cli/file/pcapng.h"

struct capture {
	struct output output;
	struct pcapng *pcapng;
	bool flush; /* flush after each packet, because a program may read the file while it grows */
};

/* Open a file, or the standard output for "-", and begin its section.  0 or a negative errno. */
int capture_open(struct capture *capture, const char *path, bool flush);

/* Add a DropRecord or a LatencyRecord.  0 or a negative errno. */
int capture_drop(struct capture *capture, const json_t *record);
int capture_latency(struct capture *capture, const json_t *record);

/* Complete the file and set *packets to its number of packets.  0 or a negative errno. */
int capture_close(struct capture *capture, uint64_t *packets);

/* Free everything and remove a temporary file that is not complete.  Does nothing with a zeroed struct. */
void capture_done(struct capture *capture);
#define OWN_CAPTURE CLEANUP(capture_done)

#endif
