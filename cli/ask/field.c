/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/ask/field.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define DATE_LEN 10    /* 2026-11-21 */
#define CLOCK_START 11 /* after the T */
#define SECOND_LEN 8   /* 09:30:00 */
#define MICRO_LEN 15   /* 09:30:00.123456 */
#define FRACTION_START (CLOCK_START + SECOND_LEN)
#define NS_PER_SECOND 1000000000ULL

bool field_count(const json_t *object, const char *name, uint64_t *value)
{
	const json_t *member = json_object_get(object, name);

	if (!json_is_integer(member) || json_integer_value(member) < 0)
		return false;
	*value = (uint64_t)json_integer_value(member);
	return true;
}

bool field_real(const json_t *object, const char *name, double *value)
{
	const json_t *member = json_object_get(object, name);

	if (!json_is_number(member))
		return false;
	*value = json_number_value(member);
	return true;
}

uint64_t field_count_or(const json_t *object, const char *name, uint64_t otherwise)
{
	field_count(object, name, &otherwise);
	return otherwise;
}

const char *field_text_or(const json_t *object, const char *name, const char *otherwise)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : otherwise;
}

const char *field_text(const json_t *object, const char *name)
{
	return field_text_or(object, name, UNITS_UNKNOWN);
}

bool field_true(const json_t *object, const char *name)
{
	return json_is_true(json_object_get(object, name));
}

struct units_text field_units_count(const json_t *object, const char *name)
{
	uint64_t value;

	return field_count(object, name, &value) ? units_count(value) : units_unknown();
}

struct units_text field_units_number(const json_t *object, const char *name)
{
	struct units_text text;
	uint64_t value;

	if (!field_count(object, name, &value))
		return units_unknown();
	snprintf(text.s, sizeof(text.s), "%llu", (unsigned long long)value);
	return text;
}

struct units_text field_units_bytes(const json_t *object, const char *name)
{
	uint64_t value;

	return field_count(object, name, &value) ? units_bytes(value) : units_unknown();
}

struct units_text field_units_duration(const json_t *object, const char *name)
{
	uint64_t value;

	return field_count(object, name, &value) ? units_duration(value) : units_unknown();
}

struct units_text field_units_duration_real(const json_t *object, const char *name)
{
	double value;

	return field_real(object, name, &value) ? units_duration_real(value) : units_unknown();
}

struct units_text field_units_percent(const json_t *object, const char *name)
{
	double value;

	return field_real(object, name, &value) ? units_percent(value) : units_unknown();
}

/* Whether `text` begins like 2026-11-21T09:30:00; false for NULL. */
static bool is_time(const char *text)
{
	static const char form[] = "dddd-dd-ddTdd:dd:dd";

	if (!text)
		return false;
	for (size_t i = 0; form[i]; i++)
		if (form[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != form[i])
			return false;
	return true;
}

/* The text of a time; NULL if it is not one: *shown is then the text, or "-". */
static const char *time_text(const json_t *object, const char *name, struct field_time *shown)
{
	const char *text = field_text_or(object, name, NULL);

	if (is_time(text))
		return text;
	snprintf(shown->s, sizeof(shown->s), "%s", text ? text : UNITS_UNKNOWN);
	return NULL;
}

struct field_time field_time(const json_t *object, const char *name, const char *now)
{
	struct field_time time;
	const char *text = time_text(object, name, &time);
	size_t digits = 0;

	if (!text)
		return time;
	if (text[FRACTION_START] == '.')
		digits = 1 + strspn(text + FRACTION_START + 1, "0123456789");
	if (digits > MICRO_LEN - SECOND_LEN)
		digits = MICRO_LEN - SECOND_LEN;
	digits += SECOND_LEN;
	if (now && !strncmp(text, now, DATE_LEN))
		snprintf(time.s, sizeof(time.s), "%.*s", (int)digits, text + CLOCK_START);
	else
		snprintf(time.s, sizeof(time.s), "%.*s %.*s", DATE_LEN, text, (int)digits,
			 text + CLOCK_START);
	return time;
}

struct field_time field_today(void)
{
	struct field_time text = {};
	time_t now = time(NULL);
	struct tm day;

	if (localtime_r(&now, &day))
		strftime(text.s, sizeof(text.s), "%Y-%m-%d", &day);
	return text;
}

struct field_time field_date(const json_t *object, const char *name)
{
	struct field_time time;
	const char *text = time_text(object, name, &time);
	const char *offset;

	if (!text)
		return time;
	offset = text + FRACTION_START;
	offset += strspn(offset, ".0123456789");
	snprintf(time.s, sizeof(time.s), "%.*s %.*s %.6s", DATE_LEN, text, SECOND_LEN,
		 text + CLOCK_START, offset);
	return time;
}

/* "Z" or "+01:00" as seconds east of UTC; false for any other text. */
static bool read_offset(const char *text, int64_t *seconds)
{
	int hours, minutes, len = 0;

	*seconds = 0;
	if (!strcmp(text, "Z"))
		return true;
	if ((*text != '+' && *text != '-') ||
	    sscanf(text + 1, "%2d:%2d%n", &hours, &minutes, &len) != 2 || text[1 + len])
		return false;
	*seconds = (int64_t)hours * 3600 + (int64_t)minutes * 60;
	if (*text == '-')
		*seconds = -*seconds;
	return true;
}

bool field_epoch(const json_t *object, const char *name, uint64_t *epoch_ns)
{
	const char *text = field_text_or(object, name, NULL), *rest;
	int64_t offset, seconds;
	uint64_t fraction = 0, unit = NS_PER_SECOND;
	struct tm day = {};

	if (!is_time(text))
		return false;
	sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d", &day.tm_year, &day.tm_mon, &day.tm_mday,
	       &day.tm_hour, &day.tm_min, &day.tm_sec);
	day.tm_year -= 1900;
	day.tm_mon -= 1;
	rest = text + FRACTION_START;
	if (*rest == '.')
		for (rest++; *rest >= '0' && *rest <= '9'; rest++) {
			unit /= 10;
			fraction += (uint64_t)(*rest - '0') * unit;
		}
	seconds = timegm(&day);
	if (!read_offset(rest, &offset) || seconds < offset)
		return false;
	*epoch_ns = (uint64_t)(seconds - offset) * NS_PER_SECOND + fraction;
	return true;
}
