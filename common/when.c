/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/when.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "common/time.h"
#include "common/value.h"

#define SECOND ((int64_t)TIME_NS_PER_SECOND)
#define YEAR_MIN 1970
#define YEAR_MAX 2261

/* Read `digits` digits as a number from `least` to `most`, and go on behind them. */
static bool take_number(const char **text, int digits, int least, int most, int *number)
{
	const char *at = *text;
	int sum = 0;

	for (int i = 0; i < digits; i++, at++) {
		if (!isdigit((unsigned char)*at))
			return false;
		sum = 10 * sum + (*at - '0');
	}
	if (sum < least || sum > most)
		return false;
	*number = sum;
	*text = at;
	return true;
}

static bool take(const char **text, const char *word)
{
	size_t length = strlen(word);

	if (strncmp(*text, word, length) != 0)
		return false;
	*text += length;
	return true;
}

static bool take_date(const char **text, struct tm *tm)
{
	const char *at = *text;
	int year, month, day;

	if (!take_number(&at, 4, YEAR_MIN, YEAR_MAX, &year) || !take(&at, "-") ||
	    !take_number(&at, 2, 1, 12, &month) || !take(&at, "-") ||
	    !take_number(&at, 2, 1, 31, &day))
		return false;
	tm->tm_year = year - 1900;
	tm->tm_mon = month - 1;
	tm->tm_mday = day;
	*text = at;
	return true;
}

/* 03:00 or 03:00:30; `fraction`: also 03:00:30.25, in ns. */
static bool take_time(const char **text, struct tm *tm, int64_t *fraction)
{
	const char *at = *text;
	int64_t unit = SECOND / 10;

	tm->tm_sec = 0;
	if (!take_number(&at, 2, 0, 23, &tm->tm_hour) || !take(&at, ":") ||
	    !take_number(&at, 2, 0, 59, &tm->tm_min))
		return false;
	if (take(&at, ":") && !take_number(&at, 2, 0, 60, &tm->tm_sec))
		return false;
	if (fraction && *at == '.' && isdigit((unsigned char)at[1]))
		for (at++, *fraction = 0; isdigit((unsigned char)*at); at++, unit /= 10)
			*fraction += (*at - '0') * unit;
	*text = at;
	return true;
}

/* Whether the date exists: timegm() would turn 30 February into 2 March. */
static bool is_date(const struct tm *tm)
{
	struct tm copy = {.tm_year = tm->tm_year, .tm_mon = tm->tm_mon, .tm_mday = tm->tm_mday};

	timegm(&copy);
	return copy.tm_mon == tm->tm_mon && copy.tm_mday == tm->tm_mday;
}

static bool take_offset(const char **text, int64_t *seconds)
{
	bool east = **text == '+';
	int hours, minutes;

	*seconds = 0;
	if (take(text, "Z") || take(text, "z"))
		return true;
	if (!take(text, "+") && !take(text, "-"))
		return false;
	if (!take_number(text, 2, 0, 23, &hours) || !take(text, ":") ||
	    !take_number(text, 2, 0, 59, &minutes))
		return false;
	*seconds = (east ? 1 : -1) * (hours * 3600 + minutes * 60);
	return true;
}

int when_parse_rfc3339(const char *text, int64_t *ns)
{
	int64_t fraction = 0, offset;
	struct tm tm = {0};

	if (!take_date(&text, &tm) || !is_date(&tm))
		return -EINVAL;
	if (!take(&text, "T") && !take(&text, "t") && !take(&text, " "))
		return -EINVAL;
	if (!take_time(&text, &tm, &fraction) || !take_offset(&text, &offset) || *text)
		return -EINVAL;
	*ns = ((int64_t)timegm(&tm) - offset) * SECOND + fraction;
	return *ns < 0 ? -EINVAL : 0;
}

/*
 * A local time.  In the night in which summer time ends, an hour comes twice: this is the first one.  In the night in
 * which it begins, an hour is missing: 02:30 is then as long after midnight as in other nights.
 */
static int from_local(const struct tm *tm, int64_t *ns)
{
	struct tm summer = *tm, any = *tm;
	time_t seconds;

	summer.tm_isdst = 1;
	any.tm_isdst = -1;
	seconds = mktime(&summer);
	/* Where summer time does not hold, the C library has turned the time into another one. */
	if (summer.tm_isdst <= 0 || summer.tm_hour != tm->tm_hour || summer.tm_min != tm->tm_min)
		seconds = mktime(&any);
	if (seconds < 0)
		return -EINVAL;
	*ns = (int64_t)seconds * SECOND;
	return 0;
}

static void set_midnight(struct tm *tm)
{
	tm->tm_hour = tm->tm_min = tm->tm_sec = 0;
}

/* Whether a local time is this moment: there is another one if it does not exist, or not with this offset. */
static bool is_moment(const struct tm *tm, time_t seconds)
{
	struct tm back;

	return seconds >= 0 && localtime_r(&seconds, &back) && back.tm_hour == tm->tm_hour &&
	       back.tm_min == tm->tm_min && back.tm_mday == tm->tm_mday;
}

/* Each moment of a local time; the one of a time that does not exist is that of from_local(). */
static void note_moments(const struct tm *tm, int64_t since_ns, int64_t *first)
{
	int64_t moment[3] = {-1, -1, -1};

	from_local(tm, &moment[2]);
	for (int summer = 0; summer < 2; summer++) {
		struct tm copy = *tm, normal = *tm;
		time_t seconds;

		copy.tm_isdst = summer;
		seconds = mktime(&copy);
		/* The day may be the 0th or the 32nd. */
		timegm(&normal);
		if (is_moment(&normal, seconds))
			moment[summer] = (int64_t)seconds * SECOND;
	}
	for (size_t i = 0; i < sizeof(moment) / sizeof(moment[0]); i++)
		if (moment[i] > since_ns && (*first < 0 || moment[i] < *first))
			*first = moment[i];
}

/* The first time of day after a moment, which can be the second one of a night in which it comes twice. */
static int first_after(const struct tm *clock, int64_t since_ns, int64_t *ns)
{
	time_t since = (time_t)(since_ns / SECOND);
	int64_t first = -1;
	struct tm day;

	localtime_r(&since, &day);
	day.tm_hour = clock->tm_hour;
	day.tm_min = clock->tm_min;
	day.tm_sec = clock->tm_sec;
	for (int i = 0; i < 2; i++, day.tm_mday++)
		note_moments(&day, since_ns, &first);
	if (first < 0)
		return -EINVAL;
	*ns = first;
	return 0;
}

/* `since_ns` below 0: a time of day is the last one that has passed; otherwise the first one after it. */
static int parse_local(const char *text, int64_t now_ns, int64_t since_ns, int64_t *ns)
{
	time_t now = (time_t)(now_ns / SECOND);
	bool dated = true;
	struct tm tm;
	int r;

	localtime_r(&now, &tm);
	if (take(&text, "yesterday")) {
		tm.tm_mday--;
	} else if (!take(&text, "today")) {
		dated = take_date(&text, &tm);
		if (dated && !is_date(&tm))
			return -EINVAL;
	}
	if (dated && !*text) {
		set_midnight(&tm);
		return from_local(&tm, ns);
	}
	if (dated && !take(&text, " ") && !take(&text, "T"))
		return -EINVAL;
	if (!take_time(&text, &tm, NULL) || *text)
		return -EINVAL;
	if (!dated && since_ns >= 0)
		return first_after(&tm, since_ns, ns);
	r = from_local(&tm, ns);
	if (r == 0 && !dated && *ns > now_ns) {
		tm.tm_mday--;
		r = from_local(&tm, ns);
	}
	return r;
}

static int parse(const char *text, int64_t now_ns, int64_t since_ns, int64_t *ns)
{
	const char *duration = *text == '-' ? text + 1 : text;
	int64_t moment;
	uint64_t ago;
	int r;

	if (!strcmp(text, "now")) {
		moment = now_ns;
		r = 0;
	} else if (*duration != '-' && value_duration(duration, (uint64_t)now_ns, &ago) == 0) {
		moment = now_ns - (int64_t)ago;
		r = 0;
	} else {
		r = when_parse_rfc3339(text, &moment);
		if (r < 0)
			r = parse_local(text, now_ns, since_ns, &moment);
	}
	if (r == 0)
		*ns = moment;
	return r;
}

int when_parse(const char *text, int64_t now_ns, int64_t *ns)
{
	return parse(text, now_ns, -1, ns);
}

int when_parse_end(const char *text, int64_t now_ns, int64_t since_ns, int64_t *ns)
{
	return parse(text, now_ns, since_ns, ns);
}
