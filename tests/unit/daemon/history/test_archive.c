/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file of the history: every number is found again, exactly, over every boundary of its resolutions. */
#include <errno.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "common/array.h"
#include "daemon/history/plan.h"
#include "tests/unit/daemon/history/scratch.h"

/* A Sunday, 00:00 UTC, on a boundary of every resolution. */
#define START INT64_C(1795305600)

/* ---- a scripted time ------------------------------------------------------------ */

/* The drops of each bucket of 10 s since START, as the script made them. */
static uint64_t *script;
static size_t script_length;

static uint64_t scripted(int64_t from_s, int64_t to_s)
{
	uint64_t sum = 0;

	for (int64_t i = (from_s - START) / 10; i < (to_s - START) / 10; i++)
		if (i >= 0 && i < (int64_t)script_length)
			sum += script[i];
	return sum;
}

static void check_range(int64_t since_s, int64_t until_s)
{
	OWN_READER struct reader *reader = open_reader(since_s, until_s);
	OWN_READER_ROWS struct reader_rows rows = {0};
	struct reader_period period;
	uint64_t expected;

	assert_int_equal(reader_period(reader, false, &period), 0);
	/* It answers for what was asked, and says which buckets it took for that. */
	assert_true(period.from_us <= since_s * US || since_s < START);
	assert_true(since_s * US - period.from_us < period.step_s * US || since_s < START);
	assert_true(period.to_us >= until_s * US);
	assert_true(period.to_us - until_s * US < period.step_s * US);
	expected = scripted(period.from_us / US, period.to_us / US);
	read_drops(reader, &rows);
	assert_int_equal(rows.count, expected ? 1 : 0);
	if (expected) {
		assert_int_equal(rows.row[0].value[DROPS_PACKETS], expected);
		assert_int_equal(rows.row[0].value[DROPS_SEGMENTS], 2 * expected);
		assert_int_equal(rows.row[0].value[DROPS_BYTES], 100 * expected);
		assert_int_equal(rows.row[0].weight, 1);
	}
	reader_period_clear(&period);
}

/* Play `buckets` of 10 s from START on; every `every`-th has drops. */
static struct archive *play(size_t buckets, size_t every)
{
	OWN_SERIES struct series *series = drops_of("NO_SOCKET");
	struct archive *archive = open_archive(&week);

	script = calloc(buckets, sizeof(*script));
	script_length = buckets;
	for (size_t i = 0; i < buckets; i++) {
		int64_t from = START + 10 * (int64_t)i;
		struct batch *batch;

		if (i % every)
			continue;
		script[i] = i * 2654435761u % 1009 + 1;
		batch = new_batch(from, from + 10);
		add_drops(batch, series, script[i]);
		write_batch(archive, batch);
	}
	return archive;
}

EACH_TEST(make_scratch, remove_scratch);

TEST(test_an_hour)
{
	const size_t buckets = 3 * 360 + 17;
	int64_t end = START + 10 * (int64_t)buckets;
	struct archive *archive = play(buckets, 1);

	for (int64_t since = START; since < end; since += 370)
		for (int64_t until = since + 10; until <= end; until += 410)
			check_range(since, until);
	/* Ends that are no boundary: the buckets that overlap count. */
	check_range(START + 3, START + 4);
	check_range(START + 59, START + 61);
	check_range(START + 7199, START + 7201);
	check_range(START - 100000, end);
	archive_free(&archive);
	free(script);
}

/* Ten days: the first three are deleted, days 4 to 7 have 10 min and 2 h only, and so on. */
TEST(test_ten_days)
{
	const size_t buckets = 10 * 8640, every = 7;
	int64_t end = START + 10 * (int64_t)buckets, oldest;
	struct archive *archive = play(buckets, every);
	struct archive_state levels;

	archive_state(archive, &levels);
	oldest = levels.oldest_us / US;
	assert_true(oldest <= end - 7 * 86400 && oldest > end - 7 * 86400 - 3 * 7200);
	assert_true(levels.level_s[0] <= end - 86400 && levels.level_s[0] > end - 86400 - 7200);
	end -= end % 70;
	for (int64_t since = oldest; since < end; since += 43210)
		for (int64_t until = since + 10; until <= end; until += 76540)
			check_range(since, until);
	check_range(oldest, end);
	archive_free(&archive);
	free(script);
}

/* ---- what a file is asked for ------------------------------------------------------ */

static void add_latency(struct batch *batch, struct series *series, unsigned int bucket,
			uint64_t count, uint64_t max_ns)
{
	uint64_t value[LATENCY_VALUES] = {
		[LATENCY_MAX_NS] = max_ns, [LATENCY_SUM_NS] = count * 1000};

	value[LATENCY_BUCKET + bucket] = count;
	value[LATENCY_BUCKET + NF_HIST_BUCKETS - 1] = 1;
	assert_int_equal(batch_add(batch, series, value), 0);
}

/*
 * netflowd began before a bucket's end, and was late at the next multiple of its interval: what it counted then can be
 * of either bucket, so a question about one of them has both.
 */
TEST(test_the_first_interval)
{
	static const struct {
		int64_t from_ms, to_ms;
		int64_t begins_s; /* of a question that begins at START + 1 */
	} cases[] = {{-2000, 1600, -10},
		     {-1100, 700, -10},
		     {-2000, 50, 0},
		     {-50, 3000, 0},
		     {500, 9000, 0}};
	OWN_SERIES struct series *series = drops_of("NO_SOCKET");

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct archive *archive = open_archive(&week);
		struct batch *batch = new_batch(START, START);
		OWN_READER_ROWS struct reader_rows rows = {0};
		struct reader_period period;
		struct reader *reader;

		batch->first = true;
		batch->from_us += cases[i].from_ms * 1000;
		batch->to_us += cases[i].to_ms * 1000;
		add_drops(batch, series, 4217);
		write_batch(archive, batch);
		batch = new_batch(START + 10, START + 20);
		add_drops(batch, series, 7);
		write_batch(archive, batch);
		reader = open_reader(START + 1, START + 20);
		assert_int_equal(reader_period(reader, false, &period), 0);
		read_drops(reader, &rows);
		assert_int_equal(rows.row[0].value[DROPS_PACKETS],
				 cases[i].to_ms == 50 ? 7 : 4217 + 7);
		assert_int_equal(period.from_us < START * US, cases[i].begins_s < 0);
		reader_period_clear(&period);
		reader_free(&reader);
		archive_free(&archive);
		remove_scratch(NULL);
		make_scratch(NULL);
	}
}

/* Histograms merge bucket by bucket; the longest is the maximum. */
TEST(test_histograms)
{
	OWN_SERIES struct series *series =
		series_new(HISTORY_LATENCY, &(struct series_name){.segment = "rx_total"});
	struct archive *archive = open_archive(&week);
	OWN_READER struct reader *reader = NULL;
	OWN_READER_ROWS struct reader_rows rows = {0};
	const uint64_t *value;

	for (unsigned int i = 0; i < 2000; i++) {
		struct batch *batch = new_batch(START + 10 * i, START + 10 * i + 10);

		add_latency(batch, series, i % 100, i, i == 777 ? 999999 : i);
		write_batch(archive, batch);
	}
	archive_free(&archive);
	reader = open_reader(START, START + 20000);
	assert_int_equal(reader_sums(reader, HISTORY_LATENCY, NULL, NULL, &rows), 0);
	assert_int_equal(rows.count, 1);
	value = rows.row[0].value;
	assert_int_equal(value[LATENCY_MAX_NS], 999999);
	assert_int_equal(value[LATENCY_SUM_NS], 1999000ULL * 1000);
	assert_int_equal(value[LATENCY_BUCKET + NF_HIST_BUCKETS - 1], 2000);
	for (unsigned int b = 0; b < 100; b++)
		assert_int_equal(value[LATENCY_BUCKET + b], 20 * b + 100 * (19 * 20 / 2));
}

static bool is_text(const char *own, const char *text)
{
	return own && text ? !strcmp(own, text) : own == text;
}

/* The packets of the row of a namespace by that name (NULL: none), and of a device; -1: there is no such row. */
static int packets_of(const struct reader_rows *rows, uint64_t netns_id, const char *netns,
		      const char *name)
{
	for (size_t i = 0; i < rows->count; i++) {
		const struct device *device = &rows->row[i].name.device;

		if (device->netns_id == netns_id && is_text(device->netns_name, netns) &&
		    is_text(device->name, name))
			return (int)rows->row[i].value[COUNTED_FIRST];
	}
	return -1;
}

/* Under load the name of a namespace is not known in time: rows without it have it from those with it. */
TEST(test_late_names)
{
	static const struct series_name name[] = {
		{.device = {.netns = 4, .netns_id = 40, .netns_name = "blue"}},
		{.device = {.netns = 4, .netns_id = 40}, .unsure = 1},
		{.device = {.name = "d0", .netns = 4, .netns_id = 40}, .unsure = 1},
		/* Another namespace with that number. */
		{.device = {.netns = 4, .netns_id = 41}, .unsure = 1},
		/* It had two names. */
		{.device = {.netns = 5, .netns_id = 50, .netns_name = "red"}},
		{.device = {.netns = 5, .netns_id = 50, .netns_name = "green"}},
		{.device = {.netns = 5, .netns_id = 50}, .unsure = 1},
		/* It has none. */
		{.device = {.netns = 6, .netns_id = 60}},
	};
	struct archive *archive = open_archive(&week);
	struct batch *batch = new_batch(START, START + 10);
	OWN_READER struct reader *reader = NULL;
	OWN_READER_ROWS struct reader_rows rows = {0};

	for (unsigned int i = 0; i < ARRAY_SIZE(name); i++) {
		OWN_SERIES struct series *series = series_new(HISTORY_TRAFFIC, &name[i]);
		const uint64_t value[COUNTED_VALUES] = {[COUNTED_FIRST] = 1u << i};

		assert_int_equal(batch_add(batch, series, value), 0);
	}
	write_batch(archive, batch);
	archive_free(&archive);
	reader = open_reader(START, START + 10);
	assert_int_equal(reader_sums(reader, HISTORY_TRAFFIC, NULL, NULL, &rows), 0);
	assert_int_equal(rows.count, 7);
	assert_int_equal(packets_of(&rows, 40, "blue", NULL), 1 + 2);
	assert_int_equal(packets_of(&rows, 40, "blue", "d0"), 4);
	assert_int_equal(packets_of(&rows, 41, NULL, NULL), 8);
	assert_int_equal(packets_of(&rows, 50, "red", NULL), 16);
	assert_int_equal(packets_of(&rows, 50, "green", NULL), 32);
	assert_int_equal(packets_of(&rows, 50, NULL, NULL), 64);
	assert_int_equal(packets_of(&rows, 60, NULL, NULL), 128);
}

/* What was silent takes no room. */
TEST(test_silence)
{
	struct archive *archive = open_archive(&week);
	struct archive_state before, after;

	for (int i = 0; i < 100; i++)
		write_batch(archive, new_batch(START + 10 * i, START + 10 * i + 10));
	archive_state(archive, &before);
	for (int i = 100; i < 1000; i++)
		write_batch(archive, new_batch(START + 10 * i, START + 10 * i + 10));
	archive_state(archive, &after);
	assert_int_equal(before.used_bytes, after.used_bytes);
	archive_free(&archive);
}

static void check_gap(const struct covered *covered, size_t index, int64_t from_s, int64_t to_s)
{
	assert_int_equal(covered_gap(covered, index)->from_us, from_s * US);
	assert_int_equal(covered_gap(covered, index)->to_us, to_s * US);
}

/* The times between two runs, and before the first, are gaps. */
TEST(test_gaps)
{
	struct archive *archive = open_archive(&week);
	OWN_READER struct reader *reader = NULL;
	struct reader_period period;

	for (int i = 0; i < 30; i++)
		if (i < 10 || i >= 20)
			write_batch(archive, new_batch(START + 10 * i, START + 10 * i + 10));
	archive_free(&archive);
	archive = open_archive(&week);
	write_batch(archive, new_batch(START + 305, START + 310));
	archive_free(&archive);
	reader = open_reader(START, START + 320);
	assert_int_equal(reader_period(reader, false, &period), 0);
	assert_int_equal(period.asked.gaps, 3);
	check_gap(&period.asked, 2, START + 100, START + 200);
	check_gap(&period.asked, 1, START + 300, START + 305);
	check_gap(&period.asked, 0, START + 310, START + 320);
	assert_int_equal(period.asked.covered_us, 205 * US);
	assert_int_equal(period.counted.covered_us, 205 * US);
	reader_period_clear(&period);
}

/* A clock that is set back: the numbers of both times are found, once. */
TEST(test_clock_set_back)
{
	OWN_SERIES struct series *series = drops_of(NULL);
	struct archive *archive = open_archive(&week);

	script = calloc(1000, sizeof(*script));
	script_length = 1000;
	for (int i = 0; i < 1500; i++) {
		/* After 800 buckets, an hour and a half back. */
		int at = i < 800 ? i : i - 540;
		struct batch *batch = new_batch(START + 10 * at, START + 10 * at + 10);

		add_drops(batch, series, 1);
		script[at]++;
		write_batch(archive, batch);
	}
	for (int64_t since = START; since < START + 9000; since += 530)
		for (int64_t until = since + 10; until < START + 9600; until += 770)
			check_range(since, until);
	archive_free(&archive);
	free(script);
}

/* ---- bounds ---------------------------------------------------------------------------- */

/* However much is written, the file and its log stay below their bound, and the newest is there. */
TEST(test_size)
{
	const struct archive_limits small = {.bytes = 8u << 20, .age_s = 7 * 86400};
	struct archive *archive = open_archive(&small);
	OWN_READER struct reader *reader = NULL, *all = NULL;
	struct reader_period counters, recorded;
	struct found_records found;
	uint64_t most = 0;
	int64_t end = 0;

	for (int i = 0; i < 4000; i++) {
		struct batch *batch = new_batch(START + 10 * i, START + 10 * i + 10);
		struct archive_state now;

		for (int j = 0; j < 200; j++) {
			OWN_SERIES struct series *series = NULL;
			char name[64];

			snprintf(name, sizeof(name), "f%d+0x%d", j, i / 100);
			series = drops_of(name);
			add_drops(batch, series, 1);
		}
		for (int j = 0; j < 10; j++) {
			char text[1024];

			snprintf(text, sizeof(text), "%d %0500d", i, j);
			add_record(batch, HISTORY_RECORD_DROP, batch->to_us - 1, text);
		}
		end = batch->to_us / US;
		write_batch(archive, batch);
		archive_state(archive, &now);
		if (now.file_bytes > most)
			most = now.file_bytes;
	}
	print_message("at most %llu bytes\n", (unsigned long long)most);
	assert_true(most <= small.bytes);
	reader = open_reader(end - 100, end);
	found = find_records(reader, HISTORY_RECORD_DROP);
	assert_int_equal(found.count, 100);
	assert_int_equal(strtol(found.newest, NULL, 10), 3999);
	/* Records are deleted before the counters, and answers that are made of them say so. */
	all = open_reader(START, end);
	assert_int_equal(reader_period(all, false, &counters), 0);
	assert_int_equal(reader_period(all, true, &recorded), 0);
	assert_true(recorded.begun_us > counters.begun_us);
	reader_period_clear(&counters);
	reader_period_clear(&recorded);
	archive_free(&archive);
}

/* A bound that is lowered while the file is larger. */
TEST(test_smaller_bound)
{
	const struct archive_limits large = {.bytes = 64u << 20, .age_s = 7 * 86400};
	const struct archive_limits small = {.bytes = 4u << 20, .age_s = 7 * 86400};
	struct archive *archive = open_archive(&large);
	struct archive_state now;

	for (int i = 0; i < 1010; i++) {
		struct batch *batch = new_batch(START + 10 * i, START + 10 * i + 10);

		for (int j = 0; j < 20 && i < 1000; j++) {
			char text[1024];

			snprintf(text, sizeof(text), "%0600d", j);
			add_record(batch, HISTORY_RECORD_DROP, batch->to_us - 1, text);
		}
		if (i == 1000) {
			archive_state(archive, &now);
			assert_true(now.used_bytes > 12u << 20);
			archive_set_limits(archive, &small);
		}
		write_batch(archive, batch);
	}
	archive_state(archive, &now);
	assert_true(now.file_bytes <= small.bytes);
	archive_free(&archive);
}

/* ---- incidents ------------------------------------------------------------------------------ */

TEST(test_incident)
{
	const struct archive_limits day = {.bytes = 64u << 20, .age_s = 86400};
	OWN_SERIES struct series *series = drops_of("X");
	struct archive *archive = open_archive(&day);
	OWN_READER struct reader *reader = NULL;
	OWN_READER_ROWS struct reader_rows rows = {0};
	json_t *incidents = json_array(), *incident = NULL;
	int64_t fired = START + 3605, id;

	for (int i = 0; i < 2 * 8640; i++) {
		struct batch *batch;

		if (i > 400 && i % 360)
			continue;
		batch = new_batch(START + 10 * i, START + 10 * i + 10);
		add_drops(batch, series, 1);
		add_record(batch, HISTORY_RECORD_DROP, batch->from_us, "any");
		if (i == 360 || i == 361)
			assert_int_equal(batch_add_event(batch, fired * US + (i - 360) * 10 * US,
							 "{\"change\":\"firing\"}", "rule"),
					 0);
		write_batch(archive, batch);
	}
	archive_free(&archive);
	/* Two days later, after all else of that time was deleted; the second alert is the first one's. */
	reader = open_reader(START, START + 3 * 86400);
	assert_int_equal(reader_incidents(reader, incidents), 0);
	assert_int_equal(json_array_size(incidents), 1);
	id = json_integer_value(json_object_get(json_array_get(incidents, 0), "id"));
	assert_int_equal(reader_use_incident(reader, id, &incident), 0);
	assert_true(json_is_true(json_object_get(incident, "complete")));
	assert_int_equal(json_integer_value(json_object_get(incident, "time_us")), fired * US);
	read_drops(reader, &rows);
	/* The buckets that overlap the five minutes: 3300 to 3600 inclusive. */
	assert_int_equal(rows.row[0].value[DROPS_PACKETS], 31);
	assert_int_equal(find_records(reader, HISTORY_RECORD_DROP).count, 30);
	reader_free(&reader);
	reader = open_reader(START, START + 3 * 86400);
	json_decref(incident);
	assert_int_equal(reader_use_incident(reader, 99, &incident), -ENODATA);
	json_decref(incidents);
}

/* ---- more rows than an answer has ----------------------------------------------------------- */

#define NAMESPACES (READER_ROWS_MAX + 8)
#define MANY 9000

static bool by_netns(struct series_name *name, bool full, void *userdata)
{
	(void)userdata;
	name->device = (struct device){.netns = full ? 0 : 1 + name->device.netns % NAMESPACES};
	name->other = full;
	return true;
}

/* What has a row keeps it, whatever comes after there are enough rows. */
TEST(test_more_rows_than_an_answer_has)
{
	struct archive *archive = open_archive(&week);
	struct batch *batch = new_batch(START, START + 10);
	OWN_READER struct reader *reader = NULL;
	OWN_READER_ROWS struct reader_rows rows = {0};
	uint64_t packets[3] = {0};

	for (uint32_t i = 0; i < MANY; i++) {
		const struct series_name name = {.device = {.name = "d", .netns = i}};
		OWN_SERIES struct series *series = series_new(HISTORY_TRAFFIC, &name);
		const uint64_t value[COUNTED_VALUES] = {[COUNTED_FIRST] = 1};

		assert_int_equal(batch_add(batch, series, value), 0);
	}
	write_batch(archive, batch);
	archive_free(&archive);
	reader = open_reader(START, START + 10);
	assert_int_equal(reader_sums(reader, HISTORY_TRAFFIC, by_netns, NULL, &rows), 0);
	assert_int_equal(rows.count, READER_ROWS_MAX + 1);
	for (size_t i = 0; i < rows.count; i++)
		packets[rows.row[i].name.other ? 2 : rows.row[i].value[COUNTED_FIRST] - 1] +=
			rows.row[i].value[COUNTED_FIRST];
	/* Those of namespaces with one device, with two, and of all others. */
	assert_int_equal(packets[0], READER_ROWS_MAX - (MANY - NAMESPACES));
	assert_int_equal(packets[1], 2 * (MANY - NAMESPACES));
	assert_int_equal(packets[2], NAMESPACES - READER_ROWS_MAX);
}

/* ---- files that are not as they should be ------------------------------------------------------ */

static void run_sql(const char *sql)
{
	char path[128];
	sqlite3 *db;

	snprintf(path, sizeof(path), "%s/" ARCHIVE_FILE, scratch);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

/* Of two devices, the first is damaged by `sql`: it is left out, and the reader knows it. */
static void check_damaged(const char *sql)
{
	static const struct series_name name[] = {{.device = {.name = "d0"}},
						  {.device = {.name = "d1"}}};
	struct archive *archive = open_archive(&week);
	struct batch *batch = new_batch(START, START + 10);
	OWN_READER struct reader *reader = NULL;
	OWN_READER_ROWS struct reader_rows rows = {0};
	uint64_t packets = 0;

	for (unsigned int i = 0; i < ARRAY_SIZE(name); i++) {
		OWN_SERIES struct series *series = series_new(HISTORY_TRAFFIC, &name[i]);
		const uint64_t value[COUNTED_VALUES] = {[COUNTED_FIRST] = 4217 + i,
							[COUNTED_FIRST + 1] = 19};

		assert_int_equal(batch_add(batch, series, value), 0);
	}
	write_batch(archive, batch);
	archive_free(&archive);
	run_sql(sql);
	reader = open_reader(START, START + 10);
	assert_false(reader_is_damaged(reader));
	assert_int_equal(reader_sums(reader, HISTORY_TRAFFIC, NULL, NULL, &rows), 0);
	for (size_t i = 0; i < rows.count; i++)
		packets += rows.row[i].value[COUNTED_FIRST];
	assert_int_equal(packets, 4218);
	assert_true(reader_is_damaged(reader));
}

TEST(test_damaged_name)
{
	check_damaged("UPDATE series SET name = x'ff00' WHERE id = (SELECT min(id) FROM series)");
}

/* The first value of the vector could still be read. */
TEST(test_damaged_vector)
{
	check_damaged("UPDATE bucket SET value = substr(value, 1, length(value) - 1)"
		      " WHERE series = (SELECT min(id) FROM series)");
}

TEST(test_newer_version)
{
	char aside[ARCHIVE_REASON_MAX], reason[ARCHIVE_REASON_MAX] = "";
	struct archive *archive = open_archive(&week);

	archive_free(&archive);
	run_sql("PRAGMA user_version = 99");
	assert_int_equal(archive_open(&archive, scratch, &week, aside, reason), -EPROTONOSUPPORT);
	assert_non_null(strstr(reason, "has version 99"));
	assert_string_equal(aside, "");
	run_sql("SELECT * FROM bucket");
}

/* A file of an older format is renamed, and a new one begun. */
TEST(test_older_format)
{
	static const char *const formats[] = {
		"PRAGMA application_id = 0x6e666869; PRAGMA user_version = 8",
		"PRAGMA user_version = 1",
	};
	char aside[ARCHIVE_REASON_MAX], reason[ARCHIVE_REASON_MAX] = "";
	struct archive *archive = open_archive(&week);

	archive_free(&archive);
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		run_sql(formats[i]);
		assert_int_equal(archive_open(&archive, scratch, &week, aside, reason), 0);
		assert_non_null(strstr(aside, "/history.db" ARCHIVE_OLD));
		assert_int_equal(unlink(aside), 0);
		archive_free(&archive);
	}
	archive = open_archive(&week);
	archive_free(&archive);
}

TEST(test_other_program)
{
	char aside[ARCHIVE_REASON_MAX], reason[ARCHIVE_REASON_MAX] = "";
	struct archive *archive = NULL;

	run_sql("CREATE TABLE mine (x)");
	assert_int_equal(archive_open(&archive, scratch, &week, aside, reason), -EPROTONOSUPPORT);
	assert_non_null(strstr(reason, "of another program"));
	run_sql("SELECT x FROM mine");
}

/* A file of anything is renamed, and a new one begun. */
TEST(test_corrupt)
{
	char aside[ARCHIVE_REASON_MAX], reason[ARCHIVE_REASON_MAX] = "", path[128];
	struct archive *archive = NULL;
	struct stat file;
	FILE *to;

	snprintf(path, sizeof(path), "%s/" ARCHIVE_FILE, scratch);
	to = fopen(path, "w");
	for (int i = 0; i < 10000; i++)
		fprintf(to, "%d nonsense\n", i);
	fclose(to);
	assert_int_equal(archive_open(&archive, scratch, &week, aside, reason), 0);
	assert_non_null(strstr(aside, "history.db.corrupt"));
	assert_int_equal(stat(aside, &file), 0);
	write_batch(archive, new_batch(START, START + 10));
	archive_free(&archive);
}

/* Damage in the middle of a file that was not closed. */
TEST(test_damaged)
{
	OWN_SERIES struct series *series = drops_of(NULL);
	char aside[ARCHIVE_REASON_MAX], reason[ARCHIVE_REASON_MAX] = "", path[128], page[4096];
	struct archive *archive = open_archive(&week);
	FILE *file;

	for (int i = 0; i < 1000; i++) {
		struct batch *batch = new_batch(START + 10 * i, START + 10 * i + 10);

		add_drops(batch, series, 1);
		write_batch(archive, batch);
	}
	archive_free(&archive);
	run_sql("UPDATE meta SET value = 0 WHERE name = 'clean'");
	snprintf(path, sizeof(path), "%s/" ARCHIVE_FILE, scratch);
	memset(page, 0x5a, sizeof(page));
	file = fopen(path, "r+");
	for (int i = 3; i < 12; i++) {
		fseek(file, i * (long)sizeof(page), SEEK_SET);
		fwrite(page, sizeof(page), 1, file);
	}
	fclose(file);
	assert_int_equal(archive_open(&archive, scratch, &week, aside, reason), 0);
	assert_non_null(strstr(aside, "history.db.corrupt"));
	write_batch(archive, new_batch(START, START + 10));
	archive_free(&archive);
}

TEST(test_removed)
{
	struct archive *archive = open_archive(&week);
	char path[128];

	assert_true(archive_is_there(archive));
	snprintf(path, sizeof(path), "%s/" ARCHIVE_FILE, scratch);
	unlink(path);
	assert_false(archive_is_there(archive));
	archive_free(&archive);
}

/* The alert fired after its interval's drops were read: they come with the next interval, in the next bucket. */
TEST(test_incident_while_reading)
{
	const struct archive_limits day = {.bytes = 64u << 20, .age_s = 86400};
	OWN_SERIES struct series *series = drops_of("X");
	struct archive *archive = open_archive(&day);
	OWN_READER struct reader *reader = NULL;
	OWN_READER_ROWS struct reader_rows rows = {0};
	int64_t fired_us = (START + 10) * US - 1000;
	json_t *incidents = json_array(), *incident = NULL;
	struct batch *batch = new_batch(START, START + 10);

	batch->seen_us = fired_us - 1;
	batch_add_event(batch, fired_us, "{}", "rule");
	write_batch(archive, batch);
	batch = new_batch(START + 10, START + 20);
	batch->seen_us = batch->to_us - 1;
	add_drops(batch, series, 7);
	write_batch(archive, batch);
	archive_free(&archive);
	reader = open_reader(START, START + 86400);
	assert_int_equal(reader_incidents(reader, incidents), 0);
	assert_int_equal(json_array_size(incidents), 1);
	assert_int_equal(reader_use_incident(reader,
					     json_integer_value(json_object_get(
						     json_array_get(incidents, 0), "id")),
					     &incident),
			 0);
	assert_true(json_is_true(json_object_get(incident, "complete")));
	read_drops(reader, &rows);
	assert_int_equal(rows.count, 1);
	assert_int_equal(rows.row[0].value[DROPS_PACKETS], 7);
	json_decref(incident);
	json_decref(incidents);
}
