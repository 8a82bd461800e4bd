/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Moments as people write them after --since and --until. */
#ifndef COMMON_WHEN_H
#define COMMON_WHEN_H

#include <stdint.h>

/* The forms, for help and errors. */
#define WHEN_FORMS                                                                               \
	"15m or -15m (ago), 03:00, \"yesterday 03:00\", 2026-11-21, \"2026-11-21 03:00\", now, " \
	"or RFC 3339 such as 2026-11-21T03:00:00+01:00"

/*
 * Read a moment in ns since 1970; `now_ns` is the present one.
 *
 *   15m, -15m, 1h, 7d        this time ago, a duration of value.h
 *   now, today, yesterday    the last two are their midnight
 *   03:00, 03:00:30          the last one that has passed: today's, or yesterday's
 *   yesterday 03:00, today 03:00, 2026-11-21, 2026-11-21 03:00[:30]
 *   2026-11-21T03:00:00.5Z, 2026-11-21T03:00:00+01:00
 *
 * Times without an offset are local (TZ).  Returns 0, or -EINVAL if `text` is none of these, or not between 1970 and
 * 2262.
 */
int when_parse(const char *text, int64_t now_ns, int64_t *ns);

/*
 * The same for the end of a period that begins at `since_ns`: 03:00 is the first one after that.  So it can be still to
 * come.
 */
int when_parse_end(const char *text, int64_t now_ns, int64_t since_ns, int64_t *ns);

/* Read RFC 3339 only, in ns since 1970, with a T or a blank between date and time.  0 or -EINVAL. */
int when_parse_rfc3339(const char *text, int64_t *ns);

#endif
