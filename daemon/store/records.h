/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recent records of each kind.  Names that can vanish are captured when a record is added; all other names are resolved
 * when it is read.
 *
 * Each kind is kept fairly by cause, see store/shares.h: a drop's reason and location, and its namespace; the stage
 * that a journey waited for longest, whether it was slow, and its last device; a transmit's outcome and its device.
 */
#ifndef DAEMON_STORE_RECORDS_H
#define DAEMON_STORE_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/records.h"
#include "common/cleanup.h"
#include "daemon/core/record.h"

struct attribution;
struct cause;
struct names;
struct stage_probes;
struct reason_wanted;
struct records;
struct symbols;

/* The sources of names; all must outlive the records. */
struct records_sources {
	const struct names *names;
	const struct symbols *symbols;	 /* NULL: locations are addresses */
	struct attribution *attribution; /* NULL: namespaces and cgroups have no names */
};

/* `capacity`: the number of records of each kind, at least 1.  -ENOMEM.  Free with records_free. */
int records_new(struct records **records, const size_t capacity[static RECORDS_KINDS],
		const struct records_sources *sources);
void records_free(struct records **records);
#define OWN_RECORDS CLEANUP(records_free)

/*
 * Keep a copy of a record from the ring buffer, in place of one that its kind gives up, and capture its names.
 * store/captures.h says what that costs; the rest takes about a microsecond.
 */
void records_add_drop(struct records *records, const struct nf_drop_record *record);
void records_add_journey(struct records *records, const struct nf_journey_record *record);
void records_add_transmit(struct records *records, const struct nf_slots_record *record);

/*
 * Names that were not found are looked up again.  Call this every second, and records_settle_soon() once in
 * RECORDS_PAUSE_NS while records_wait() is true; see captures_settle().
 */
#define RECORDS_PAUSE_NS 25000000ULL
void records_settle(struct records *records);
void records_settle_soon(struct records *records);
bool records_wait(const struct records *records);
/* Call this after the symbols were loaded again. */
void records_forget_symbols(struct records *records);
/* Set which probes do not run, for the stages that a journey lacks; copied. */
void records_set_probes(struct records *records, const struct stage_probes *probes);

size_t records_count(const struct records *records, enum record_kind kind);
size_t records_capacity(const struct records *records, enum record_kind kind);
/* The number of causes that have records of this kind. */
size_t records_causes(const struct records *records, enum record_kind kind);
/* The number of namespaces and cgroups whose names are held, known or not. */
size_t records_names(const struct records *records);
/* When the i-th newest record was made, CLOCK_MONOTONIC ns; 0 if there are fewer. */
uint64_t records_time(const struct records *records, enum record_kind kind, size_t i);

/*
 * The number of records that were added since startup, and which of these the i-th newest is, from 1; 0 if there are
 * fewer.  Records arrive a little out of the order of their times, so this shows what is new.
 */
uint64_t records_added(const struct records *records, enum record_kind kind);
uint64_t records_sequence(const struct records *records, enum record_kind kind, size_t i);

/*
 * Resolve the i-th newest record, 0 is the newest.  The result is valid until the next call that changes or resolves
 * any record.  -ENOENT: there are fewer; -ENODATA, -EINVAL: stages_read() cannot read a journey from the latency
 * record.
 */
int records_drop(struct records *records, size_t i, struct drop *drop);
int records_journey(struct records *records, size_t i, struct journey *journey);
int records_transmit(struct records *records, size_t i, struct transmit *transmit);
int records_get(struct records *records, enum record_kind kind, size_t i, struct record *record);

/*
 * Name the reason and the location of a drop counter, as resolve_drop() names those of a record.  Of the key only
 * reason, location and evidence count.
 */
void records_cause(struct records *records, bool has_reason, const struct nf_drop_key *key,
		   struct cause *cause);

/* Find a reason by its name or number, as reason_read() does. */
int records_find_reason(const struct records *records, const char *text,
			struct reason_wanted *reason, const char **nearest);

#endif
