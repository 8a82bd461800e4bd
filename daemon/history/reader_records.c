/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "common/json.h"
#include "daemon/history/batch.h"
#include "daemon/history/reader_internal.h"
#include "daemon/history/series.h"
#include "daemon/json/json.h"

/* ---- records ------------------------------------------------------------------- */

/* Newest first, up to `limit` of those that are wanted; the others are counted. */
struct found {
	int kind;
	json_t *newest;
	size_t limit, matched;
	reader_wants wants;
	void *userdata;
};

static int add_record(struct found *found, const char *text)
{
	OWN_JSON json_t *record = text ? json_loads(text, 0, NULL) : NULL;

	/* A text that is no JSON can only come from a damaged file. */
	if (!record || (found->wants && !found->wants(record, found->userdata)))
		return 0;
	if (found->matched++ >= found->limit)
		return 0;
	return json_array_append(found->newest, record) == 0 ? 0 : -ENOMEM;
}

static int add_live_records(struct reader *reader, int kind, struct found *found)
{
	const struct batch *live = reader->request.live;
	int r = 0;

	for (size_t i = live ? live->records : 0; i-- > 0 && r == 0;) {
		const struct batch_record *record = &live->record[i];

		if (record->kind == kind && record->time_us >= reader->request.since_us &&
		    record->time_us < reader->request.until_us)
			r = add_record(found, record->text);
	}
	return r;
}

static int add_stored_records(struct reader *reader, int kind, struct found *found)
{
	OWN_STATEMENT sqlite3_stmt *read = NULL;
	const char *sql =
		reader->incident
			? "SELECT text FROM incident_record WHERE incident = ?4 AND kind = ?1 ORDER BY time DESC, id DESC"
			: "SELECT text FROM record WHERE kind = ?1 AND time >= ?2 AND time < ?3 ORDER BY time DESC, id DESC";
	int result, r = 0;

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
		r = add_record(found, (const char *)sqlite3_column_text(read, 0));
	if (r == 0 && result != SQLITE_DONE)
		r = reader_failure(reader);
	return r;
}

int reader_records(struct reader *reader, int kind, size_t limit, reader_wants wants,
		   void *userdata, json_t *records, size_t *matched)
{
	OWN_JSON json_t *newest = json_array();
	struct found found = {.kind = kind,
			      .newest = newest,
			      .limit = limit,
			      .wants = wants,
			      .userdata = userdata};
	int r = newest ? 0 : -ENOMEM;

	if (r == 0 && !reader->incident)
		r = add_live_records(reader, kind, &found);
	if (r == 0)
		r = add_stored_records(reader, kind, &found);
	for (size_t i = json_array_size(newest); i-- > 0 && r == 0;)
		if (json_array_append(records, json_array_get(newest, i)) != 0)
			r = -ENOMEM;
	*matched = found.matched;
	return r;
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
