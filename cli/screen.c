/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

/* xterm's alternate screen, DEC's cursor mode; all terminals of today know both. */
static const char enter_sequence[] = "\033[?1049h\033[?25l\033[H\033[2J";
static const char leave_sequence[] = "\033[0m\033[?25h\033[?1049l";

static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

static struct {
	volatile sig_atomic_t taken;
	volatile sig_atomic_t keys; /* the standard input was changed as well */
	bool prepared;
	struct termios before;
} screen;

static void write_sequence(const char *sequence, size_t len)
{
	/* a terminal that is gone needs no restoring */
	ssize_t written = write(STDOUT_FILENO, sequence, len);

	(void)written;
}

/* Only what a signal handler may call: write() and tcsetattr(). */
static void restore(void)
{
	if (!screen.taken)
		return;
	screen.taken = false;
	write_sequence(leave_sequence, sizeof(leave_sequence) - 1);
	if (screen.keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &screen.before);
	screen.keys = false;
}

static void crashed(int number)
{
	restore();
	/* SA_RESETHAND: this time it ends the program */
	raise(number);
}

static void prepare(void)
{
	struct sigaction action = {.sa_handler = crashed, .sa_flags = SA_RESETHAND};

	if (screen.prepared)
		return;
	screen.prepared = true;
	for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++)
		sigaction(crashes[i], &action, NULL);
	atexit(screen_leave);
}

int screen_enter(void)
{
	struct termios keys;

	if (fflush(stdout))
		return -EIO;
	prepare();
	screen.taken = true;
	if (isatty(STDIN_FILENO) && !tcgetattr(STDIN_FILENO, &screen.before)) {
		keys = screen.before;
		keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
		keys.c_cc[VMIN] = 1;
		keys.c_cc[VTIME] = 0;
		screen.keys = true;
		if (tcsetattr(STDIN_FILENO, TCSANOW, &keys))
			screen.keys = false;
	}
	write_sequence(enter_sequence, sizeof(enter_sequence) - 1);
	return 0;
}

void screen_leave(void)
{
	if (!screen.taken)
		return;
	fflush(stdout);
	restore();
}

int screen_wait(int fd, int timeout_ms)
{
	struct pollfd fds[] = {
		{.fd = fd, .events = POLLIN},
		{.fd = screen.keys ? STDIN_FILENO : -1, .events = POLLIN},
	};
	char key;

	if (poll(fds, 2, timeout_ms) <= 0 || !fds[1].revents)
		return 0;
	if (read(STDIN_FILENO, &key, 1) == 1)
		return key;
	/* the input is gone: don't ask it again */
	screen.keys = false;
	return 0;
}
