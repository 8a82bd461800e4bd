/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A record as the file has it: what was captured, with the names that it had then, as a list of fields.  So it can be
 * read as a record of now.
 */
#ifndef DAEMON_HISTORY_STORED_RECORD_H
#define DAEMON_HISTORY_STORED_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "common/knowledge.h"
#include "daemon/core/record.h"

/* Room for any record: the longest have a stack, and a cgroup's path for each of two drops. */
#define STORED_RECORD_MAX 32768

/* Write a record; *time_us is its time, since 1970.  The bytes written; 0: it does not fit. */
size_t stored_record_write(const struct record *record, int64_t *time_us,
			   uint8_t bytes[static STORED_RECORD_MAX]);

/* What a record that was read points to. */
struct stored_parts {
	struct nf_bytes bytes;
	struct nf_task task;
	struct owner owner;
	struct owner_names owner_names;
	struct knowledge_case candidate[KNOWLEDGE_CASES_MAX];
};

struct stored_record {
	struct record record;
	struct stored_parts parts, missing; /* `missing`: of journey.missing */
	struct nf_slots_frag frag[NF_FRAGS_MAX];
};

/*
 * Read a record of this kind and time, us since 1970.  Its texts are those in `bytes`.  Its time is that of
 * CLOCK_MONOTONIC at which it would have been if the host had been up, which can be below 0; the identities of devices
 * and namespaces are place_key()s.  -EBADMSG.
 */
int stored_record_read(struct stored_record *stored, enum record_kind kind, int64_t time_us,
		       const uint8_t *bytes, size_t size);

#endif
