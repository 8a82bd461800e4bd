/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/cost/pause.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/time.h"
#include "daemon/cost/governor.h"
#include "daemon/process/loop.h"

/* A change of the administrator's file is noticed within 1 s, also by a loop that is late. */
#define LOOK_NS (TIME_NS_PER_SECOND / 2)

struct pause {
	struct pause_parts parts;
	char own[PAUSE_PATH_MAX], own_fresh[PAUSE_PATH_MAX];
	char file[PAUSE_PATH_MAX];
	struct loop_source *look;
	struct pause_state state;
	uint64_t ends_ns; /* of the command's pause, CLOCK_MONOTONIC; 0: no end */
};

const struct pause_state *pause_state(const struct pause *pause)
{
	static const struct pause_state none;

	return pause ? &pause->state : &none;
}

/* ---- what is in force ------------------------------------------------------ */

#define REMEDY_MAX (PAUSE_PATH_MAX + 64)

/* What ends all that pauses. */
static void describe_remedy(const struct pause_state *state, char text[static REMEDY_MAX])
{
	if (!state->source[PAUSE_BY_FILE].level)
		snprintf(text, REMEDY_MAX, "`netflowctl resume` ends it");
	else
		snprintf(text, REMEDY_MAX, "remove %s%s", state->file,
			 state->source[PAUSE_BY_COMMAND].level ? ", and run `netflowctl resume`"
							       : "");
}

static void describe(struct pause_state *state)
{
	char since[TIME_TEXT_MAX], until[TIME_TEXT_MAX], remedy[REMEDY_MAX];

	time_format_realtime(state->since_ns, since);
	if (state->until_ns)
		time_format_realtime(state->until_ns, until);
	describe_remedy(state, remedy);
	/* Seconds are enough for a text. */
	snprintf(state->text, sizeof(state->text), "paused since %.19s%s%.19s; %s", since,
		 state->until_ns ? ", until " : "", state->until_ns ? until : "", remedy);
}

/* The sum of the sources. */
static void combine(struct pause_state *state)
{
	bool endless = false;

	state->level = PAUSE_NONE;
	state->since_ns = state->until_ns = 0;
	for (int i = 0; i < PAUSE_SOURCES; i++) {
		const struct pause_order *order = &state->source[i];

		if (!order->level)
			continue;
		if (order->level > state->level)
			state->level = order->level;
		if (!state->since_ns || order->since_ns < state->since_ns)
			state->since_ns = order->since_ns;
		if (!order->until_ns)
			endless = true;
		if (order->until_ns > state->until_ns)
			state->until_ns = order->until_ns;
	}
	if (endless)
		state->until_ns = 0;
	state->text[0] = 0;
	if (state->level)
		describe(state);
}

static void set(struct pause *pause, enum pause_source source, const struct pause_order *order,
		enum pause_event event)
{
	static const enum backend_level levels[] = {
		[PAUSE_NONE] = BACKEND_ALL,
		[PAUSE_STAGES] = BACKEND_DROPS,
		[PAUSE_ALL] = BACKEND_NOTHING,
	};

	enum pause_level before = pause->state.level;
	uint64_t begun_ns = time_monotonic();

	pause->state.source[source] = *order;
	combine(&pause->state);
	if (pause->state.level != before) {
		governor_limit(pause->parts.governor, levels[pause->state.level]);
		/* Detaching and attaching take a while, in which some probes run. */
		pause->state.changed_ns = pause->state.level > before ? begun_ns : time_monotonic();
	}
	if (pause->parts.report)
		pause->parts.report(event, &pause->state, pause->state.text, pause->parts.userdata);
}

static void report_fault(const struct pause *pause, const char *path, const char *what,
			 const char *remedy)
{
	char text[PAUSE_PATH_MAX + 2 * PAUSE_ERROR_MAX];

	snprintf(text, sizeof(text), "%s: %s; %s", path, what, remedy);
	if (pause->parts.report)
		pause->parts.report(PAUSE_FAULT, &pause->state, text, pause->parts.userdata);
}

/* ---- files ----------------------------------------------------------------- */

/* Read a small regular file.  Returns its length or a negative errno. */
static ssize_t read_file(const char *path, char text[static PAUSE_TEXT_MAX])
{
	/* A FIFO must not stop the loop. */
	OWN_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat info;
	ssize_t length;

	if (fd < 0 || fstat(fd, &info) < 0)
		return -errno;
	if (!S_ISREG(info.st_mode))
		return -EISDIR;
	length = read(fd, text, PAUSE_TEXT_MAX);
	if (length < 0)
		return -errno;
	return length == PAUSE_TEXT_MAX ? -EFBIG : length;
}

static int write_fresh(const char *path, const char *text, size_t length)
{
	OWN_FD int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	ssize_t written;

	if (fd < 0)
		return -errno;
	written = write(fd, text, length);
	if (written < 0)
		return -errno;
	if ((size_t)written != length)
		return -ENOSPC;
	return fsync(fd) < 0 ? -errno : 0;
}

/* A rename is on disk when its directory is. */
static int sync_directory(const char *path)
{
	OWN_FD int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

static int keep(const struct pause *pause)
{
	char text[PAUSE_TEXT_MAX];
	size_t length = pause_text_format(&pause->state.source[PAUSE_BY_COMMAND], text);
	int r = write_fresh(pause->own_fresh, text, length);

	if (r == 0 && rename(pause->own_fresh, pause->own) < 0)
		r = -errno;
	if (r == 0)
		r = sync_directory(pause->parts.directory);
	return r;
}

static void forget(const struct pause *pause)
{
	if (unlink(pause->own) == 0)
		(void)sync_directory(pause->parts.directory);
	else if (errno != ENOENT)
		report_fault(pause, pause->own, strerror(errno),
			     "remove it, or netflowd is paused again when it restarts");
}

/* ---- the command ------------------------------------------------------------ */

int pause_begin(struct pause *pause, enum pause_level level, uint64_t for_ns, uint32_t uid)
{
	const struct pause_order order = {
		.level = level,
		.since_ns = (int64_t)time_realtime(),
		.until_ns = for_ns ? (int64_t)(time_realtime() + for_ns) : 0,
		.uid = uid,
	};

	pause->ends_ns = for_ns ? time_monotonic() + for_ns : 0;
	set(pause, PAUSE_BY_COMMAND, &order, PAUSE_BEGAN);
	return keep(pause);
}

bool pause_end(struct pause *pause)
{
	static const struct pause_order none;

	if (!pause->state.source[PAUSE_BY_COMMAND].level)
		return false;
	forget(pause);
	set(pause, PAUSE_BY_COMMAND, &none, PAUSE_RESUMED);
	return true;
}

static void expire(struct pause *pause)
{
	static const struct pause_order none;

	if (!pause->state.source[PAUSE_BY_COMMAND].level || !pause->ends_ns ||
	    time_monotonic() < pause->ends_ns)
		return;
	forget(pause);
	set(pause, PAUSE_BY_COMMAND, &none, PAUSE_EXPIRED);
}

/* The pause of an earlier run of the daemon. */
static void recall(struct pause *pause)
{
	char text[PAUSE_TEXT_MAX], error[PAUSE_ERROR_MAX];
	ssize_t length = read_file(pause->own, text);
	int64_t now = (int64_t)time_realtime(), rest, asked;
	struct pause_order order;

	if (length == -ENOENT)
		return;
	if (length < 0)
		snprintf(error, sizeof(error), "cannot be read: %s", strerror((int)-length));
	if (length < 0 || pause_text_parse(text, (size_t)length, true, &order, error) < 0) {
		report_fault(pause, pause->own, error,
			     "ignored, probes run; remove it, and run `netflowctl pause` again");
		return;
	}
	if (order.until_ns) {
		rest = order.until_ns - now;
		asked = order.until_ns - order.since_ns;
		/* The clock was set back: the pause is not longer than what was asked. */
		if (rest > asked)
			rest = asked;
		if (rest <= 0) {
			forget(pause);
			return;
		}
		pause->ends_ns = time_monotonic() + (uint64_t)rest;
		order.until_ns = now + rest;
	}
	set(pause, PAUSE_BY_COMMAND, &order, PAUSE_BEGAN);
}

/* ---- the administrator's file ------------------------------------------------ */

static bool same(const struct pause_order *a, const struct pause_order *b)
{
	return a->level == b->level && a->until_ns == b->until_ns;
}

/* What the file says now; `wrong` is empty or says what is wrong in it. */
static void read_order(const struct pause *pause, struct pause_order *order, char *wrong)
{
	char text[PAUSE_TEXT_MAX];
	ssize_t length = read_file(pause->file, text);

	*order = (struct pause_order){0};
	wrong[0] = 0;
	if (length == -ENOENT || length == -ENOTDIR)
		return;
	if (length == -EISDIR)
		snprintf(wrong, PAUSE_ERROR_MAX, "it is not a regular file");
	else if (length < 0)
		snprintf(wrong, PAUSE_ERROR_MAX, "cannot be read: %s", strerror((int)-length));
	else if (pause_text_parse(text, (size_t)length, false, order, wrong) == 0)
		return;
	order->level = PAUSE_STAGES;
}

static void look(struct pause *pause)
{
	struct pause_order *last = &pause->state.source[PAUSE_BY_FILE], order;
	char wrong[PAUSE_ERROR_MAX], text[sizeof(pause->state.wrong)] = "";
	bool ended;

	if (!pause->file[0])
		return;
	read_order(pause, &order, wrong);
	if (wrong[0])
		snprintf(text, sizeof(text), "%s: %s", pause->file, wrong);
	ended = order.until_ns && order.until_ns <= (int64_t)time_realtime();
	if (ended)
		order = (struct pause_order){0};
	if (strcmp(text, pause->state.wrong)) {
		strcpy(pause->state.wrong, text);
		if (wrong[0])
			report_fault(pause, pause->file, wrong,
				     "stages are paused; correct it or remove it");
	}
	if (same(&order, last))
		return;
	order.since_ns = last->level ? last->since_ns : (int64_t)time_realtime();
	set(pause, PAUSE_BY_FILE, &order,
	    order.level ? PAUSE_BEGAN
	    : ended	? PAUSE_EXPIRED
			: PAUSE_RESUMED);
}

static int on_look(void *userdata)
{
	struct pause *pause = userdata;

	expire(pause);
	look(pause);
	return 0;
}

/* ---- life -------------------------------------------------------------------- */

int pause_new(struct pause **pause, const struct pause_parts *parts)
{
	struct pause *fresh = calloc(1, sizeof(*fresh));
	int r;

	if (!fresh)
		return -ENOMEM;
	fresh->parts = *parts;
	snprintf(fresh->own, sizeof(fresh->own), "%s/pause", parts->directory);
	snprintf(fresh->own_fresh, sizeof(fresh->own_fresh), "%s/pause.tmp", parts->directory);
	snprintf(fresh->file, sizeof(fresh->file), "%s", parts->file);
	fresh->state.file = fresh->file;
	/* Later a filter of system calls refuses it.  pause_begin() says why the directory is of no use. */
	if (parts->directory[0])
		(void)mkdir(parts->directory, 0750);
	r = loop_add_timer(parts->loop, &fresh->look, LOOK_NS, LOOK_NS, on_look, fresh);
	if (r < 0) {
		free(fresh);
		return r;
	}
	*pause = fresh;
	if (parts->directory[0])
		recall(fresh);
	look(fresh);
	return 0;
}

void pause_free(struct pause **pause)
{
	if (!*pause)
		return;
	loop_source_free(&(*pause)->look);
	free(*pause);
	*pause = NULL;
}
