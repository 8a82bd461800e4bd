/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the bytes of a trace event to what the correlator needs.  Fields are found by their names in the formats of the
 * traced kernel, because releases move them.
 */
#ifndef DAEMON_PROBE_EVENTS_DECODE_H
#define DAEMON_PROBE_EVENTS_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/records.h"
#include "common/cleanup.h"
#include "daemon/correlator/event.h"

struct decoder;
struct tep_handle;

#define DECODER_REASON_MAX 160

/* What the formats have of a probe. */
struct decoder_probe {
	const char *system, *name;	 /* of its event; NULL: there is none */
	char reason[DECODER_REASON_MAX]; /* why it cannot be used; empty: it can */
};

/* `tep` has the formats, and must outlive the decoder.  -ENOMEM.  Free with decoder_free. */
int decoder_new(struct decoder **decoder, struct tep_handle *tep);
void decoder_free(struct decoder **decoder);
#define OWN_DECODER CLEANUP(decoder_free)

const struct decoder_probe *decoder_probe(const struct decoder *decoder, enum nf_probe probe);

/* Whether kfree_skb has a reason. */
bool decoder_has_reason(const struct decoder *decoder);

/*
 * Fill all members of `event` but time and CPU.  0: it is no event of a probe; 1: it is one; -EBADMSG: it is one, but
 * the record is too short for its fields.  `event->device` is in `data`; `event->transmit` is valid until the next
 * call.
 */
int decoder_read(struct decoder *decoder, const void *data, size_t size, struct event *event);

/* The text of a line in trace_marker, in `data`, not always ended by NUL; its length, 0: it is none. */
size_t decoder_marker(const struct decoder *decoder, const void *data, size_t size,
		      const char **text);

#endif
