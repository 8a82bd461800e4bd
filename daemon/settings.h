/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of settings.  Defaults, limits, parsing, error messages and help all derive from its
 * rows, so that a setting has one place in the source.
 */
#ifndef DAEMON_SETTINGS_H
#define DAEMON_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* How a value is written, what `least` and `most` limit, and how struct config stores it. */
enum setting_type {
	SETTING_NUMBER,	      /* uint64_t; the value, a size such as 64MiB if `unit` is bytes */
	SETTING_POWER_OF_TWO, /* the same */
	SETTING_DURATION,     /* uint64_t, ns; the value: 250us, 5ms, 1h30m */
	SETTING_PERCENT,      /* uint64_t, millionths; the value: 1%, 0.5% */
	SETTING_CHOICE,	      /* uint64_t, index in `choices`; no limits */
	SETTING_SWITCH,	      /* uint64_t, 0 or 1; no limits */
	SETTING_TEXT,	      /* char[]; the length */
	SETTING_PATH,	      /* char[], absolute or empty; the length */
	SETTING_URL,	      /* char[], http:// or https://, or empty; the length */
	SETTING_LISTEN,	      /* char[], what http_address_parse() reads; the length */
	SETTING_SEGMENTS,     /* uint64_t[NF_SEGMENT_COUNT], ns; a list; each value */
	SETTING_PROBES,	      /* bool[NF_PROBE_COUNT], names; how many */
	SETTING_DEVICES,      /* struct backend_slots_settings, names; how many */
	SETTING_EXCLUSION,    /* struct exclusion, names; how many */
};

#define SETTING_PERCENT_UNITS 10000 /* millionths in 1 % */

struct setting {
	const char *key; /* "section.key" */
	enum setting_type type;
	size_t offset; /* of the value in struct config */
	uint64_t least, most;
	const char *initial; /* default, as a file would have it; never NULL */
	const char *unit;    /* noun: of a number what it counts, of others what the value is */
	const char *help;    /* understandable without the other lines */
	const char *const *
		choices; /* of SETTING_CHOICE and SETTING_SWITCH: the names, NULL at the end; of SETTING_PATH: its end, or NULL */
	bool live;	 /* a new value takes effect on a reload; otherwise netflowd must restart */
	bool expert;	 /* hardly anybody has to change it; these come after all others */
};

/* All settings, in the order in which help lists them. */
extern const struct setting setting_table[];
extern const size_t setting_count;

/* Whether the setting of this index begins a section, the part of its key before the dot.  One can begin twice. */
bool setting_begins_section(size_t index);

#define SETTING_VALUES_MAX 128

struct setting_values {
	char s[SETTING_VALUES_MAX];
};

/* Whether its number is one of bytes, which has units. */
bool setting_is_size(const struct setting *setting);

/* The values that a setting can have: "a whole number of seconds from 1 to 86400". */
struct setting_values setting_values(const struct setting *setting);

/* One line for each setting: key, meaning, values, default. */
void setting_help(FILE *to);

#endif
