/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text of a pause, in the file that an administrator writes and in the one that netflowd keeps over a restart.
 * One word or pair per line; # begins a comment:
 *
 *   stages                             detach the stage probes (the default)
 *   all                                detach all probes
 *   until 2026-11-25T03:00:00+01:00    the end; without it the pause lasts while the file is there
 *
 * netflowd's own file also says `since TIME`, `uid N` and, without an end, `until resume`.
 */
#ifndef DAEMON_COST_PAUSE_TEXT_H
#define DAEMON_COST_PAUSE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAUSE_TEXT_MAX 4096
#define PAUSE_ERROR_MAX 256

enum pause_level {
	PAUSE_NONE,
	PAUSE_STAGES, /* drops and ring slots are counted */
	PAUSE_ALL,
};

/* Times are those of the host's clock, in ns since 1970. */
struct pause_order {
	enum pause_level level;
	int64_t since_ns; /* 0: not known */
	int64_t until_ns; /* 0: no end */
	uint32_t uid;	  /* who asked; of netflowd's own file */
};

/* "stages", "all"; of PAUSE_NONE "none". */
const char *pause_level_name(enum pause_level level);

/*
 * Read the text of an administrator's file, or of netflowd's own, which must be complete.  -EINVAL: `error` says what
 * is wrong, and in which line.
 */
int pause_text_parse(const char *text, size_t length, bool own, struct pause_order *order,
		     char error[static PAUSE_ERROR_MAX]);

/* Write netflowd's own file; the result is its length. */
size_t pause_text_format(const struct pause_order *order, char text[static PAUSE_TEXT_MAX]);

#endif
