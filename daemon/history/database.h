/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the writer and the readers of the file share: its tables, its version, and how SQLite's errors are reported. */
#ifndef DAEMON_HISTORY_DATABASE_H
#define DAEMON_HISTORY_DATABASE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "daemon/history/plan.h"

/* "nflh", so that file(1) and netflowd know whose file it is; and what it was before version 1. */
#define DATABASE_APPLICATION 0x6e666c68
#define DATABASE_APPLICATION_BEFORE 0x6e666869
/* A file with a higher version is left alone. */
#define DATABASE_VERSION 3
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

/* Creates the tables in an empty file. */
extern const char database_schema[];

void database_close(sqlite3 **db);
#define OWN_DATABASE CLEANUP(database_close)
void database_finalize(sqlite3_stmt **statement);
#define OWN_STATEMENT CLEANUP(database_finalize)

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
