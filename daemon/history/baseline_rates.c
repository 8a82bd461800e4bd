/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/history/baseline_rates.h"

#include <stdlib.h>
#include <string.h>

#define HOUR_S (BASELINE_HOUR * BASELINE_STEP_S)
#define REFERENCE_BUCKETS (BASELINE_BUCKETS - BASELINE_REFERENCE)

/* What has grown is above this many times the reference's 95th percentile of ten minutes, and its largest ones. */
#define TIMES_P95 3
#define TIMES_LARGEST 1.5
/* Of whole hours, which vary less. */
#define TIMES_HOUR 2

/* Steady: at least this share of the covered hours has drops. */
#define STEADY_PERCENT 90
#define STEADY_HOURS 18

static const char *const names[] = {[BASELINE_BACKGROUND] = "background",
				    [BASELINE_RECURRING] = "recurring",
				    [BASELINE_GROWN] = "grown",
				    [BASELINE_NEW] = "new"};

const char *baseline_mark_name(enum baseline_mark mark)
{
	return names[mark];
}

void baseline_cover(const uint32_t *covered_s, struct baseline_cover *cover)
{
	*cover = (struct baseline_cover){0};
	for (unsigned int age = 0; age < BASELINE_BUCKETS; age++) {
		cover->covered_s += covered_s[age];
		if (age >= BASELINE_REFERENCE)
			cover->reference_s += covered_s[age];
		if (covered_s[age])
			cover->oldest = age;
	}
	cover->ready = cover->covered_s >= BASELINE_COVERED_S &&
		       cover->reference_s >= BASELINE_REFERENCE_S &&
		       cover->oldest >= BASELINE_OLDEST;
}

struct sum {
	uint64_t packets, covered_s;
};

static struct sum sum_of(const uint32_t *count, const uint32_t *covered_s, unsigned int from,
			 unsigned int to)
{
	struct sum sum = {0};

	for (unsigned int age = from; age < to && age < BASELINE_BUCKETS; age++) {
		sum.packets += count[age];
		sum.covered_s += covered_s[age];
	}
	return sum;
}

static double per_second(const struct sum *sum)
{
	return sum->covered_s ? (double)sum->packets / (double)sum->covered_s : 0;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* The packets of time `length_s` at the rate of this sum. */
static double scaled(const struct sum *sum, unsigned int length_s)
{
	return per_second(sum) * length_s;
}

/*
 * Packets in the last ten minutes or hour are not scaled up: a bucket that has not ended only gains, and a gap is no
 * evidence.  Where more time is covered than the bucket has, the clock was set back.
 */
static double scaled_down(const struct sum *sum, unsigned int length_s)
{
	return sum->covered_s > length_s ? scaled(sum, length_s) : (double)sum->packets;
}

/* Ten minutes of the reference. */
struct usual {
	double p95, largest;
	double hour; /* the largest hour */
};

static void measure_reference(const uint32_t *count, const uint32_t *covered_s, struct usual *usual)
{
	double bucket[REFERENCE_BUCKETS];
	size_t buckets = 0;

	*usual = (struct usual){0};
	for (unsigned int age = BASELINE_REFERENCE; age < BASELINE_BUCKETS; age++) {
		struct sum one = sum_of(count, covered_s, age, age + 1);

		if (one.covered_s >= BASELINE_STEP_S / 2)
			bucket[buckets++] = scaled(&one, BASELINE_STEP_S);
	}
	for (unsigned int age = BASELINE_REFERENCE; age < BASELINE_BUCKETS; age += BASELINE_HOUR) {
		struct sum hour = sum_of(count, covered_s, age, age + BASELINE_HOUR);
		double packets = scaled(&hour, HOUR_S);

		if (hour.covered_s >= HOUR_S / 2 && packets > usual->hour)
			usual->hour = packets;
	}
	if (!buckets)
		return;
	qsort(bucket, buckets, sizeof(bucket[0]), compare);
	usual->p95 = bucket[(95 * buckets + 99) / 100 - 1];
	usual->largest = bucket[buckets - 1];
}

/* The largest ten minutes of the last hour. */
static double peak_of(const uint32_t *count, const uint32_t *covered_s)
{
	double peak = 0;

	for (unsigned int age = 0; age < BASELINE_NOW_END; age++) {
		struct sum one = sum_of(count, covered_s, age, age + 1);
		double packets = scaled_down(&one, BASELINE_STEP_S);

		if (packets > peak)
			peak = packets;
	}
	return peak;
}

/* The last hour: with the bucket of now, or the six before it. */
static double hour_of(const uint32_t *count, const uint32_t *covered_s)
{
	struct sum now = sum_of(count, covered_s, 0, BASELINE_HOUR);
	struct sum before = sum_of(count, covered_s, 1, BASELINE_HOUR + 1);
	double a = scaled_down(&now, HOUR_S), b = scaled_down(&before, HOUR_S);

	return a > b ? a : b;
}

static bool is_steady(const uint32_t *count, const uint32_t *covered_s)
{
	unsigned int covered = 0, present = 0;

	for (unsigned int age = 0; age + BASELINE_HOUR <= BASELINE_BUCKETS; age += BASELINE_HOUR) {
		struct sum hour = sum_of(count, covered_s, age, age + BASELINE_HOUR);

		if (hour.covered_s < HOUR_S / 2)
			continue;
		covered++;
		present += hour.packets > 0;
	}
	return covered >= STEADY_HOURS && 100 * present >= STEADY_PERCENT * covered;
}

static unsigned int first_of(const uint32_t *count)
{
	unsigned int age = BASELINE_REFERENCE - 1;

	while (age && !count[age])
		age--;
	return age;
}

static enum baseline_mark mark_of(const uint32_t *count, const uint32_t *covered_s)
{
	double peak = peak_of(count, covered_s), hour = hour_of(count, covered_s);
	struct usual usual;
	bool high;

	measure_reference(count, covered_s, &usual);
	high = peak >= BASELINE_LEAST && peak > TIMES_P95 * usual.p95;
	if ((high && peak > TIMES_LARGEST * usual.largest) ||
	    (hour >= BASELINE_LEAST && hour > TIMES_HOUR * usual.hour))
		return BASELINE_GROWN;
	return is_steady(count, covered_s) && !high ? BASELINE_BACKGROUND : BASELINE_RECURRING;
}

void baseline_evaluate(const uint32_t *count, const uint32_t *covered_s, struct baseline_rate *rate)
{
	struct sum now = sum_of(count, covered_s, 0, BASELINE_NOW_END);
	struct sum reference = sum_of(count, covered_s, BASELINE_REFERENCE, BASELINE_BUCKETS);
	struct sum later = sum_of(count, covered_s, 0, BASELINE_REFERENCE);

	*rate = (struct baseline_rate){.per_second = per_second(&now),
				       .usual = per_second(&reference)};
	if (reference.packets) {
		rate->mark = mark_of(count, covered_s);
	} else if (later.packets) {
		rate->mark = BASELINE_NEW;
		rate->first = first_of(count);
	}
}
