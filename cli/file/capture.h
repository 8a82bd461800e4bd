/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records as packets of a pcapng file.  A packet whose Ethernet header was
 * recorded is an Ethernet frame again, its VLAN tag included; any other is a
 * Linux cooked one, which has no addresses to make up.  What was not captured
 * is missing at the end of the packet, so all of it where nothing was.
 */
#ifndef CLI_FILE_CAPTURE_H
#define CLI_FILE_CAPTURE_H

#include <jansson.h>

#include "cli/file/output.h"
#include "cli/file/pcapng.h"

struct capture {
	struct output output;
	struct pcapng *pcapng;
	bool flush; /* after each packet: somebody may read along */
};

/* Begin a file, "-" for the standard output.  0 or a negative errno. */
int capture_open(struct capture *capture, const char *path, bool flush);

/* Add a DropRecord or a LatencyRecord.  0 or a negative errno. */
int capture_drop(struct capture *capture, const json_t *record);
int capture_latency(struct capture *capture, const json_t *record);

/* End it; *packets is how many it has.  0 or a negative errno. */
int capture_close(struct capture *capture, uint64_t *packets);

/* Free what is left; zeroes are nothing. */
void capture_done(struct capture *capture);
#define OWN_CAPTURE CLEANUP(capture_done)

#endif
