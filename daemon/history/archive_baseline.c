/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the drops of the last day from the file, for the baseline of a daemon that has just started. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "daemon/core/coverage.h"
#include "daemon/history/archive_internal.h"
#include "daemon/history/baseline.h"
#include "daemon/history/baseline_key.h"
#include "daemon/history/database.h"
#include "daemon/history/plan.h"
#include "daemon/history/series.h"
#include "daemon/history/series_name.h"
#include "daemon/history/vector.h"
#include "daemon/rows/drop_row.h"

#define US INT64_C(1000000)

/* The level whose buckets are those of the baseline. */
#define LEVEL 2
_Static_assert(BASELINE_STEP_S == 600, "level 2 has buckets of ten minutes");

/* Keys of series that are kept while reading, by the series' number: 1.3 MiB, freed after that. */
#define KEPT 4096

struct kept {
	int64_t series; /* 0: none */
	char key[BASELINE_KEY_MAX];
};

struct load {
	struct archive *archive;
	struct baseline *baseline;
	struct kept *kept;
	sqlite3_stmt *find;
};

/* The key of a series; "": it has none. */
static const char *key_of(struct load *load, int64_t series)
{
	struct kept *kept = &load->kept[(uint64_t)series % KEPT];
	struct drop_row row = {0};

	if (kept->series == series)
		return kept->key;
	kept->series = series;
	kept->key[0] = 0;
	sqlite3_bind_int64(load->find, 1, series);
	if (sqlite3_step(load->find) == SQLITE_ROW &&
	    (series_name_decode_drops(&row, sqlite3_column_blob(load->find, 0),
				      (size_t)sqlite3_column_bytes(load->find, 0)) < 0 ||
	     !baseline_key_of(&row, kept->key)))
		kept->key[0] = 0;
	sqlite3_reset(load->find);
	return kept->key;
}

static int add_bucket(struct load *load, sqlite3_stmt *read)
{
	const char *key = key_of(load, sqlite3_column_int64(read, 0));
	uint64_t value[DROPS_VALUES] = {0};

	if (!key[0])
		return 0;
	if (vector_add(value, DROPS_VALUES, sqlite3_column_blob(read, 2),
		       (size_t)sqlite3_column_bytes(read, 2)) < 0)
		return -EBADMSG;
	return baseline_add(load->baseline, key, sqlite3_column_int64(read, 1),
			    value[DROPS_PACKETS]);
}

static int read_level(struct load *load, sqlite3_stmt *read, int level, int64_t from, int64_t to)
{
	int result = SQLITE_DONE, r = 0;

	sqlite3_bind_int(read, 1, level);
	sqlite3_bind_int(read, 2, HISTORY_DROPS);
	sqlite3_bind_int64(read, 3, from);
	sqlite3_bind_int64(read, 4, to);
	while (r == 0 && from < to && (result = sqlite3_step(read)) == SQLITE_ROW)
		r = add_bucket(load, read);
	sqlite3_reset(read);
	return r < 0 || result == SQLITE_DONE ? r : database_failure(load->archive->db, NULL, 0);
}

/* Coarse buckets, and finer ones where these are not yet made. */
static int read_buckets(struct load *load, int64_t from)
{
	const struct plan_levels *levels = &load->archive->levels;
	OWN_STATEMENT sqlite3_stmt *read = NULL;
	int64_t at = from;
	int r = 0;

	if (sqlite3_prepare_v2(load->archive->db,
			       "SELECT series, time, value FROM bucket"
			       " WHERE level = ?1 AND kind = ?2 AND time >= ?3 AND time < ?4",
			       -1, &read, NULL) != SQLITE_OK)
		return database_failure(load->archive->db, NULL, 0);
	for (int level = LEVEL; level >= 0 && r == 0; level--) {
		int64_t end = level ? levels->rolled[level] : INT64_MAX;

		r = read_level(load, read, level, at, end);
		if (end > at)
			at = end;
	}
	return r;
}

static int read_spans(struct load *load, int64_t from_us)
{
	OWN_STATEMENT sqlite3_stmt *spans = NULL;
	int result = sqlite3_prepare_v2(
		load->archive->db,
		"SELECT begun, ended, (SELECT text FROM coverage WHERE coverage.id = span.coverage)"
		" FROM span WHERE kind = 0 AND ended > ?1",
		-1, &spans, NULL);

	if (result != SQLITE_OK)
		return database_failure(load->archive->db, NULL, 0);
	sqlite3_bind_int64(spans, 1, from_us);
	while ((result = sqlite3_step(spans)) == SQLITE_ROW) {
		int64_t begun = sqlite3_column_int64(spans, 0);
		OWN_COVERAGE struct coverage coverage = {0};
		const char *text = (const char *)sqlite3_column_text(spans, 2);
		int r = text ? coverage_read(&coverage, text) : -EBADMSG;

		if (r < 0)
			return r;
		if (!coverage_lacks(&coverage, COVERAGE_DROPS))
			baseline_cover_time(load->baseline, begun > from_us ? begun : from_us,
					    sqlite3_column_int64(spans, 1));
	}
	return result == SQLITE_DONE ? 0 : database_failure(load->archive->db, NULL, 0);
}

int archive_read_baseline(struct archive *archive, struct baseline *baseline, int64_t now_us)
{
	struct load load = {.archive = archive, .baseline = baseline};
	OWN_FREE struct kept *kept = calloc(KEPT, sizeof(*kept));
	OWN_STATEMENT sqlite3_stmt *find = NULL;
	int64_t from = plan_floor(now_us / US, LEVEL) - (BASELINE_BUCKETS - 1) * BASELINE_STEP_S;
	int r;

	if (!kept)
		return -ENOMEM;
	if (sqlite3_prepare_v2(archive->db, "SELECT name FROM series WHERE id = ?1", -1, &find,
			       NULL) != SQLITE_OK)
		return database_failure(archive->db, NULL, 0);
	load.kept = kept;
	load.find = find;
	/* What is older than that was deleted, or exists in coarser buckets only. */
	if (from < archive->levels.cut[LEVEL])
		from = archive->levels.cut[LEVEL];
	baseline_set_present(baseline, now_us);
	r = read_spans(&load, from * US);
	return r < 0 ? r : read_buckets(&load, from);
}
