/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Members of the daemon's answers, as io.netflowd's interface file names them.
 * What is absent or null was not known, and is never turned into 0: the texts
 * say "-" then.
 */
#ifndef CLI_ASK_FIELD_H
#define CLI_ASK_FIELD_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "common/units.h"

/* `object` may be NULL throughout, all its members are absent then. */

/* The value, or false and *value untouched.  Negative numbers are none. */
bool field_count(const json_t *object, const char *name, uint64_t *value);
bool field_real(const json_t *object, const char *name, double *value);

/* The value, or `otherwise` for what is not there. */
uint64_t field_count_or(const json_t *object, const char *name, uint64_t otherwise);

/* The text belongs to `object`; without one `otherwise`. */
const char *field_text_or(const json_t *object, const char *name, const char *otherwise);

/* The text, or "-". */
const char *field_text(const json_t *object, const char *name);

/* Whether it is there and true. */
bool field_true(const json_t *object, const char *name);

/* In units (common/units.h). */
struct units_text field_units_count(const json_t *object, const char *name);
struct units_text field_units_number(const json_t *object, const char *name);
struct units_text field_units_bytes(const json_t *object, const char *name);
struct units_text field_units_duration(const json_t *object, const char *name);
struct units_text field_units_duration_real(const json_t *object, const char *name);
struct units_text field_units_percent(const json_t *object, const char *name);

/* A time of the daemon for people, by value like the units. */
struct field_time {
	char s[48];
};

/*
 * An RFC 3339 time to the microsecond, without the day when that is the day of
 * `now` (another such time, or NULL): "09:30:00.123456", else
 * "2026-11-21 09:30:00.123456".  What is not such a time stays as it is, cut.
 */
struct field_time field_time(const json_t *object, const char *name, const char *now);

/* The day it is for the host's clock, good as `now`. */
struct field_time field_today(void);

/* field_time() to the second, always with day and offset: "2026-11-21 09:30:00 +01:00". */
struct field_time field_date(const json_t *object, const char *name);

/*
 * An RFC 3339 time with its offset as nanoseconds since 1970-01-01 00:00:00
 * UTC; false, and *epoch_ns untouched, for what is none.
 */
bool field_epoch(const json_t *object, const char *name, uint64_t *epoch_ns);

#endif
