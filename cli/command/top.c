/* SPDX-License-Identifier: GPL-2.0-or-later */
/* netflowctl top: the live view. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "cli/ask/options.h"
#include "cli/command/command.h"
#include "cli/live/reading.h"
#include "cli/live/view.h"
#include "cli/terminal/screen.h"
#include "cli/terminal/signals.h"
#include "common/array.h"

#define INTERVAL_DEFAULT_MS 1000
/* The kernel's statistics on programs cost something themselves: not at every reading. */
#define MEASURE_MS 100
#define MEASURE_EVERY 5

static const struct argument arguments[] = {
	OPTION("interval", SECONDS, interval_ms, .value = "S", .min = 100, .max = 3600 * 1000,
	       .help = "seconds from one picture to the next (1)"),
	OPTION("count", NUMBER, count, .value = "N", .min = 1, .max = INT32_MAX,
	       .help = "plain pictures below each other, as for what is no terminal, and end after N"),
	OPTION_DEVICE("drops, latency and polls of this device only"),
	{},
};

#define TEXT_MAX 64

struct top {
	struct session *session;
	int signals;
	bool on_screen;
	bool quit;
	bool redraw;
	bool restart;	   /* the next reading is about something else, and now */
	bool typing;	   /* the name of a device */
	const char *asked; /* the method that waits for its answer, for reports */
	int64_t readings;
	struct reading *reading; /* the newest */
	struct view_state view;
	char device[TEXT_MAX]; /* the only one it is about; empty for all */
	char typed[TEXT_MAX];
	char message[2 * TEXT_MAX]; /* what went wrong with the last key; or empty */
};

static void top_done(struct top *top)
{
	screen_leave();
	if (top->signals >= 0)
		close(top->signals);
	reading_free(&top->reading);
	view_done(&top->view);
}

#define OWN_TOP CLEANUP(top_done)

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static const char *device_of(const struct top *top)
{
	return *top->device ? top->device : NULL;
}

/* ---- signals ------------------------------------------------------------- */

static void resize(struct top *top)
{
	struct term *term = &top->session->term;

	term_resize(term);
	if (top->on_screen)
		screen_resize(term->columns, term->rows);
	top->redraw = true;
}

/* Ctrl-Z: the shell gets its terminal as it was, and we take it again afterwards. */
static void stop(struct top *top)
{
	if (top->on_screen)
		screen_leave();
	raise(SIGSTOP);
	if (top->on_screen)
		screen_enter(top->session->term.colour);
	resize(top);
}

static void handle_signals(struct top *top)
{
	int number;

	while ((number = signals_next(top->signals))) {
		if (number == SIGTSTP)
			stop(top);
		else if (number == SIGWINCH)
			resize(top);
		else
			top->quit = true;
	}
}

/* ---- readings ------------------------------------------------------------ */

/* A reading_ask: signals are handled while it waits, those to quit end it. */
static int ask(void *data, const char *method, json_t *parameters, int64_t extra_ms, json_t **reply)
{
	struct top *top = data;
	struct varlink *varlink = top->session->varlink;
	int64_t timeout_ms = top->session->arguments.timeout_ms + extra_ms;
	bool continues;
	int r;

	top->asked = method;
	r = varlink_call(varlink, method, parameters, timeout_ms, reply);
	while (r == -EINTR) {
		handle_signals(top);
		if (top->quit)
			break;
		r = varlink_next(varlink, timeout_ms, reply, &continues);
	}
	if (!r)
		top->asked = NULL;
	return r;
}

/* Whether a reading failed only because nothing has that name, which was typed. */
static bool no_such_device(const struct top *top, int error)
{
	const json_t *parameters;

	return error == -EREMOTEIO && top->on_screen && *top->device &&
	       !strcmp(varlink_error(top->session->varlink, &parameters),
		       "io.netflowd.UnknownDevice");
}

static int read_once(struct top *top)
{
	struct reading *reading = NULL;
	/* not at the first one: it only gives the others something to compare with */
	const struct reading_scope scope = {
		.device = device_of(top),
		.measure_ms = top->readings % MEASURE_EVERY == 1 ? MEASURE_MS : 0,
	};
	int r = reading_new(&reading, top->restart ? NULL : top->reading, ask, top, &scope);

	if (r)
		return r;
	if (top->restart)
		top->view.history = (struct history){};
	top->restart = false;
	reading_free(&top->reading);
	top->reading = reading;
	top->readings++;
	view_note(&top->view, reading);
	return 0;
}

static int read_again(struct top *top)
{
	int r = read_once(top);

	if (!no_such_device(top, r))
		return r;
	snprintf(top->message, sizeof(top->message), "no such device: %s", top->device);
	top->asked = NULL;
	*top->device = '\0';
	top->restart = true;
	return read_once(top);
}

/* ---- pictures ------------------------------------------------------------ */

static void put_foot(const struct top *top, struct page *page)
{
	if (top->typing)
		page_put(page, PAGE_TITLE, "only the device: %s_", top->typed);
	else if (*top->message)
		page_put(page, PAGE_BAD, "%s", top->message);
	else
		view_put_keys(&top->view, page);
	page_end(page);
}

static int draw_screen(struct top *top)
{
	const struct term *term = &top->session->term;
	/* styles are told by the page even where the screen has no colours for them */
	struct term styled = *term;
	OWN_PAGE struct page *body = NULL;
	OWN_PAGE struct page *foot = NULL;
	int r;

	styled.colour = true;
	r = page_new(&body, &styled);
	if (!r)
		r = page_new(&foot, &styled);
	if (r)
		return r;
	page_limit(body, term->columns, term->rows > 1 ? term->rows - 1 : 1);
	page_limit(foot, term->columns, 1);
	r = view_put(&top->view, body, top->reading, device_of(top));
	if (r)
		return r;
	put_foot(top, foot);
	return screen_draw(body, foot);
}

static int draw_plain(struct top *top)
{
	OWN_PAGE struct page *page = NULL;
	int r = page_new(&page, &top->session->term);

	if (!r)
		r = frame_put(&top->view.frame, page, top->reading, top->view.interval_ms);
	if (r)
		return r;
	page_end(page);
	return page_write(page, stdout);
}

static int draw(struct top *top)
{
	top->redraw = false;
	return top->on_screen ? draw_screen(top) : draw_plain(top);
}

/* ---- keys ---------------------------------------------------------------- */

static void key_quit(struct top *top, int key)
{
	(void)key;
	top->quit = true;
}

static void show(struct top *top, size_t view)
{
	top->view.shown = (enum view_id)(view % VIEW_COUNT);
	top->view.help = false;
	top->view.scroll = 0;
}

static void key_view(struct top *top, int key)
{
	show(top, (size_t)(key - '1'));
}

static void key_next(struct top *top, int key)
{
	show(top, top->view.shown + (key == '\t' ? 1 : VIEW_COUNT - 1));
}

static void key_sort(struct top *top, int key)
{
	(void)key;
	view_sort(&top->view);
}

static void key_scroll(struct top *top, int key)
{
	if (key == SCREEN_KEY_DOWN)
		top->view.scroll++;
	else if (top->view.scroll)
		top->view.scroll--;
}

static void key_help(struct top *top, int key)
{
	(void)key;
	top->view.help = !top->view.help;
}

static void key_pause(struct top *top, int key)
{
	(void)key;
	top->view.paused = !top->view.paused;
}

static void key_device(struct top *top, int key)
{
	(void)key;
	top->typing = true;
	*top->typed = '\0';
}

static const struct {
	int key;
	void (*press)(struct top *top, int key);
} keys[] = {
	{'q', key_quit},
	{'Q', key_quit},
	{'\004', key_quit},
	{'1', key_view},
	{'2', key_view},
	{'3', key_view},
	{'4', key_view},
	{'5', key_view},
	{'\t', key_next},
	{SCREEN_KEY_BACK_TAB, key_next},
	{'s', key_sort},
	{SCREEN_KEY_UP, key_scroll},
	{SCREEN_KEY_DOWN, key_scroll},
	{'h', key_help},
	{'?', key_help},
	{' ', key_pause},
	{'p', key_pause},
	{'/', key_device},
};

static void type(struct top *top, int key)
{
	size_t len = strlen(top->typed);

	if (key == SCREEN_KEY_ENTER) {
		top->typing = false;
		top->restart = strcmp(top->device, top->typed) != 0;
		memcpy(top->device, top->typed, sizeof(top->device));
	} else if (key == SCREEN_KEY_ESCAPE) {
		top->typing = false;
	} else if (key == SCREEN_KEY_BACKSPACE) {
		if (len)
			top->typed[len - 1] = '\0';
	} else if (key > ' ' && key < 0x100 && len + 1 < sizeof(top->typed)) {
		top->typed[len] = (char)key;
		top->typed[len + 1] = '\0';
	}
}

static void press(struct top *top, int key)
{
	*top->message = '\0';
	top->redraw = true;
	if (top->typing) {
		type(top, key);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (keys[i].key == key)
			keys[i].press(top, key);
}

/* ---- the loop ------------------------------------------------------------ */

/* How long to wait for keys, as for poll(2). */
static int time_left(const struct top *top, int64_t deadline_ms)
{
	int64_t left = deadline_ms - now_ms();

	if (top->view.paused)
		return -1;
	return left > 0 ? (int)left : 0;
}

/*
 * Until the time of the next reading, or until somebody wants to quit or
 * another one.  What was typed is looked at also when it is late.
 */
static int wait_until(struct top *top, int64_t deadline_ms)
{
	while (!top->quit && !top->restart) {
		int left = time_left(top, deadline_ms);
		int key = screen_wait(top->signals, left);
		int r;

		handle_signals(top);
		if (key)
			press(top, key);
		if (top->redraw && top->on_screen && !top->quit) {
			r = draw(top);
			if (r)
				return r;
		}
		if (!key && !left)
			return 0;
	}
	return 0;
}

/* A screen, if nobody wants plain pictures, and the terminal can. */
static bool take_screen(struct top *top)
{
	const struct session *session = top->session;

	if (session->arguments.count >= 0 || !screen_possible())
		return false;
	return !screen_enter(session->term.colour);
}

/*
 * The first reading only begins the first interval; on a screen it is shown,
 * without rates, so that nobody looks at nothing.
 */
static int watch(struct top *top)
{
	int64_t frames = top->session->arguments.count;
	int64_t next = now_ms();
	int r = read_again(top);

	if (!r) {
		top->on_screen = take_screen(top);
		if (top->on_screen)
			r = draw(top);
	}
	while (!r && !top->quit && frames) {
		next += top->view.interval_ms;
		/* what was missed is not made up for */
		if (next < now_ms())
			next = now_ms();
		r = wait_until(top, next);
		if (r || top->quit)
			break;
		r = read_again(top);
		if (!r)
			r = draw(top);
		if (frames > 0)
			frames--;
	}
	return top->quit ? 0 : r;
}

static enum report_status run(struct session *session)
{
	OWN_TOP
	struct top top = {
		.session = session,
		.signals = -1,
		.view.interval_ms = session->arguments.interval_ms,
	};
	enum report_status status;
	int r;

	if (session->arguments.json) {
		report("top draws pictures; status, drops, latency and napi have --json");
		return REPORT_USAGE;
	}
	if (top.view.interval_ms < 0)
		top.view.interval_ms = INTERVAL_DEFAULT_MS;
	if (session->arguments.device)
		snprintf(top.device, sizeof(top.device), "%s", session->arguments.device);
	status = session_connect(session);
	if (status)
		return status;
	r = signals_open(SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH, 0);
	if (r < 0) {
		report("signals cannot be read: %s", strerror(-r));
		return REPORT_FAILED;
	}
	top.signals = r;
	varlink_interrupt(session->varlink, top.signals);
	r = watch(&top);
	screen_leave();
	if (!r)
		return REPORT_FINE;
	if (top.asked)
		return report_call(session->varlink, top.asked, r);
	report("cannot draw: %s", strerror(-r));
	return REPORT_FAILED;
}

const struct command command_top = {
	.name = "top",
	.summary = "a live view: rates, drops, latency, polls, cost",
	.arguments = arguments,
	.notes =
		"Keys: 1 to 5 and Tab switch views, s sorts, / chooses a device, space pauses, h helps,\n"
		"q quits. Rates, percentiles and histograms are those of the last interval, all devices\n"
		"together; no packet of it took longer than what stands under \"max\".\n",
	.run = run,
};
