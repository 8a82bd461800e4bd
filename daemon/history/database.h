/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the writer and the readers of the file share: its tables, its version, and how SQLite's errors are reported. */
#ifndef DAEMON_HISTORY_DATABASE_H
#define DAEMON_HISTORY_DATABASE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "daemon/history/plan.h"

/* "nfhi", so that file(1) and netflowd know whose file it is. */
#define DATABASE_APPLICATION 0x6e666869
/*
 * A file with a higher version is left alone.  In version 2, the names of drops and the drop records have evidence, and
 * what netflowd inferred from it.  In version 1 they only have what the kernel said, and readers infer the rest from
 * that, so a file of version 1 becomes one of version 2 without a change of its rows.  Latency of
 * version 3 says how far its counts are estimates; without that they are exact, so no row of version 2 changes either.
 * Drops of version 4 say how many of them have no known size; before, such rows have packets and no segments.
 * Version 5 has the kernel's counts of packets by device, which earlier ones lack.  Version 6 has the kinds of spans,
 * and the packets that came while no journey began.  Latency of version 7 can be tied to the kernel's counts (tie.h).
 * Version 8 has what a row may lack because it was not drawn (SEEN_MISSABLE).
 */
#define DATABASE_VERSION 8
#define DATABASE_VERSION_KINDS 6
#define DATABASE_VERSION_FIRST 1
#define DATABASE_PAGE 4096

/* What a row of the table span is.  The numbers are part of the file's format. */
enum database_span {
	DATABASE_RECORDED, /* netflowd recorded */
	DATABASE_PAUSED,   /* it ran, and all its probes were paused */
	/* Buckets of an interval that is longer than one: one of them has its numbers.  This says nothing of gaps. */
	DATABASE_LONG,
	/* A step of the host's clock: `begun` is what it said after it, and `ended` what it would have said. */
	DATABASE_STEP,
};

/* Create the tables in an empty file, and those of this version in an older one. */
extern const char database_schema[];
extern const char database_upgrade[];

void database_close(sqlite3 **db);
#define OWN_DATABASE CLEANUP(database_close)
void database_finalize(sqlite3_stmt **statement);
#define OWN_STATEMENT CLEANUP(database_finalize)

/* An errno for a result of SQLite.  -EBADMSG: the file is corrupt; -ENOSPC: the disk, or the bound, is full. */
int database_errno(int result);
/* The same for the last failure of the connection, and its text in `reason` (`size` bytes). */
int database_failure(sqlite3 *db, char *reason, unsigned int size);

/* Run statements without results.  0 or a result of SQLite. */
int database_run(sqlite3 *db, const char *sql);
/* The first number of the first row; `otherwise` if there is none. */
int64_t database_number(sqlite3 *db, const char *sql, int64_t otherwise);

/* From when on the file has all records that were stored, us since 1970; no row: none was deleted. */
#define DATABASE_RECORDS_FROM "SELECT value FROM meta WHERE name = 'records'"

/* What the levels hold. */
int database_levels(sqlite3 *db, struct plan_levels *levels);

#endif
