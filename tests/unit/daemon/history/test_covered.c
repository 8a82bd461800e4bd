/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Covered time and gaps: by arithmetic, and as the file of the history answers over restarts and resolutions. */
#include "common/json.h"
#include "daemon/history/covered.h"
#include "daemon/history/plan.h"
#include "tests/unit/daemon/history/scratch.h"

/* A Sunday, 00:00 UTC, on a boundary of every resolution. */
#define START INT64_C(1795305600)

static void check_gap(const struct covered *covered, size_t index, int64_t from_us, int64_t to_us)
{
	assert_true(index < covered_kept(covered));
	assert_int_equal(covered_gap(covered, index)->from_us, from_us);
	assert_int_equal(covered_gap(covered, index)->to_us, to_us);
}

/* ---- arithmetic --------------------------------------------------------------------- */

TEST(test_all)
{
	struct covered covered;

	covered_begin(&covered, 10 * US, 70 * US);
	covered_add(&covered, 0, 30 * US);
	/* Less than 0.1 s apart, and one that overlaps. */
	covered_add(&covered, 30 * US + 100000, 50 * US);
	covered_add(&covered, 40 * US, 90 * US);
	covered_end(&covered);
	assert_int_equal(covered.gaps, 0);
	assert_int_equal(covered.covered_us, 60 * US - 100000);
}

TEST(test_nothing)
{
	struct covered covered;

	covered_begin(&covered, 10 * US, 20 * US);
	covered_add(&covered, 0, 10 * US);
	covered_add(&covered, 20 * US, 30 * US);
	covered_end(&covered);
	assert_int_equal(covered.covered_us, 0);
	assert_int_equal(covered.gaps, 1);
	check_gap(&covered, 0, 10 * US, 20 * US);
	/* No time at all. */
	covered_begin(&covered, 10 * US, 10 * US);
	covered_add(&covered, 0, 20 * US);
	covered_end(&covered);
	assert_int_equal(covered.covered_us, 0);
	assert_int_equal(covered.gaps, 0);
}

/* The newest are kept, all are counted, and the covered time is that of all. */
TEST(test_many_gaps)
{
	const int64_t spans = 10000;
	struct covered covered;

	covered_begin(&covered, 0, spans * 10 * US);
	for (int64_t i = 0; i < spans; i++)
		covered_add(&covered, i * 10 * US, (i * 10 + 7) * US);
	covered_end(&covered);
	assert_int_equal(covered.gaps, spans);
	assert_int_equal(covered.covered_us, spans * 7 * US);
	assert_int_equal(covered_kept(&covered), COVERED_GAPS);
	for (int64_t i = 0; i < COVERED_GAPS; i++)
		check_gap(&covered, (size_t)i, ((spans - 1 - i) * 10 + 7) * US,
			  (spans - i) * 10 * US);
}

/* ---- the file ----------------------------------------------------------------------------- */

/* Recorded from `from_s` to `to_s` in steps of 10 s, by a daemon of its own. */
static void record(int64_t from_s, int64_t to_s)
{
	struct archive *archive = open_archive(&week);

	for (int64_t at = from_s; at < to_s; at += 10)
		write_batch(archive, new_batch(at, at + 10 < to_s ? at + 10 : to_s));
	archive_free(&archive);
}

static struct reader_period ask(int64_t since_s, int64_t until_s)
{
	OWN_READER struct reader *reader = open_reader(since_s, until_s);
	struct reader_period period;

	assert_int_equal(reader_period(reader, false, &period), 0);
	coverage_clear(&period.coverage);
	return period;
}

/* It began in the middle of a bucket of each resolution: nothing is said about the time before. */
TEST_WITH(test_begin, make_scratch, remove_scratch)
{
	const int64_t begun = START + 7200 + 1823;
	struct reader_period period;

	record(begun, begun + 300);
	period = ask(begun - 3600, begun + 60);
	assert_int_equal(period.begun_us, begun * US);
	assert_int_equal(period.from_us, begun * US);
	assert_int_equal(period.asked.covered_us, 60 * US);
	assert_int_equal(period.asked.gaps, 1);
	check_gap(&period.asked, 0, (begun - 3600) * US, begun * US);
	/* In the same bucket of 2 h, and long before. */
	for (int64_t ago = 600; ago < 200000; ago *= 8) {
		period = ask(begun - ago, begun - ago + 500);
		assert_int_equal(period.asked.covered_us, 0);
		assert_int_equal(period.counted.covered_us, 0);
		assert_int_equal(period.before_us, 0);
		assert_int_equal(period.after_us, begun * US);
	}
	/* After its end. */
	period = ask(begun + 400, begun + 500);
	assert_int_equal(period.asked.covered_us, 0);
	assert_int_equal(period.before_us, (begun + 300) * US);
	assert_int_equal(period.after_us, 0);
	/* All of it, whenever that was. */
	{
		const struct reader_request all = {.directory = scratch,
						   .since_us = READER_BEGINNING,
						   .until_us = (begun + 300) * US,
						   .deadline_ns = UINT64_MAX};
		OWN_READER struct reader *reader = NULL;

		assert_int_equal(reader_open(&reader, &all), 0);
		assert_int_equal(reader_period(reader, false, &period), 0);
		assert_int_equal(period.since_us, begun * US);
		assert_int_equal(period.asked.covered_us, 300 * US);
		assert_int_equal(period.asked.gaps, 0);
		reader_period_clear(&period);
	}
}

static void check_restarts(int64_t since_s, int64_t until_s, const int64_t (*run)[2], size_t runs)
{
	struct reader_period period = ask(since_s, until_s);
	int64_t asked = 0, counted = 0;

	for (size_t i = 0; i < runs; i++) {
		int64_t from = run[i][0] * US, to = run[i][1] * US, begin, end;

		begin = from > since_s * US ? from : since_s * US;
		end = to < until_s * US ? to : until_s * US;
		asked += end > begin ? end - begin : 0;
		begin = from > period.from_us ? from : period.from_us;
		end = to < period.to_us ? to : period.to_us;
		counted += end > begin ? end - begin : 0;
	}
	assert_int_equal(period.asked.covered_us, asked);
	assert_int_equal(period.counted.covered_us, counted);
	/* Each gap is of the time that was asked for, and together with what is covered they are all of it. */
	assert_true(covered_kept(&period.asked) == period.asked.gaps);
	for (size_t i = 0; i < covered_kept(&period.asked); i++) {
		const struct covered_gap *gap = covered_gap(&period.asked, i);

		assert_true(gap->from_us >= since_s * US && gap->to_us <= until_s * US);
		assert_true(!i || gap->to_us <= covered_gap(&period.asked, i - 1)->from_us);
		asked += gap->to_us - gap->from_us;
	}
	assert_int_equal(asked, (until_s - since_s) * US);
	if (period.asked.covered_us)
		return;
	for (size_t i = 0; i + 1 < runs; i++)
		if (run[i][1] <= since_s && until_s <= run[i + 1][0]) {
			assert_int_equal(period.before_us, run[i][1] * US);
			assert_int_equal(period.after_us, run[i + 1][0] * US);
		}
}

/* Restarts within and over the buckets of each resolution, asked for from and to everywhere. */
TEST_WITH(test_restarts, make_scratch, remove_scratch)
{
	static const int64_t run[][2] = {
		{START + 1, START + 33},	  {START + 41, START + 58},
		{START + 61, START + 590},	  {START + 645, START + 1260},
		{START + 1860, START + 7190},	  {START + 7205, START + 14400},
		{START + 22000, START + 22035},	  {START + 22040, START + 22090},
		{START + 100000, START + 100100}, {START + 200000, START + 207200},
	};
	const size_t runs = sizeof(run) / sizeof(run[0]);
	static const int64_t lengths[] = {3, 10, 61, 600, 3601, 7200, 50000, 210000};

	for (size_t i = 0; i < runs; i++)
		record(run[i][0], run[i][1]);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		for (int64_t at = START - 5000; at < START + 207000; at += lengths[i] / 2 + 1297)
			check_restarts(at, at + lengths[i], run, runs);
}

/* A run of ten days, of which the first are deleted: they are not covered, though the run was. */
TEST_WITH(test_deleted, make_scratch, remove_scratch)
{
	struct archive *archive = open_archive(&week);
	struct archive_state kept;
	struct reader_period period;
	int64_t oldest;

	for (int64_t at = START; at < START + 10 * 86400; at += 600)
		write_batch(archive, new_batch(at, at + 600));
	archive_state(archive, &kept);
	archive_free(&archive);
	oldest = kept.oldest_us / US;
	assert_true(oldest > START + 2 * 86400 && oldest <= START + 3 * 86400);
	period = ask(START + 86400, START + 2 * 86400);
	assert_int_equal(period.asked.covered_us, 0);
	assert_int_equal(period.before_us, 0);
	assert_int_equal(period.after_us, oldest * US);
	period = ask(oldest - 3600, oldest + 3600);
	assert_int_equal(period.begun_us, oldest * US);
	assert_int_equal(period.asked.covered_us, 3600 * US);
	check_gap(&period.asked, 0, (oldest - 3600) * US, oldest * US);
}

/* Records are deleted first; the numbers of their time stay, and only they are covered. */
TEST_WITH(test_records, make_scratch, remove_scratch)
{
	const struct archive_limits small = {.bytes = ARCHIVE_BYTES_MIN, .age_s = 7 * 86400};
	const int intervals = 600, each = 20;
	struct archive *archive = open_archive(&small);
	OWN_READER struct reader *reader = NULL;
	struct reader_period period;
	int64_t kept_us;

	for (int i = 0; i < intervals; i++) {
		int64_t from = START + 10 * i;
		struct batch *batch = new_batch(from, from + 10);

		for (int j = 0; j < each; j++) {
			char text[1024];

			snprintf(text, sizeof(text), "%0700d", j);
			add_record(batch, HISTORY_RECORD_SLOTS, from * US + 1, text);
		}
		write_batch(archive, batch);
	}
	archive_free(&archive);
	period = ask(START, START + 10 * intervals);
	assert_int_equal(period.asked.gaps, 0);
	reader = open_reader(START, START + 10 * intervals);
	assert_int_equal(reader_period(reader, true, &period), 0);
	kept_us = period.begun_us;
	assert_true(kept_us > START * US);
	assert_int_equal(period.asked.gaps, 1);
	check_gap(&period.asked, 0, START * US, kept_us);
	assert_int_equal(period.asked.covered_us, (START + 10 * intervals) * US - kept_us);
	/* From then on, all are there. */
	assert_int_equal(find_records(reader, HISTORY_RECORD_SLOTS).count,
			 each * (((START + 10 * intervals) * US - kept_us) / (10 * US)));
	reader_period_clear(&period);
}

/* A pause is a gap with a reason, however short; one that goes on is one gap. */
TEST(test_pauses)
{
	struct covered covered;

	covered_begin(&covered, 0, 100 * US);
	covered_add(&covered, -5 * US, 10 * US);
	covered_miss(&covered, 10 * US, 10 * US + 7, READER_PAUSED);
	covered_add(&covered, 10 * US + 7, 20 * US);
	covered_miss(&covered, 30 * US, 40 * US, READER_PAUSED);
	covered_miss(&covered, 40 * US, 50 * US, READER_PAUSED);
	covered_miss(&covered, 95 * US, 110 * US, READER_PAUSED);
	covered_end(&covered);
	assert_int_equal(covered.gaps, 5);
	assert_int_equal(covered.covered_us, 20 * US - 7);
	check_gap(&covered, 4, 10 * US, 10 * US + 7);
	check_gap(&covered, 3, 20 * US, 30 * US);
	check_gap(&covered, 2, 30 * US, 50 * US);
	check_gap(&covered, 1, 50 * US, 95 * US);
	check_gap(&covered, 0, 95 * US, 100 * US);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(covered_gap(&covered, i)->reason,
				 i % 2 ? READER_UNKNOWN : READER_PAUSED);
}
