/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/terminal/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include <curses.h>

#include "common/array.h"

static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

static struct {
	SCREEN *curses; /* NULL before the first screen_enter() */
	bool colour;
	bool keys;		     /* the standard input is a terminal too */
	volatile sig_atomic_t taken; /* between screen_enter() and screen_leave() */
	struct termios before;
	char leave[128]; /* the escape sequences that restore the terminal after a crash */
} screen;

bool screen_possible(void)
{
	const char *type = getenv("TERM");

	return isatty(STDOUT_FILENO) && type && *type && strcmp(type, "dumb") != 0;
}

/* A signal handler, which may call only async-signal-safe functions: write() and tcsetattr(), not endwin(). */
static void crashed(int number)
{
	ssize_t written = 0;

	if (screen.taken) {
		written = write(STDOUT_FILENO, screen.leave, strlen(screen.leave));
		if (screen.keys)
			tcsetattr(STDIN_FILENO, TCSANOW, &screen.before);
	}
	(void)written;
	/* SA_RESETHAND removed this handler, so the signal now ends the program. */
	raise(number);
}

/* A string capability from the terminal's description; "" if it has none. */
static const char *capability(const char *name)
{
	const char *text = tigetstr(name);

	/* tigetstr() returns -1 for a name that is not a string capability. */
	return text && text != (const char *)-1 ? text : "";
}

static void prepare_for_crashes(void)
{
	struct sigaction action = {.sa_handler = crashed, .sa_flags = SA_RESETHAND};

	snprintf(screen.leave, sizeof(screen.leave), "%s%s%s", capability("sgr0"),
		 capability("cnorm"), capability("rmcup"));
	for (size_t i = 0; i < ARRAY_SIZE(crashes); i++)
		sigaction(crashes[i], &action, NULL);
}

static void choose_colours(bool wanted)
{
	static const short colours[PAGE_STYLE_COUNT] = {
		[PAGE_GOOD] = COLOR_GREEN, [PAGE_WARN] = COLOR_YELLOW, [PAGE_BAD] = COLOR_RED};

	screen.colour = wanted && has_colors() && start_color() == OK;
	if (!screen.colour)
		return;
	/* Without the terminal's own background, ncurses would draw a black one. */
	if (use_default_colors() == ERR) {
		screen.colour = false;
		return;
	}
	for (short style = PAGE_GOOD; style < PAGE_STYLE_COUNT; style++)
		init_pair(style, colours[style], -1);
}

static int first_enter(bool colour)
{
	if (fflush(stdout))
		return -EIO;
	screen.keys = isatty(STDIN_FILENO) && !tcgetattr(STDIN_FILENO, &screen.before);
	screen.curses = newterm(NULL, stdout, stdin);
	if (!screen.curses)
		return -ENOTSUP;
	set_term(screen.curses);
	prepare_for_crashes();
	atexit(screen_leave);
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(25);
	choose_colours(colour);
	return 0;
}

int screen_enter(bool colour)
{
	int r;

	if (screen.taken)
		return 0;
	r = screen.curses ? 0 : first_enter(colour);
	if (r)
		return r;
	screen.taken = true;
	curs_set(0);
	clearok(stdscr, TRUE);
	refresh();
	return 0;
}

void screen_leave(void)
{
	if (!screen.taken)
		return;
	screen.taken = false;
	endwin();
}

void screen_resize(size_t columns, size_t rows)
{
	if (!screen.taken)
		return;
	resizeterm((int)rows, (int)columns);
	clearok(stdscr, TRUE);
}

static attr_t attributes(enum page_style style)
{
	switch (style) {
	case PAGE_TITLE:
		return A_BOLD;
	case PAGE_DIM:
		return A_DIM;
	case PAGE_GOOD:
		return screen.colour ? COLOR_PAIR(PAGE_GOOD) : A_NORMAL;
	case PAGE_WARN:
		return screen.colour ? COLOR_PAIR(PAGE_WARN) : A_BOLD;
	case PAGE_BAD:
		return screen.colour ? COLOR_PAIR(PAGE_BAD) : A_BOLD;
	default:
		return A_NORMAL;
	}
}

/* The position of a page on the screen, and how far it is drawn. */
struct drawing {
	int first; /* the screen line of the page's first row */
	int row;   /* the row of the previous piece; -1 before the first piece */
};

static void draw_piece(void *data, size_t row, enum page_style style, const char *text, size_t len)
{
	struct drawing *drawing = data;

	if (drawing->row != (int)row && move(drawing->first + (int)row, 0) == ERR)
		return;
	drawing->row = (int)row;
	attrset(attributes(style));
	/* In the last column of the last line, addnstr() writes the text and still returns ERR. */
	addnstr(text, (int)len);
}

int screen_draw(struct page *body, struct page *foot)
{
	struct drawing top = {.row = -1};
	struct drawing bottom = {.first = LINES - 1, .row = -1};
	int first, last;

	erase();
	first = page_draw(body, draw_piece, &top);
	last = page_draw(foot, draw_piece, &bottom);
	attrset(A_NORMAL);
	refresh();
	return first ? first : last;
}

static int translate(int key)
{
	switch (key) {
	case ERR:
		return SCREEN_KEY_NONE;
	case '\r':
	case KEY_ENTER:
		return SCREEN_KEY_ENTER;
	case '\b':
	case KEY_BACKSPACE:
		return SCREEN_KEY_BACKSPACE;
	case KEY_BTAB:
		return SCREEN_KEY_BACK_TAB;
	case KEY_UP:
		return SCREEN_KEY_UP;
	case KEY_DOWN:
		return SCREEN_KEY_DOWN;
	default:
		return key < KEY_MIN ? key : SCREEN_KEY_OTHER;
	}
}

/* The next key, or ERR.  resizeterm() queues a KEY_RESIZE, which is skipped: the caller handles SIGWINCH itself. */
static int read_key(void)
{
	int key;

	do
		key = getch();
	while (key == KEY_RESIZE);
	return key;
}

int screen_wait(int fd, int timeout_ms)
{
	struct pollfd fds[] = {
		{.fd = fd, .events = POLLIN},
		{.fd = screen.taken && screen.keys ? STDIN_FILENO : -1, .events = POLLIN},
	};
	int key = screen.taken && screen.keys ? read_key() : ERR;

	/* ncurses may hold keys that it read together with an earlier one; poll() does not see those. */
	if (key != ERR)
		return translate(key);
	if (poll(fds, 2, timeout_ms) <= 0 || !fds[1].revents)
		return SCREEN_KEY_NONE;
	key = read_key();
	/* The input has ended: stop polling it, because poll() would return at once every time. */
	if (key == ERR && fds[1].revents & (POLLHUP | POLLERR | POLLNVAL))
		screen.keys = false;
	return translate(key);
}
