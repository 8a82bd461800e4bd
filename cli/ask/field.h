/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Members of the daemon's replies, as io.netflowd.varlink describes them.  A
 * member that is absent or null is not known.  It never becomes 0; its text is
 * "-".
 */
#ifndef CLI_ASK_FIELD_H
#define CLI_ASK_FIELD_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "common/units.h"

/* `object` may be NULL in every function: all members are absent then. */

/* False if there is no number, or a negative count; *value is untouched then. */
bool field_count(const json_t *object, const char *name, uint64_t *value);
bool field_real(const json_t *object, const char *name, double *value);

/* The value, or `otherwise` if it is not known. */
uint64_t field_count_or(const json_t *object, const char *name, uint64_t otherwise);

/* The text, which belongs to `object`; `otherwise` if there is none. */
const char *field_text_or(const json_t *object, const char *name, const char *otherwise);

/* The text, or "-" if there is none. */
const char *field_text(const json_t *object, const char *name);

/* False also if it is not known. */
bool field_true(const json_t *object, const char *name);

/* The value with its unit, as in common/units.h; "-" if it is not known. */
struct units_text field_units_count(const json_t *object, const char *name);
struct units_text field_units_number(const json_t *object, const char *name);
struct units_text field_units_bytes(const json_t *object, const char *name);
struct units_text field_units_duration(const json_t *object, const char *name);
struct units_text field_units_duration_real(const json_t *object, const char *name);
struct units_text field_units_percent(const json_t *object, const char *name);

/* A time as text, by value like struct units_text. */
struct field_time {
	char s[48];
};

/*
 * An RFC 3339 time with microseconds: "2026-11-21 09:30:00.123456", without the
 * day if `now` (NULL: none) begins with the same day.  Any other text is shown
 * as it is, cut to the size of struct field_time.
 */
struct field_time field_time(const json_t *object, const char *name, const char *now);

/* Today by the clock of this host: a `now` for field_time(). */
struct field_time field_today(void);

/* A time with seconds, always with day and offset: "2026-11-21 09:30:00 +01:00". */
struct field_time field_date(const json_t *object, const char *name);

/*
 * An RFC 3339 time with its offset as nanoseconds since 1970-01-01 00:00:00
 * UTC.  False for any other text; *epoch_ns is untouched then.
 */
bool field_epoch(const json_t *object, const char *name, uint64_t *epoch_ns);

#endif
