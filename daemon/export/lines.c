/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/export/lines.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "common/cleanup.h"
#include "common/export.h"
#include "common/json.h"
#include "common/log.h"
#include "common/time.h"
#include "common/varlink.h"
#include "daemon/export/file.h"
#include "daemon/process/loop.h"
#include "daemon/process/worker.h"

/* Within it, the daemon answers every client. */
#define ANSWER_MS 30000

struct lines {
	struct loop *loop;
	const char *socket_path;
	struct lines_settings settings;
	struct loop_source *timer;
	struct worker *worker;
	int stop;		    /* an eventfd, readable when the thread must end */
	struct lines_settings used; /* by the thread */
	int error;		    /* that was logged last; 0: none */
	struct lines_stats stats;
};

/* ---- the thread ------------------------------------------------------------------ */

static int add_line(json_t *line, void *userdata)
{
	FILE *text = userdata;

	if (json_dumpf(line, text, JSON_COMPACT | JSON_REAL_PRECISION(15)) < 0 ||
	    fputc('\n', text) == EOF)
		return -ENOMEM;
	return 0;
}

static int collect(const struct lines *lines, char **text, size_t *length)
{
	OWN_VARLINK struct varlink *varlink = NULL;
	OWN_FILE FILE *file = open_memstream(text, length);
	struct export_options options = {.timeout_ms = ANSWER_MS};
	int r;

	if (!file)
		return -ENOMEM;
	r = varlink_connect(&varlink, lines->socket_path, ANSWER_MS);
	if (r < 0)
		return r;
	varlink_interrupt(varlink, lines->stop);
	r = export_lines(varlink, &options, add_line, file);
	if (fflush(file) == EOF && r == 0)
		r = -ENOMEM;
	return r;
}

static int work(void *userdata)
{
	struct lines *lines = userdata;
	const struct lines_settings *used = &lines->used;
	OWN_FREE char *text = NULL;
	size_t length = 0;
	int r = collect(lines, &text, &length);

	return r < 0 ? r : file_append(used->path, text, length, used->bytes);
}

/* ---- the loop -------------------------------------------------------------------- */

static void on_done(int result, void *userdata)
{
	struct lines *lines = userdata;

	worker_free(&lines->worker);
	if (result == 0)
		lines->stats.written++;
	else
		lines->stats.errors++;
	if (result && result != lines->error)
		log_warning("cannot write export.json_file = %s: %s; what was written stays; %s",
			    lines->used.path, strerror(-result), file_remedy(result));
	else if (!result && lines->error)
		log_info("export.json_file = %s is written again", lines->used.path);
	lines->error = result;
}

/* An interval in which the last one is not written yet is left out. */
static int on_timer(void *userdata)
{
	struct lines *lines = userdata;
	int r;

	if (lines->worker)
		return 0;
	lines->used = lines->settings;
	r = worker_new(&lines->worker, lines->loop, work, on_done, lines);
	if (r < 0)
		on_done(r, lines);
	return 0;
}

int lines_new(struct lines **lines, struct loop *loop, const char *socket_path)
{
	struct lines *fresh = calloc(1, sizeof(*fresh));

	if (!fresh)
		return -ENOMEM;
	fresh->loop = loop;
	fresh->socket_path = socket_path;
	fresh->stop = eventfd(0, EFD_CLOEXEC);
	if (fresh->stop < 0) {
		free(fresh);
		return -errno;
	}
	*lines = fresh;
	return 0;
}

void lines_free(struct lines **lines)
{
	const uint64_t one = 1;
	struct lines *old = *lines;

	if (!old)
		return;
	/* The loop does not run any more, so the thread would wait for its answer. */
	if (write(old->stop, &one, sizeof(one)) < 0)
		abort();
	worker_free(&old->worker);
	loop_source_free(&old->timer);
	cleanup_close(&old->stop);
	free(old);
	*lines = NULL;
}

int lines_set(struct lines *lines, const struct lines_settings *settings)
{
	lines->settings = *settings;
	loop_source_free(&lines->timer);
	if (!settings->path[0])
		return 0;
	return loop_add_timer(lines->loop, &lines->timer, TIME_NS_PER_SECOND, settings->interval_ns,
			      on_timer, lines);
}

struct lines_stats lines_stats(const struct lines *lines)
{
	return lines->stats;
}
