/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/live/live.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "cli/ask/away.h"
#include "cli/live/controls.h"
#include "cli/live/reading.h"
#include "cli/terminal/screen.h"
#include "cli/terminal/signals.h"
#include "common/rows.h"
#include "common/time.h"
#include "common/units.h"

/* While the kernel measures its programs, each run of one costs more: not in every reading. */
#define MEASURE_MS 100
#define MEASURE_EVERY 5
/* For the answer of a daemon that went away; no key works during it. */
#define AWAY_WAIT_MS 300

struct live {
	struct session *session;
	struct controls controls;
	int signals;
	bool on_screen;
	bool redraw;
	const char *asked; /* the method that was called and not answered, for reports */
	int64_t readings;
	struct live_reading *reading; /* the newest */
	int64_t reading_ms;	      /* its time_monotonic_ms() */
	struct away away;
	bool afresh; /* the next reading is the first one of another daemon, and compares with none */
};

static void live_done(struct live *live)
{
	screen_leave();
	if (live->signals >= 0)
		close(live->signals);
	reading_free(&live->reading);
	view_done(&live->controls.view);
}

#define OWN_LIVE CLEANUP(live_done)

/* ---- signals ----------------------------------------------------------------------------- */

static void resize(struct live *live)
{
	struct term *term = &live->session->term;

	term_resize(term);
	if (live->on_screen)
		screen_resize(term->columns, term->rows);
	live->redraw = true;
}

/* Ctrl-Z: the shell gets its terminal back as it was; after SIGCONT the view takes it again. */
static void stop(struct live *live)
{
	if (live->on_screen)
		screen_leave();
	raise(SIGSTOP);
	if (live->on_screen)
		screen_enter(live->session->term.colour);
	resize(live);
}

static void handle_signals(struct live *live)
{
	int number;

	while ((number = signals_next(live->signals))) {
		if (number == SIGTSTP)
			stop(live);
		else if (number == SIGWINCH)
			resize(live);
		else
			live->controls.quit = true;
	}
}

/* ---- readings ---------------------------------------------------------------------------- */

/* Whether the daemon still is the one of the last reading, with which this one will be compared. */
static bool is_same_daemon(const struct live *live, const json_t *status)
{
	const json_t *daemon = json_object_get(status, "daemon");
	const json_t *before =
		live->reading ? json_object_get(live->reading->status, "daemon") : NULL;

	return !before ||
	       (json_equal(json_object_get(before, "pid"), json_object_get(daemon, "pid")) &&
		json_equal(json_object_get(before, "started"), json_object_get(daemon, "started")));
}

/*
 * The daemon disconnects a client that has not called for some time (control.idle), and --interval may be longer.
 * Returns -ECONNRESET, as without a second attempt, if that daemon is gone.
 */
static int ask_again(struct live *live, const char *method, json_t *parameters, int64_t timeout_ms,
		     json_t **reply)
{
	struct session *session = live->session;
	int r;

	varlink_free(&session->varlink);
	r = varlink_connect(&session->varlink, session->arguments.socket,
			    session->arguments.timeout_ms);
	if (r)
		return -ECONNRESET;
	varlink_interrupt(session->varlink, live->signals);
	r = varlink_call(session->varlink, method, json_incref(parameters), timeout_ms, reply);
	if (r || is_same_daemon(live, *reply))
		return r;
	json_decref(*reply);
	*reply = NULL;
	return -ECONNRESET;
}

/* A reading_ask that handles signals while it waits; one that quits ends the wait with -EINTR. */
static int ask(void *data, const char *method, json_t *parameters, int64_t extra_ms, json_t **reply)
{
	struct live *live = data;
	OWN_JSON json_t *owned = parameters;
	int64_t timeout_ms = live->session->arguments.timeout_ms + extra_ms;
	json_t *whole;
	int r;

	live->asked = method;
	r = rows_call(live->session->varlink, method, json_incref(owned), timeout_ms, &whole);
	/* The first call of a reading: later ones follow at once. */
	if ((r == -EPIPE || r == -ECONNRESET) && !strcmp(method, "io.netflowd.GetStatus"))
		r = ask_again(live, method, owned, timeout_ms, &whole);
	while (r == -EINTR) {
		handle_signals(live);
		if (live->controls.quit)
			break;
		r = rows_next(live->session->varlink, method, timeout_ms, &whole);
	}
	if (r) {
		json_decref(whole);
		return r;
	}
	live->asked = NULL;
	*reply = whole;
	return 0;
}

static int read_once(struct live *live)
{
	struct controls *controls = &live->controls;
	struct live_reading *reading = NULL;
	/* Not in the first reading, which only gives the second one something to compare with. */
	const struct reading_scope scope = {
		.device = controls_device(controls),
		/* Views that run at the same time share the daemon's readings. */
		.max_age_ms = controls->view.interval_ms / 2,
		.measure_ms = live->readings % MEASURE_EVERY == 1 ? MEASURE_MS : 0,
	};
	bool first = controls->restart || live->afresh;
	int r = reading_new(&reading, first ? NULL : live->reading, ask, live, &scope);

	if (r)
		return r;
	if (first)
		controls->view.history = (struct live_history){};
	controls->restart = false;
	live->afresh = false;
	reading_free(&live->reading);
	live->reading = reading;
	live->reading_ms = time_monotonic_ms();
	live->readings++;
	view_note(&controls->view, reading);
	return 0;
}

/* Whether a reading failed only because there is no device of the name that was typed. */
static bool is_unknown_device(const struct live *live, int error)
{
	const json_t *parameters;

	return error == -EREMOTEIO && live->on_screen && controls_device(&live->controls) &&
	       !strcmp(varlink_error(live->session->varlink, &parameters),
		       "io.netflowd.UnknownDevice");
}

/* A mistyped device is reported on the screen, and the view goes back to all devices. */
static int take_reading(struct live *live)
{
	struct controls *controls = &live->controls;
	int r = read_once(live);

	if (!is_unknown_device(live, r))
		return r;
	snprintf(controls->message, sizeof(controls->message), "no such device: %s",
		 controls->device);
	live->asked = NULL;
	controls_choose(controls, NULL);
	return read_once(live);
}

/* ---- a daemon that goes away ------------------------------------------------------------- */

/* On the screen, the last line says it until a key is pressed. */
static void say(struct live *live, const char *text)
{
	struct controls *controls = &live->controls;

	if (live->on_screen)
		snprintf(controls->message, sizeof(controls->message), "%s", text);
	else
		report("%s", text);
}

static void say_back(struct live *live)
{
	char text[CONTROLS_TEXT_MAX * 2];

	snprintf(text, sizeof(text), "the daemon was away for %s; rates begin again",
		 units_duration((uint64_t)away_ms(&live->away) * 1000000).s);
	say(live, text);
}

/* -EAGAIN: it is still away. */
static int return_to_daemon(struct live *live)
{
	int r = away_try(live->session, &live->away, live->signals, AWAY_WAIT_MS);

	if (r == -EINTR) {
		handle_signals(live);
		return live->controls.quit ? r : -EAGAIN;
	}
	if (r == -EAGAIN && live->on_screen)
		say(live, "the daemon is away; waiting for it");
	if (r)
		return r;
	live->afresh = true;
	return 0;
}

/*
 * Take a reading, or return -EAGAIN while there is no daemon.  A daemon that restarted has counters that begin at 0:
 * its first reading is compared with none.
 */
static int follow_daemon(struct live *live)
{
	bool was_away = live->away.since_ms;
	int r = was_away ? return_to_daemon(live) : 0;

	if (!r)
		r = take_reading(live);
	if (away_is(r)) {
		if (!was_away)
			away_begin(&live->away, live->reading_ms);
		varlink_free(&live->session->varlink);
		return -EAGAIN;
	}
	if (r == 0 && was_away) {
		say_back(live);
		away_end(&live->away);
	}
	return r;
}

/* ---- frames ------------------------------------------------------------------------------ */

static int draw_screen(struct live *live)
{
	const struct term *term = &live->session->term;
	struct controls *controls = &live->controls;
	/* A page marks styles only for a terminal with colours; without colours the screen shows
	 * the marked text in bold. */
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
	r = view_put(&controls->view, body, live->reading, controls_device(controls));
	if (r)
		return r;
	controls_put_foot(controls, foot);
	return screen_draw(body, foot);
}

static int draw_plain(struct live *live)
{
	struct view_state *view = &live->controls.view;
	OWN_PAGE struct page *page = NULL;
	int r = page_new(&page, &live->session->term);

	if (!r)
		r = frame_put(&view->frame, page, live->reading, view->interval_ms);
	if (r)
		return r;
	page_end(page);
	return page_write(page, stdout);
}

static int draw(struct live *live)
{
	live->redraw = false;
	return live->on_screen ? draw_screen(live) : draw_plain(live);
}

/* ---- the loop ---------------------------------------------------------------------------- */

/* How long to wait for keys, as poll(2) takes it. */
static int time_left(const struct live *live, int64_t deadline_ms)
{
	int64_t left = deadline_ms - time_monotonic_ms();

	if (live->controls.view.paused)
		return -1;
	return left > 0 ? (int)left : 0;
}

/*
 * Handle keys and signals until the next reading is due, or until one of them
 * quits or restarts.  Input that is already there is handled even after the
 * deadline, so that a slow daemon does not make the view deaf.
 */
static int wait_until(struct live *live, int64_t deadline_ms)
{
	struct controls *controls = &live->controls;

	while (!controls->quit && (!controls->restart || live->away.since_ms)) {
		int left = time_left(live, deadline_ms);
		int key = screen_wait(live->signals, left);
		int r;

		handle_signals(live);
		if (key) {
			controls_press(controls, key);
			live->redraw = true;
		}
		if (live->redraw && live->on_screen && !controls->quit) {
			r = draw(live);
			if (r)
				return r;
		}
		if (!key && !left)
			return 0;
	}
	return 0;
}

/* --count asks for plain frames, and a terminal that ncurses cannot use gets them too. */
static bool take_screen(const struct session *session)
{
	if (session->arguments.count >= 0 || !screen_possible())
		return false;
	return !screen_enter(session->term.colour);
}

/* Up to the next reading; an absent daemon is looked for more often than a long --interval. */
static int64_t pause_of(const struct live *live)
{
	int64_t interval_ms = live->controls.view.interval_ms;

	return live->away.since_ms && interval_ms > AWAY_PAUSE_MS ? AWAY_PAUSE_MS : interval_ms;
}

/*
 * The first reading only begins the first interval.  A screen shows it at once,
 * without rates, because an empty screen would look like a hang.
 */
static int watch(struct live *live)
{
	const struct controls *controls = &live->controls;
	int64_t frames = live->session->arguments.count;
	int64_t next = time_monotonic_ms();
	int r = take_reading(live);

	if (!r) {
		live->on_screen = take_screen(live->session);
		if (live->on_screen)
			r = draw(live);
	}
	while (!r && !controls->quit && frames) {
		bool compares = !live->away.since_ms;

		next += pause_of(live);
		/* Missed readings are skipped, not taken later. */
		if (next < time_monotonic_ms())
			next = time_monotonic_ms();
		r = wait_until(live, next);
		if (r || controls->quit)
			break;
		r = follow_daemon(live);
		compares = compares && !live->away.since_ms;
		if (r == -EAGAIN)
			r = 0;
		/* Plain frames are about an interval; the screen also shows the message. */
		if (!r && (compares || live->on_screen))
			r = draw(live);
		if (frames > 0 && compares)
			frames--;
	}
	return controls->quit ? 0 : r;
}

enum report_status live_run(struct session *session)
{
	OWN_LIVE
	struct live live = {
		.session = session,
		.signals = -1,
		.controls.view.interval_ms = session->arguments.interval_ms,
	};
	enum report_status status;
	int r;

	controls_choose(&live.controls, session->arguments.device);
	status = session_connect(session);
	if (status)
		return status;
	r = signals_open(SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH, 0);
	if (r < 0) {
		report("cannot read signals: %s", strerror(-r));
		return REPORT_FAILED;
	}
	live.signals = r;
	varlink_interrupt(session->varlink, live.signals);
	r = watch(&live);
	screen_leave();
	if (!r)
		return REPORT_FINE;
	if (live.away.since_ms && !session->varlink)
		return away_report();
	if (live.asked)
		return report_call(session->varlink, live.asked, r);
	report("cannot draw: %s", strerror(-r));
	return REPORT_FAILED;
}
