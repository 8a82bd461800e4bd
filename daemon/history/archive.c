/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/history/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/array.h"
#include "daemon/history/archive_internal.h"
#include "daemon/history/database.h"
#include "daemon/history/plan.h"

#define US INT64_C(1000000)

/* ---- statements ------------------------------------------------------------ */

sqlite3_stmt *archive_prepare(struct archive *archive, enum archive_statement which)
{
	static const char *const sql[ARCHIVE_STATEMENTS] = {
		[FIND_SERIES] = "SELECT id FROM series WHERE hash = ?1 AND kind = ?2 AND name = ?3",
		[ADD_SERIES] =
			"INSERT INTO series (kind, hash, used, name) VALUES (?2, ?1, ?4, ?3)",
		[USE_SERIES] = "UPDATE series SET used = ?2 WHERE id = ?1",
		[FIND_BUCKET] =
			"SELECT weight, value FROM bucket WHERE level = ?1 AND kind = ?2 AND time = ?3 AND series = ?4",
		[PUT_BUCKET] = "INSERT OR REPLACE INTO bucket VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
		[READ_BUCKETS] =
			"SELECT series, weight, value FROM bucket WHERE level = ?1 AND kind = ?2 AND time >= ?3 AND time < ?4",
		[DELETE_BUCKETS] =
			"DELETE FROM bucket WHERE level = ?1 AND kind = ?2 AND time < ?3",
		[NEXT_BUCKET] =
			"SELECT min(time) FROM bucket WHERE level = ?1 AND kind = ?2 AND time >= ?3",
		[DELETE_RANGE] =
			"DELETE FROM bucket WHERE level = ?1 AND kind = ?2 AND time >= ?3 AND time <= ?4",
		[FIRST_OF_RANGE] =
			"SELECT time, series, weight, value FROM bucket"
			" WHERE level = 0 AND kind = ?1 AND time >= ?2 AND time <= ?3 ORDER BY time LIMIT 1",
		[DELETE_BUCKET] =
			"DELETE FROM bucket WHERE level = 0 AND kind = ?1 AND time = ?2 AND series = ?3",
		[LAST_BUCKET] = "SELECT max(time) FROM bucket WHERE level = ?1 AND kind = ?2",
		[SET_META] = "INSERT OR REPLACE INTO meta VALUES (?1, ?2)",
		[FIND_COVERAGE] = "SELECT id FROM coverage WHERE text = ?1",
		[ADD_COVERAGE] = "INSERT INTO coverage (text) VALUES (?1)",
		[LAST_SPAN] =
			"SELECT id, ended, coverage, kind FROM span WHERE kind < 2 ORDER BY id DESC LIMIT 1",
		[LAST_ENDED] = "SELECT max(ended) FROM span WHERE kind = 0 AND ended <= ?1",
		[ADD_SPAN] =
			"INSERT INTO span (begun, ended, coverage, kind) VALUES (?1, ?2, ?3, ?4)",
		[EXTEND_SPAN] = "UPDATE span SET ended = ?2 WHERE id = ?1",
		[ADD_RECORD] =
			"INSERT INTO record (kind, time, weight, body) VALUES (?1, ?2, ?3, ?4)",
		[DELETE_RECORDS] =
			"DELETE FROM record WHERE id IN"
			" (SELECT id FROM record WHERE kind = ?1 AND time < ?2 ORDER BY time LIMIT ?3)",
		[FIRST_RECORD] = "SELECT min(time) FROM record WHERE kind = ?1",
		[LAST_RECORD] = "SELECT max(time) FROM record WHERE kind = ?1",
		[FIND_INCIDENT] =
			"SELECT 1 FROM incident WHERE rule = ?1 AND time > ?2 AND time <= ?3",
		[ADD_INCIDENT] =
			"INSERT INTO incident (time, begun, rule, complete, bytes, alert) VALUES (?1, ?2, ?3, 0, 0, ?4)",
		[OPEN_INCIDENT] = "SELECT id, begun, time FROM incident WHERE NOT complete LIMIT 1",
		[COPY_BUCKETS] =
			"INSERT OR REPLACE INTO incident_bucket SELECT ?1, kind, time, series, weight, value"
			" FROM bucket WHERE level = 0 AND kind = ?2 AND time >= ?3 AND time <= ?4",
		[COPY_RECORDS] =
			"INSERT INTO incident_record (incident, kind, time, weight, body)"
			" SELECT ?1, kind, time, weight, body FROM record WHERE kind = ?2 AND time >= ?3 AND time <= ?4",
		[END_INCIDENT] =
			"UPDATE incident SET complete = 1, bytes = length(alert)"
			" + (SELECT ifnull(sum(length(value) + 24), 0) FROM incident_bucket WHERE incident = ?1)"
			" + (SELECT ifnull(sum(length(body) + 24), 0) FROM incident_record WHERE incident = ?1) WHERE id = ?1",
		[OLDEST_INCIDENT] =
			"SELECT id, time, (SELECT sum(bytes) FROM incident), (SELECT count(*) FROM incident)"
			" FROM incident ORDER BY id LIMIT 1",
		[DELETE_INCIDENT_BUCKETS] = "DELETE FROM incident_bucket WHERE incident = ?1",
		[DELETE_INCIDENT_RECORDS] = "DELETE FROM incident_record WHERE incident = ?1",
		[DELETE_INCIDENT] = "DELETE FROM incident WHERE id = ?1",
		[DELETE_SPANS] = "DELETE FROM span WHERE ended < ?1 AND begun < ?1",
		[DELETE_SERIES] =
			"DELETE FROM series WHERE used < ?1 AND id NOT IN (SELECT series FROM incident_bucket)",
		[DELETE_COVERAGE] =
			"DELETE FROM coverage WHERE id NOT IN (SELECT coverage FROM span)",
	};
	sqlite3_stmt **statement = &archive->statement[which];

	if (!*statement)
		sqlite3_prepare_v3(archive->db, sql[which], -1, SQLITE_PREPARE_PERSISTENT,
				   statement, NULL);
	return *statement;
}

/* Run a statement that changes rows; `count` numbers are its parameters. */
int archive_change(struct archive *archive, enum archive_statement which, int count,
		   const int64_t *number)
{
	sqlite3_stmt *statement = archive_prepare(archive, which);
	int result;

	if (!statement)
		return SQLITE_ERROR;
	for (int i = 0; i < count; i++)
		sqlite3_bind_int64(statement, i + 1, number[i]);
	result = sqlite3_step(statement);
	sqlite3_reset(statement);
	return result == SQLITE_DONE ? SQLITE_OK : result;
}

/* The first number that a statement finds; `otherwise` if there is none. */
int archive_number(struct archive *archive, enum archive_statement which, int count,
		   const int64_t *number, int64_t *found, int64_t otherwise)
{
	sqlite3_stmt *statement = archive_prepare(archive, which);
	int result;

	if (!statement)
		return SQLITE_ERROR;
	for (int i = 0; i < count; i++)
		sqlite3_bind_int64(statement, i + 1, number[i]);
	result = sqlite3_step(statement);
	*found = otherwise;
	if (result == SQLITE_ROW && sqlite3_column_type(statement, 0) != SQLITE_NULL)
		*found = sqlite3_column_int64(statement, 0);
	sqlite3_reset(statement);
	return result == SQLITE_ROW || result == SQLITE_DONE ? SQLITE_OK : result;
}

int archive_set_meta(struct archive *archive, const char *name, int level, int64_t value)
{
	sqlite3_stmt *statement = archive_prepare(archive, SET_META);
	char text[32];
	int result;

	if (!statement)
		return SQLITE_ERROR;
	snprintf(text, sizeof(text), level < 0 ? "%s" : "%s%d", name, level);
	sqlite3_bind_text(statement, 1, text, -1, SQLITE_TRANSIENT);
	sqlite3_bind_int64(statement, 2, value);
	result = sqlite3_step(statement);
	sqlite3_reset(statement);
	return result == SQLITE_DONE ? SQLITE_OK : result;
}

int archive_set_cut(struct archive *archive, int level, int64_t cut)
{
	archive->levels.cut[level] = cut;
	return archive_set_meta(archive, "cut", level, cut);
}

/* ---- opening ----------------------------------------------------------------- */

void archive_set_limits(struct archive *archive, const struct archive_limits *limits)
{
	char sql[64];

	archive->limits = *limits;
	if (archive->limits.bytes < ARCHIVE_BYTES_MIN)
		archive->limits.bytes = ARCHIVE_BYTES_MIN;
	/* An eighth is for the log; see archive_tidy(). */
	snprintf(sql, sizeof(sql), "PRAGMA max_page_count = %" PRIu64,
		 archive->limits.bytes / 8 * 7 / DATABASE_PAGE);
	database_run(archive->db, sql);
	snprintf(sql, sizeof(sql), "PRAGMA journal_size_limit = %" PRIu64,
		 archive->limits.bytes / 16);
	database_run(archive->db, sql);
}

/* 1: an empty file.  -EPROTONOSUPPORT: it is newer than this program, or of another one; -ESTALE: it is too old. */
static int check_version(struct archive *archive, char *reason)
{
	sqlite3 *db = archive->db;
	int64_t version, tables, application;
	int result = database_run(db, "SELECT count(*) FROM sqlite_schema");

	if (result != SQLITE_OK)
		return database_failure(db, reason, ARCHIVE_REASON_MAX);
	version = database_number(db, "PRAGMA user_version", 0);
	application = database_number(db, "PRAGMA application_id", 0);
	tables = database_number(db, "SELECT count(*) FROM sqlite_schema", 0);
	if (tables && (application == DATABASE_APPLICATION_BEFORE ||
		       (application == DATABASE_APPLICATION && version < DATABASE_VERSION)))
		return -ESTALE;
	if (tables && application != DATABASE_APPLICATION) {
		snprintf(reason, ARCHIVE_REASON_MAX,
			 "%s is a database of another program; remove it, or set history.directory",
			 archive->path);
		return -EPROTONOSUPPORT;
	}
	if (version > DATABASE_VERSION) {
		snprintf(reason, ARCHIVE_REASON_MAX,
			 "%s has version %" PRId64
			 ", this netflowd writes version %d; update netflowd, or remove the file",
			 archive->path, version, DATABASE_VERSION);
		return -EPROTONOSUPPORT;
	}
	return tables ? 0 : 1;
}

static int create(struct archive *archive, char *reason)
{
	char sql[128];

	snprintf(sql, sizeof(sql), "PRAGMA application_id = %d; PRAGMA user_version = %d",
		 DATABASE_APPLICATION, DATABASE_VERSION);
	if (database_run(archive->db, "BEGIN IMMEDIATE") == SQLITE_OK &&
	    database_run(archive->db, database_schema) == SQLITE_OK &&
	    database_run(archive->db, sql) == SQLITE_OK &&
	    database_run(archive->db, "COMMIT") == SQLITE_OK)
		return 0;
	return database_failure(archive->db, reason, ARCHIVE_REASON_MAX);
}

/* A file that was not closed is looked at, page by page. */
static int check_pages(struct archive *archive, char *reason)
{
	OWN_STATEMENT sqlite3_stmt *statement = NULL;
	const char *text;

	if (database_number(archive->db, "SELECT value FROM meta WHERE name = 'clean'", 0))
		return 0;
	if (sqlite3_prepare_v2(archive->db, "PRAGMA quick_check(1)", -1, &statement, NULL) !=
		    SQLITE_OK ||
	    sqlite3_step(statement) != SQLITE_ROW)
		return database_failure(archive->db, reason, ARCHIVE_REASON_MAX);
	text = (const char *)sqlite3_column_text(statement, 0);
	if (text && !strcmp(text, "ok"))
		return 0;
	snprintf(reason, ARCHIVE_REASON_MAX, "%s", text ? text : "unreadable");
	return -EBADMSG;
}

/* Records hold headers of packets: not for everyone.  SQLite gives its log the same mode. */
static void make_file(const struct archive *archive)
{
	OWN_FD int fd = open(archive->path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0640);

	(void)fd;
}

static int on_commit(void *userdata, sqlite3 *db, const char *name, int pages)
{
	struct archive *archive = userdata;

	(void)db;
	(void)name;
	archive->log_pages = pages;
	return SQLITE_OK;
}

static int connect_file(struct archive *archive, char *reason)
{
	/* These write into a file that exists. */
	static const char fresh[] = "PRAGMA page_size = 4096; PRAGMA auto_vacuum = INCREMENTAL;";
	static const char both[] =
		"PRAGMA temp_store = MEMORY; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -2048;";
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
		    SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE;
	int r = 0;

	make_file(archive);
	if (sqlite3_open_v2(archive->path, &archive->db, flags, NULL) != SQLITE_OK)
		return database_failure(archive->db, reason, ARCHIVE_REASON_MAX);
	sqlite3_busy_timeout(archive->db, 5000);
	/* Nothing in a file may run: it may come from anywhere. */
	sqlite3_db_config(archive->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(archive->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(archive->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	r = check_version(archive, reason);
	if (r < 0)
		return r;
	if ((r && database_run(archive->db, fresh) != SQLITE_OK) ||
	    database_run(archive->db, both) != SQLITE_OK)
		return database_failure(archive->db, reason, ARCHIVE_REASON_MAX);
	r = r ? create(archive, reason) : check_pages(archive, reason);
	if (r < 0)
		return r;
	archive_set_limits(archive, &archive->limits);
	/* A file that says that it is ours and lacks tables is corrupt. */
	if (database_run(
		    archive->db,
		    "SELECT 1 FROM series, bucket, coverage, span, record, incident, incident_bucket, incident_record LIMIT 0") !=
	    SQLITE_OK) {
		r = database_failure(archive->db, reason, ARCHIVE_REASON_MAX);
		return sqlite3_errcode(archive->db) == SQLITE_ERROR ? -EBADMSG : r;
	}
	if (database_levels(archive->db, &archive->levels) != SQLITE_OK ||
	    archive_read_clock(archive) != SQLITE_OK ||
	    archive_set_meta(archive, "clean", -1, 0) != SQLITE_OK ||
	    archive_set_meta(archive, "batch", -1, 0) != SQLITE_OK)
		return database_failure(archive->db, reason, ARCHIVE_REASON_MAX);
	archive_read_begin(archive);
	/* Instead of SQLite's own checkpoints; see archive_tidy(). */
	sqlite3_wal_hook(archive->db, on_commit, archive);
	archive->first = true;
	return 0;
}

static void disconnect(struct archive *archive)
{
	for (int i = 0; i < ARCHIVE_STATEMENTS; i++)
		database_finalize(&archive->statement[i]);
	database_close(&archive->db);
}

/* Only the newest file of an end is kept, for who wants to see what happened. */
static int set_aside(const struct archive *archive, const char *end, char *name)
{
	static const char *const ends[] = {"", "-wal", "-shm"};
	char from[ARCHIVE_PATH_MAX + 8], to[ARCHIVE_PATH_MAX + 16];
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		snprintf(from, sizeof(from), "%s%s", archive->path, ends[i]);
		snprintf(to, sizeof(to), "%s%s%s", archive->path, end, ends[i]);
		if (rename(from, to) != 0 && errno != ENOENT && !r)
			r = -errno;
		else if (!i)
			snprintf(name, ARCHIVE_REASON_MAX, "%s", to);
	}
	return r;
}

static int open_or_replace(struct archive *archive, char *aside, char *reason)
{
	int r = connect_file(archive, reason);

	if (r != -EBADMSG && r != -ESTALE)
		return r;
	disconnect(archive);
	r = set_aside(archive, r == -ESTALE ? ARCHIVE_OLD : ARCHIVE_CORRUPT, aside);
	if (r < 0) {
		snprintf(reason, ARCHIVE_REASON_MAX, "cannot rename the unreadable %s: %s",
			 archive->path, strerror(-r));
		return r;
	}
	return connect_file(archive, reason);
}

static void remember_file(struct archive *archive)
{
	struct stat file;

	if (stat(archive->path, &file) == 0) {
		archive->device = file.st_dev;
		archive->inode = file.st_ino;
	}
}

bool archive_is_there(const struct archive *archive)
{
	struct stat file;

	return stat(archive->path, &file) == 0 && file.st_dev == archive->device &&
	       file.st_ino == archive->inode;
}

/*
 * Replace the reason by who owns what netflowd may not write.  Also root may not: netflowd gives up the right to write
 * into the files of others, and a file of root would later stop the service.
 */
static void explain_access(const struct archive *archive, const char *directory, char *reason)
{
	const char *const paths[] = {directory, archive->path};
	struct stat file;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		if (stat(paths[i], &file) != 0 || file.st_uid == geteuid() ||
		    access(paths[i], W_OK) == 0)
			continue;
		if (geteuid() == 0)
			snprintf(
				reason, ARCHIVE_REASON_MAX,
				"%s belongs to user %u, and a netflowd of root does not write there; start the service, or set history.directory",
				paths[i], file.st_uid);
		else
			snprintf(
				reason, ARCHIVE_REASON_MAX,
				"%s belongs to user %u, and netflowd runs as user %u; `chown -R %u %s`, or set history.directory",
				paths[i], file.st_uid, geteuid(), geteuid(), directory);
		return;
	}
}

int archive_open(struct archive **archive, const char *directory,
		 const struct archive_limits *limits, char *aside, char *reason)
{
	static uint64_t generations;
	struct archive *fresh = calloc(1, sizeof(*fresh));
	int r;

	aside[0] = 0;
	if (!fresh) {
		snprintf(reason, ARCHIVE_REASON_MAX, "out of memory");
		return -ENOMEM;
	}
	fresh->limits = *limits;
	fresh->generation = ++generations;
	if ((size_t)snprintf(fresh->path, sizeof(fresh->path), "%s/" ARCHIVE_FILE, directory) >=
	    sizeof(fresh->path))
		r = -ENAMETOOLONG;
	else
		r = open_or_replace(fresh, aside, reason);
	if (r < 0) {
		if (r != -EPROTONOSUPPORT)
			explain_access(fresh, directory, reason);
		disconnect(fresh);
		free(fresh);
		return r;
	}
	remember_file(fresh);
	*archive = fresh;
	return 0;
}

void archive_free(struct archive **archive)
{
	struct archive *old = *archive;

	if (!old)
		return;
	if (!old->failed)
		archive_set_meta(old, "clean", -1, 1);
	disconnect(old);
	free(old);
	*archive = NULL;
}

bool archive_has_moved(const struct archive *archive)
{
	return archive->moved;
}

void archive_read_begin(struct archive *archive)
{
	archive->begun_us =
		database_number(archive->db, "SELECT min(begun) FROM span WHERE kind = 0", 0);
}

void archive_state(const struct archive *archive, struct archive_state *state)
{
	char path[ARCHIVE_PATH_MAX + 8];
	struct stat file;
	int64_t pages = database_number(archive->db, "PRAGMA page_count", 0);
	int64_t oldest_s = INT64_MAX / US;

	*state = (struct archive_state){0};
	snprintf(path, sizeof(path), "%s-wal", archive->path);
	if (stat(archive->path, &file) == 0)
		state->file_bytes = (uint64_t)file.st_size;
	if (stat(path, &file) == 0)
		state->file_bytes += (uint64_t)file.st_size;
	state->used_bytes =
		(uint64_t)(pages - database_number(archive->db, "PRAGMA freelist_count", 0)) *
		DATABASE_PAGE;
	for (int level = 0; level < PLAN_LEVELS; level++) {
		state->level_s[level] = archive->levels.cut[level];
		if (state->level_s[level] < oldest_s)
			oldest_s = state->level_s[level];
	}
	/* A span can be older than what is left of its numbers. */
	if (archive->begun_us)
		state->oldest_us =
			archive->begun_us > oldest_s * US ? archive->begun_us : oldest_s * US;
}
