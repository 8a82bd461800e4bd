/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The newest records of each kind, each with what it names that can vanish:
 * the namespaces and the cgroup are looked up when a record is stored.  Who
 * reads a record gets what it means, see core/resolved.h.
 *
 * Storing costs a look-up of each namespace and of the cgroup: about 2 µs each
 * where kernel/attribution.h remembers the name (it asks the kernel whether the
 * name is still right), about 1 ms at most where it does not.  A name that was
 * not found is tried again while the record is young, because a new name may
 * be seen a second late.
 */
#ifndef DAEMON_STORE_RECORDS_H
#define DAEMON_STORE_RECORDS_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/records.h"
#include "daemon/core/resolved.h"

struct attribution;
struct names;
struct records;
struct symbols;

enum record_kind { RECORD_DROP, RECORD_JOURNEY, RECORD_TRANSMIT, RECORD_KINDS };

/* The sources are the caller's and must outlive the records. */
struct records_settings {
	size_t capacity[RECORD_KINDS]; /* records, at least 1 each */
	const struct names *names;
	const struct symbols *symbols;	 /* NULL: locations are addresses */
	struct attribution *attribution; /* NULL: namespaces and cgroups have no names */
};

/* -ENOMEM.  Free with records_free. */
int records_new(struct records **records, const struct records_settings *settings);
void records_free(struct records **records);

/* Which probes do not run, for the stages that a journey lacks; copied.  All run before this. */
void records_set_probes(struct records *records, const struct path_probes *probes);

/* Keep a copy, in place of the oldest of its kind if there is no room. */
void records_add_drop(struct records *records, const struct nf_drop_record *record);
void records_add_journey(struct records *records, const struct nf_path_record *record);
void records_add_transmit(struct records *records, const struct nf_slots_record *record);

/* Try again the names that young records lack; about once a second. */
void records_retry(struct records *records);

size_t records_count(const struct records *records, enum record_kind kind);
size_t records_capacity(const struct records *records, enum record_kind kind);

/* CLOCK_MONOTONIC of the i-th newest; `i` below the count. */
uint64_t records_time(const struct records *records, enum record_kind kind, size_t i);

/* The i-th newest, `i` below the count.  The result points into the records until the next is added. */
void records_drop(const struct records *records, size_t i, struct drop *drop);
void records_transmit(const struct records *records, size_t i, struct transmit *transmit);
/* -ENODATA or -EINVAL: it has no times that can be believed, see path_read(). */
int records_journey(const struct records *records, size_t i, struct journey *journey);

/* Name the cause of a drop counter as that of a record. */
void records_cause(const struct records *records, struct cause *cause, bool has_reason,
		   uint32_t reason, uint64_t location);

#endif
