/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records and events of alerts in the file; and incidents: the minutes before an alert, as copies that stay. */
#include "daemon/history/archive_internal.h"
#include "daemon/history/batch.h"
#include "daemon/history/plan.h"
#include "daemon/history/series.h"

#define US INT64_C(1000000)
/* An incident that is ended later than this was open when netflowd stopped: the new interval is not about it. */
#define LATE_US (60 * US)

/* Events are text, records are not. */
static void bind_body(sqlite3_stmt *insert, const struct batch *batch,
		      const struct batch_record *record)
{
	const uint8_t *body = batch->bytes + record->at;

	if (record->kind == HISTORY_RECORD_ALERT)
		sqlite3_bind_text(insert, 4, (const char *)body, (int)record->size, SQLITE_STATIC);
	else
		sqlite3_bind_blob(insert, 4, body, (int)record->size, SQLITE_STATIC);
}

int archive_add_record(struct archive *archive, const struct batch *batch,
		       const struct batch_record *record)
{
	sqlite3_stmt *insert = archive_prepare(archive, ADD_RECORD);
	int result;

	if (!insert)
		return SQLITE_ERROR;
	sqlite3_bind_int(insert, 1, record->kind);
	sqlite3_bind_int64(insert, 2, record->time_us);
	sqlite3_bind_int(insert, 3, 1);
	bind_body(insert, batch, record);
	result = sqlite3_step(insert);
	sqlite3_reset(insert);
	return result == SQLITE_DONE ? SQLITE_OK : result;
}

/* A rule that fires again within the five minutes has them in its last incident. */
int archive_begin_incident(struct archive *archive, const struct batch *batch,
			   const struct batch_record *record)
{
	sqlite3_stmt *find = archive_prepare(archive, FIND_INCIDENT);
	sqlite3_stmt *insert = archive_prepare(archive, ADD_INCIDENT);
	int result;

	if (!find || !insert)
		return SQLITE_ERROR;
	sqlite3_bind_text(find, 1, record->incident, -1, SQLITE_STATIC);
	sqlite3_bind_int64(find, 2, record->time_us - ARCHIVE_INCIDENT_S * US);
	sqlite3_bind_int64(find, 3, record->time_us);
	result = sqlite3_step(find);
	sqlite3_reset(find);
	if (result != SQLITE_DONE)
		return result == SQLITE_ROW ? SQLITE_OK : result;
	sqlite3_bind_int64(insert, 1, record->time_us);
	sqlite3_bind_int64(insert, 2, record->time_us - ARCHIVE_INCIDENT_S * US);
	sqlite3_bind_text(insert, 3, record->incident, -1, SQLITE_STATIC);
	bind_body(insert, batch, record);
	result = sqlite3_step(insert);
	sqlite3_reset(insert);
	return result == SQLITE_DONE ? SQLITE_OK : result;
}

/* `last`: a later bucket that also has counts of before the alert. */
static int copy_incident(struct archive *archive, int64_t id, int64_t begun_us, int64_t time_us,
			 int64_t last)
{
	int64_t from = plan_floor(begun_us / US, 0);
	int64_t to = time_us / US > last ? time_us / US : last;
	int result = SQLITE_OK;

	for (int kind = 1; kind < HISTORY_KIND_END && result == SQLITE_OK; kind++)
		result = archive_change(archive, COPY_BUCKETS, 4,
					(const int64_t[]){id, kind, from, to});
	/* The alert itself, and the records that came with it. */
	for (int kind = 0; kind < HISTORY_RECORD_KINDS && result == SQLITE_OK; kind++)
		result = archive_change(archive, COPY_RECORDS, 4,
					(const int64_t[]){id, kind, begun_us, time_us});
	if (result == SQLITE_OK)
		result = archive_change(archive, END_INCIDENT, 1, &id);
	return result;
}

/*
 * An alert can fire while the parts of an interval are being read.  What it is about then comes with the next interval,
 * which may begin in the next bucket.
 */
int archive_end_incidents(struct archive *archive, const struct batch *batch, int64_t bucket)
{
	int64_t seen_us = batch->seen_us ? batch->seen_us : batch->to_us;
	int result = SQLITE_OK;

	while (result == SQLITE_OK) {
		sqlite3_stmt *open = archive_prepare(archive, OPEN_INCIDENT);
		int64_t id, begun, time;

		if (!open)
			return SQLITE_ERROR;
		result = sqlite3_step(open);
		id = result == SQLITE_ROW ? sqlite3_column_int64(open, 0) : 0;
		begun = sqlite3_column_int64(open, 1);
		time = sqlite3_column_int64(open, 2);
		sqlite3_reset(open);
		if (result != SQLITE_ROW)
			return result == SQLITE_DONE ? SQLITE_OK : result;
		/* A clock that was set back does not keep it open for ever. */
		if (time > seen_us && time < seen_us + ARCHIVE_INCIDENT_S * US)
			return SQLITE_OK;
		result = copy_incident(archive, id, begun, time,
				       time >= batch->from_us - LATE_US ? bucket : 0);
	}
	return result;
}

static int delete_incident(struct archive *archive, int64_t id)
{
	int result = archive_change(archive, DELETE_INCIDENT_BUCKETS, 1, &id);

	if (result == SQLITE_OK)
		result = archive_change(archive, DELETE_INCIDENT_RECORDS, 1, &id);
	return result == SQLITE_OK ? archive_change(archive, DELETE_INCIDENT, 1, &id) : result;
}

/* Incidents have an eighth of the room. */
int archive_trim_incidents(struct archive *archive, int64_t now)
{
	int64_t least_us = INT64_MIN;
	int result = SQLITE_OK;

	if (archive->limits.age_s < INT64_MAX / US / ARCHIVE_INCIDENT_AGES)
		least_us = (now - ARCHIVE_INCIDENT_AGES * archive->limits.age_s) * US;
	while (result == SQLITE_OK) {
		sqlite3_stmt *oldest = archive_prepare(archive, OLDEST_INCIDENT);
		int64_t id, time, bytes, count;

		if (!oldest)
			return SQLITE_ERROR;
		result = sqlite3_step(oldest);
		id = result == SQLITE_ROW ? sqlite3_column_int64(oldest, 0) : 0;
		time = sqlite3_column_int64(oldest, 1);
		bytes = sqlite3_column_int64(oldest, 2);
		count = sqlite3_column_int64(oldest, 3);
		sqlite3_reset(oldest);
		if (result != SQLITE_ROW)
			return result == SQLITE_DONE ? SQLITE_OK : result;
		if (time >= least_us && count <= ARCHIVE_INCIDENTS_MAX &&
		    (uint64_t)bytes <= archive->limits.bytes / 8)
			return SQLITE_OK;
		result = delete_incident(archive, id);
	}
	return result;
}
