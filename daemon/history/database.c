/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/history/database.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/*
 * series: the name of each, see series_name.h.
 * bucket: the numbers of a series in a bucket of a level, a vector (vector.h).  Ordered by time, so that new rows are
 * neighbours, and a question reads one stretch for each of its ranges.
 * span: the times in which netflowd recorded, each with the coverage that held then; what lies between is a gap.  Other
 * kinds of spans are gaps with a reason, and intervals that are longer than their bucket (enum database_span).
 * record: drop, latency and slots records, see stored_record.h; and events of alerts, as JSON text.
 * incident_*: copies, which stay when their originals get too old.
 * Every number has a weight: how many events one counted event stands for.  It is 1: netflowd counts them all.
 */
const char database_schema[] =
	"CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE series (id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, hash INTEGER NOT NULL,"
	" used INTEGER NOT NULL, name BLOB NOT NULL);"
	"CREATE INDEX series_hash ON series (hash);"
	"CREATE TABLE bucket (level INTEGER NOT NULL, kind INTEGER NOT NULL, time INTEGER NOT NULL,"
	" series INTEGER NOT NULL, weight INTEGER NOT NULL, value BLOB NOT NULL,"
	" PRIMARY KEY (level, kind, time, series)) WITHOUT ROWID;"
	"CREATE TABLE coverage (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);"
	"CREATE TABLE span (id INTEGER PRIMARY KEY, begun INTEGER NOT NULL, ended INTEGER NOT NULL,"
	" coverage INTEGER NOT NULL, kind INTEGER NOT NULL DEFAULT 0);"
	"CREATE INDEX span_ended ON span (ended);"
	"CREATE TABLE record (id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, time INTEGER NOT NULL,"
	" weight INTEGER NOT NULL, body BLOB NOT NULL);"
	"CREATE INDEX record_time ON record (kind, time);"
	"CREATE TABLE incident (id INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER NOT NULL,"
	" begun INTEGER NOT NULL, rule TEXT NOT NULL, complete INTEGER NOT NULL,"
	" bytes INTEGER NOT NULL, alert TEXT NOT NULL);"
	"CREATE TABLE incident_bucket (incident INTEGER NOT NULL, kind INTEGER NOT NULL,"
	" time INTEGER NOT NULL, series INTEGER NOT NULL, weight INTEGER NOT NULL,"
	" value BLOB NOT NULL, PRIMARY KEY (incident, kind, time, series)) WITHOUT ROWID;"
	"CREATE TABLE incident_record (id INTEGER PRIMARY KEY, incident INTEGER NOT NULL,"
	" kind INTEGER NOT NULL, time INTEGER NOT NULL, weight INTEGER NOT NULL, body BLOB NOT NULL);"
	"CREATE INDEX incident_record_time ON incident_record (incident, kind, time);";

void database_close(sqlite3 **db)
{
	sqlite3_close(*db);
	*db = NULL;
}

void database_finalize(sqlite3_stmt **statement)
{
	sqlite3_finalize(*statement);
	*statement = NULL;
}

/* An errno for a result of SQLite.  -EBADMSG: the file is corrupt; -ENOSPC: the disk, or the bound, is full. */
static int errno_of(int result)
{
	switch (result & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE:
		return 0;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return -EBADMSG;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return -EACCES;
	case SQLITE_CANTOPEN:
		return -ENOENT;
	case SQLITE_INTERRUPT:
		return -ETIMEDOUT;
	default:
		return -EIO;
	}
}

int database_failure(sqlite3 *db, char *reason, unsigned int size)
{
	int result = db ? sqlite3_extended_errcode(db) : SQLITE_NOMEM;
	int system = db ? sqlite3_system_errno(db) : 0;
	int r = errno_of(result);

	/* SQLite reports a write that the disk has no room for as one of both. */
	if (r == -EIO && (system == ENOSPC || system == EDQUOT))
		r = -ENOSPC;
	if (reason)
		snprintf(reason, size, "%s%s%s", db ? sqlite3_errmsg(db) : "out of memory",
			 r == -EIO && system ? ": " : "",
			 r == -EIO && system ? strerror(system) : "");
	return r ? r : -EIO;
}

int database_run(sqlite3 *db, const char *sql)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

int64_t database_number(sqlite3 *db, const char *sql, int64_t otherwise)
{
	OWN_STATEMENT sqlite3_stmt *statement = NULL;

	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK &&
	    sqlite3_step(statement) == SQLITE_ROW &&
	    sqlite3_column_type(statement, 0) != SQLITE_NULL)
		return sqlite3_column_int64(statement, 0);
	return otherwise;
}

int database_levels(sqlite3 *db, struct plan_levels *levels)
{
	OWN_STATEMENT sqlite3_stmt *statement = NULL;
	int result = sqlite3_prepare_v2(
		db, "SELECT name, value FROM meta WHERE name LIKE 'cut_' OR name LIKE 'rolled_'",
		-1, &statement, NULL);

	*levels = (struct plan_levels){0};
	if (result != SQLITE_OK)
		return result;
	while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(statement, 0);
		size_t length = name ? strlen(name) : 0;
		int level = length ? name[length - 1] - '0' : -1;

		if (level < 0 || level >= PLAN_LEVELS)
			continue;
		if (name[0] == 'c')
			levels->cut[level] = sqlite3_column_int64(statement, 1);
		else
			levels->rolled[level] = sqlite3_column_int64(statement, 1);
	}
	return result == SQLITE_DONE ? SQLITE_OK : result;
}
