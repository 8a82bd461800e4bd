/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "common/json.h"
#include "daemon/history/batch.h"
#include "daemon/history/reader_internal.h"
#include "daemon/history/series.h"

/* ---- records ------------------------------------------------------------------- */

/* A record that is damaged is only one of many. */
static int take_one(struct reader *reader, reader_take take, int64_t time_us, const void *body,
		    size_t size, void *userdata)
{
	int r = take(time_us, body, size, userdata);

	reader->damaged |= r == -EBADMSG;
	return r == -EBADMSG ? 0 : r;
}

static int take_live(struct reader *reader, int kind, reader_take take, void *userdata)
{
	const struct batch *live = reader->request.live;
	int r = 0;

	for (size_t i = live ? live->records : 0; i-- > 0 && r == 0;) {
		const struct batch_record *record = &live->record[i];

		if (record->kind == kind && record->time_us >= reader->request.since_us &&
		    record->time_us < reader->request.until_us)
			r = take_one(reader, take, record->time_us, live->bytes + record->at,
				     record->size, userdata);
	}
	return r;
}

static int take_stored(struct reader *reader, int kind, reader_take take, void *userdata)
{
	OWN_STATEMENT sqlite3_stmt *read = NULL;
	const char *sql =
		reader->incident
			? "SELECT time, body FROM incident_record WHERE incident = ?4 AND kind = ?1 ORDER BY time DESC, id DESC"
			: "SELECT time, body FROM record WHERE kind = ?1 AND time >= ?2 AND time < ?3 ORDER BY time DESC, id DESC";
	int result = SQLITE_DONE, r = 0;

	if (sqlite3_prepare_v2(reader->db, sql, -1, &read, NULL) != SQLITE_OK)
		return reader_failure(reader);
	sqlite3_bind_int(read, 1, kind);
	if (!reader->incident) {
		sqlite3_bind_int64(read, 2, reader->request.since_us);
		sqlite3_bind_int64(read, 3, reader->request.until_us);
	} else {
		sqlite3_bind_int64(read, 4, reader->incident);
	}
	while (r == 0 && (result = sqlite3_step(read)) == SQLITE_ROW)
		r = take_one(reader, take, sqlite3_column_int64(read, 0),
			     sqlite3_column_blob(read, 1), (size_t)sqlite3_column_bytes(read, 1),
			     userdata);
	if (r == 0 && result != SQLITE_DONE)
		r = reader_failure(reader);
	return r;
}

int reader_records(struct reader *reader, int kind, reader_take take, void *userdata)
{
	int r = reader->incident ? 0 : take_live(reader, kind, take, userdata);

	return r == 0 ? take_stored(reader, kind, take, userdata) : r;
}

/* ---- incidents ----------------------------------------------------------------- */

static json_t *incident_of(sqlite3_stmt *read)
{
	const char *alert = (const char *)sqlite3_column_text(read, 4);
	const char *rule = (const char *)sqlite3_column_text(read, 3);

	return json_pack("{s:I, s:I, s:I, s:s, s:b, s:I, s:o*}", "id",
			 (json_int_t)sqlite3_column_int64(read, 0), "time_us",
			 (json_int_t)sqlite3_column_int64(read, 1), "begun_us",
			 (json_int_t)sqlite3_column_int64(read, 2), "rule", rule ? rule : "",
			 "complete", sqlite3_column_int(read, 5), "bytes",
			 (json_int_t)sqlite3_column_int64(read, 6), "event",
			 alert ? json_loads(alert, 0, NULL) : NULL);
}

#define INCIDENT_COLUMNS "SELECT id, time, begun, rule, alert, complete, bytes FROM incident "

int reader_incidents(struct reader *reader, json_t *incidents)
{
	OWN_STATEMENT sqlite3_stmt *read = NULL;
	int result;

	if (sqlite3_prepare_v2(reader->db,
			       INCIDENT_COLUMNS "WHERE time >= ?1 AND time < ?2 ORDER BY time, id",
			       -1, &read, NULL) != SQLITE_OK)
		return reader_failure(reader);
	sqlite3_bind_int64(read, 1, reader->request.since_us);
	sqlite3_bind_int64(read, 2, reader->request.until_us);
	while ((result = sqlite3_step(read)) == SQLITE_ROW)
		if (json_array_append_new(incidents, incident_of(read)) != 0)
			return -ENOMEM;
	return result == SQLITE_DONE ? 0 : reader_failure(reader);
}

int reader_use_incident(struct reader *reader, int64_t id, json_t **incident)
{
	OWN_STATEMENT sqlite3_stmt *read = NULL;
	int result;

	if (sqlite3_prepare_v2(reader->db, INCIDENT_COLUMNS "WHERE id = ?1", -1, &read, NULL) !=
	    SQLITE_OK)
		return reader_failure(reader);
	sqlite3_bind_int64(read, 1, id);
	result = sqlite3_step(read);
	if (result == SQLITE_DONE)
		return -ENODATA;
	if (result != SQLITE_ROW)
		return reader_failure(reader);
	*incident = incident_of(read);
	reader->incident = id;
	return *incident ? 0 : -ENOMEM;
}
