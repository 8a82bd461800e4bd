/* SPDX-License-Identifier: GPL-2.0-or-later */
/* netflowctl top: the live view. */
#include "cli/command.h"
#include "cli/frame.h"
#include "cli/reading.h"
#include "cli/screen.h"
#include "cli/signals.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#define INTERVAL_DEFAULT_MS 1000
/* The kernel's statistics on programs cost something themselves: not at every reading. */
#define MEASURE_MS 100
#define MEASURE_EVERY 5

static const struct argument arguments[] = {
	{.name = "interval",
	 .value = "S",
	 .type = ARGUMENT_SECONDS,
	 .offset = offsetof(struct arguments, interval_ms),
	 .min = 100,
	 .max = 3600 * 1000,
	 .help = "seconds from one picture to the next (1)"},
	{.name = "count",
	 .value = "N",
	 .type = ARGUMENT_NUMBER,
	 .offset = offsetof(struct arguments, count),
	 .min = 1,
	 .max = INT32_MAX,
	 .help = "end after N of them"},
	{},
};

struct top {
	struct session *session;
	int64_t interval_ms;
	int signals;
	bool on_screen;
	bool quit;
	bool redraw;
	const char *asked; /* the method that waits for its answer, for reports */
	int64_t readings;
	struct reading *reading; /* the newest */
	struct frame frame;
};

static void top_done(struct top *top)
{
	screen_leave();
	if (top->signals >= 0)
		close(top->signals);
	reading_free(&top->reading);
	frame_done(&top->frame);
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Ctrl-Z: the shell gets its terminal as it was, and we take it again afterwards. */
static void stop(struct top *top)
{
	if (top->on_screen)
		screen_leave();
	raise(SIGSTOP);
	if (top->on_screen)
		screen_enter();
	term_resize(&top->session->term);
	top->redraw = true;
}

static void handle_signals(struct top *top)
{
	int number;

	while ((number = signals_next(top->signals))) {
		if (number == SIGTSTP) {
			stop(top);
		} else if (number == SIGWINCH) {
			term_resize(&top->session->term);
			top->redraw = true;
		} else {
			top->quit = true;
		}
	}
}

/* A reading_ask: signals are handled while it waits, those to quit end it. */
static int ask(void *data, const char *method, json_t *parameters, int64_t extra_ms, json_t **reply)
{
	struct top *top = data;
	struct varlink *varlink = top->session->varlink;
	int64_t timeout_ms = top->session->arguments.timeout_ms + extra_ms;
	bool continues;
	int ret;

	top->asked = method;
	ret = varlink_call(varlink, method, parameters, timeout_ms, reply);
	while (ret == -EINTR) {
		handle_signals(top);
		if (top->quit)
			break;
		ret = varlink_next(varlink, timeout_ms, reply, &continues);
	}
	if (!ret)
		top->asked = NULL;
	return ret;
}

static int read_again(struct top *top)
{
	struct reading *reading = NULL;
	/* not at the first one: it only gives the others something to compare with */
	bool measure = top->readings % MEASURE_EVERY == 1;
	int ret = reading_new(&reading, top->reading, ask, top, measure ? MEASURE_MS : 0);

	if (ret)
		return ret;
	reading_free(&top->reading);
	top->reading = reading;
	top->readings++;
	return 0;
}

static int draw(struct top *top)
{
	const struct term *term = &top->session->term;
	OWN_PAGE struct page *page = NULL;
	int ret = page_new(&page, term);

	if (ret)
		return ret;
	top->redraw = false;
	if (top->on_screen)
		page_limit(page, term->columns, term->rows);
	ret = frame_put(&top->frame, page, top->reading, top->interval_ms);
	if (ret)
		return ret;
	if (top->on_screen)
		return page_write_screen(page, stdout);
	page_end(page);
	return page_write(page, stdout);
}

/* Until the time of the next reading, or until somebody wants to quit. */
static int wait_until(struct top *top, int64_t deadline_ms)
{
	while (!top->quit) {
		int64_t left = deadline_ms - now_ms();
		int key, ret;

		if (left <= 0)
			return 0;
		key = screen_wait(top->signals, (int)left);
		if (key == 'q' || key == 'Q' || key == '\004')
			top->quit = true;
		handle_signals(top);
		if (!top->redraw || !top->on_screen || top->quit)
			continue;
		ret = draw(top);
		if (ret)
			return ret;
	}
	return 0;
}

/*
 * The first reading only begins the first interval; on a screen it is shown,
 * without rates, so that nobody looks at nothing.
 */
static int watch(struct top *top)
{
	int64_t frames = top->session->arguments.count;
	int64_t next = now_ms();
	int ret = read_again(top);

	if (!ret && top->session->term.tty) {
		ret = screen_enter();
		top->on_screen = !ret;
		if (!ret)
			ret = draw(top);
	}
	while (!ret && !top->quit && frames) {
		next += top->interval_ms;
		/* what was missed is not made up for */
		if (next < now_ms())
			next = now_ms();
		ret = wait_until(top, next);
		if (ret || top->quit)
			break;
		ret = read_again(top);
		if (!ret)
			ret = draw(top);
		if (frames > 0)
			frames--;
	}
	return top->quit ? 0 : ret;
}

static enum report_status run(struct session *session)
{
	CLEANUP(top_done)
	struct top top = {
		.session = session,
		.interval_ms = session->arguments.interval_ms,
		.signals = -1,
	};
	enum report_status status;
	int ret;

	if (session->arguments.json) {
		report("top draws pictures; status, drops and latency have --json");
		return REPORT_USAGE;
	}
	if (top.interval_ms < 0)
		top.interval_ms = INTERVAL_DEFAULT_MS;
	status = session_connect(session);
	if (status)
		return status;
	ret = signals_open(SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH, 0);
	if (ret < 0) {
		report("signals cannot be read: %s", strerror(-ret));
		return REPORT_FAILED;
	}
	top.signals = ret;
	varlink_interrupt(session->varlink, top.signals);
	ret = watch(&top);
	screen_leave();
	if (!ret)
		return REPORT_FINE;
	if (top.asked)
		return report_call(session->varlink, top.asked, ret);
	report("cannot draw: %s", strerror(-ret));
	return REPORT_FAILED;
}

const struct command command_top = {
	.name = "top",
	.summary = "a live view: rates, drops, latency, cost",
	.arguments = arguments,
	.notes = "Rates, percentiles and histograms are those of the last interval, all devices\n"
		 "together; no packet of it took longer than what stands under \"max\". Ctrl-C or "
		 "q\n"
		 "ends it.\n",
	.run = run,
};
