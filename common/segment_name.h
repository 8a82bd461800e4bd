/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of segments.  The identifier is ASCII and the same everywhere: in JSON, parameters,
 * settings, alert rules and the knowledge.  It joins two stages ("raise_to_softirq"), has a name
 * of its own ("gap_wait"), or names the total of one direction ("rx_total").  In it the stages
 * softirq_raise and softirq_entry are "raise" and "softirq".  The form with the arrow is for
 * people, and only made here.
 */
#ifndef COMMON_SEGMENT_NAME_H
#define COMMON_SEGMENT_NAME_H

#include <stdbool.h>

/* Longer than every identifier, the 0 at the end included. */
#define SEGMENT_NAME_MAX 64

/* What is formatted; returned by value, so that it can be used inside a call of printf(). */
struct segment_text {
	char s[SEGMENT_NAME_MAX];
};

/* "total": of any direction.  Accepted where a segment selects; no segment is named so. */
#define SEGMENT_NAME_TOTAL "total"

/* The identifier for the time from one stage to another, both by the names that JSON has. */
struct segment_text segment_name_join(const char *from, const char *to);

/* The identifier of the total of the direction "rx", "fwd" or "tx". */
const char *segment_name_total(const char *direction);

/* Whether it is the identifier of a direction's total. */
bool segment_name_is_total(const char *name);

/*
 * The identifier for `text` as a person may write it: with "→" or "->", with the long names of
 * stages, or with the direction before it, as tables show it ("rx raise→softirq", "tx total").
 * Nothing is checked: other text stays as it is, and text that is too long is cut, which names
 * no segment.
 */
struct segment_text segment_name_read(const char *text);

/*
 * The text for people: "raise→softirq", or "total" for a total, which tables show behind the
 * direction.
 */
struct segment_text segment_name_text(const char *name);

#endif
