/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The off switch: probes are detached for a while, because the administrator says so.
 *
 * There are two sources: `netflowctl pause`, which netflowd keeps in a file of its own over a restart, and a file that
 * the administrator writes.  The one that detaches more counts.
 *
 * The pause of a command lasts as long as was asked, by CLOCK_MONOTONIC: a step of the host's clock does not change
 * it.  After a restart the rest is what the host's clock says, at most what was asked.  The end in the administrator's
 * file is a time of the host's clock.
 *
 * netflowd's own file that is damaged is ignored, and the probes run: the end of that pause is not known, and the
 * governor keeps the cost in its budget.  The administrator's file that is wrong or cannot be read pauses the stages:
 * the administrator wants less.
 */
#ifndef DAEMON_COST_PAUSE_H
#define DAEMON_COST_PAUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/cost/pause_text.h"

struct governor;
struct loop;
struct pause;

enum pause_source {
	PAUSE_BY_COMMAND,
	PAUSE_BY_FILE,
	PAUSE_SOURCES,
};

#define PAUSE_PATH_MAX 320

/* The pause in force, for all who show it. */
struct pause_state {
	enum pause_level level; /* PAUSE_NONE: not paused */
	int64_t since_ns;	/* of the host's clock; of the earliest source */
	int64_t until_ns;	/* when no source is left; 0: no end is known */
	uint64_t changed_ns; /* of the level: a pause began, or probes ran again, CLOCK_MONOTONIC */
	struct pause_order source[PAUSE_SOURCES];
	const char *file;			      /* the administrator's */
	char wrong[PAUSE_PATH_MAX + PAUSE_ERROR_MAX]; /* what is wrong in it; empty: nothing */
	char text[160 +
		  PAUSE_PATH_MAX]; /* "paused since …, until …; `netflowctl resume` ends it" */
};

enum pause_event {
	PAUSE_BEGAN, /* or changed */
	PAUSE_RESUMED,
	PAUSE_EXPIRED,
	PAUSE_FAULT, /* `text` says which file is wrong, and what to do */
};

struct pause_parts {
	struct loop *loop;
	struct governor *governor;
	const char *
		directory; /* of netflowd's own file; empty: none is read, and no pause may begin */
	const char *file;  /* the administrator's; empty: none */
	/* A change has taken effect. */
	void (*report)(enum pause_event event, const struct pause_state *state, const char *text,
		       void *userdata);
	void *userdata;
};

/* Pause at once if a file says so.  0 or a negative errno.  Free with pause_free, before the governor. */
int pause_new(struct pause **pause, const struct pause_parts *parts);
void pause_free(struct pause **pause);

/* NULL-safe: not paused. */
const struct pause_state *pause_state(const struct pause *pause);

/*
 * Pause for `for_ns`, 0: until pause_end().  It has taken effect on return.  A negative errno: it could not be kept in
 * the file, and a restart of the daemon ends it.
 */
int pause_begin(struct pause *pause, enum pause_level level, uint64_t for_ns, uint32_t uid);

/* End the pause of pause_begin(); that of the file goes on.  False: there was none. */
bool pause_end(struct pause *pause);

#endif
