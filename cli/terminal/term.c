/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/terminal/term.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define COLUMNS_DEFAULT 80
#define ROWS_DEFAULT 24
#define SIZE_LIMIT 10000

static size_t environment_size(const char *name, size_t otherwise)
{
	const char *text = getenv(name);
	long value = text ? strtol(text, NULL, 10) : 0;

	return value > 0 && value < SIZE_LIMIT ? (size_t)value : otherwise;
}

void term_resize(struct term *term)
{
	struct winsize size;

	if (!term->tty)
		return;
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col && size.ws_row) {
		term->columns = size.ws_col;
		term->rows = size.ws_row;
		return;
	}
	term->columns = environment_size("COLUMNS", COLUMNS_DEFAULT);
	term->rows = environment_size("LINES", ROWS_DEFAULT);
}

void term_init(struct term *term, bool colour)
{
	const char *type = getenv("TERM");
	const char *refused = getenv("NO_COLOR");
	bool dumb = !type || !*type || !strcmp(type, "dumb");

	*term = (struct term){
		.tty = isatty(STDOUT_FILENO) == 1,
		.utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8"),
	};
	term->colour = colour && term->tty && !dumb && !(refused && *refused);
	term_resize(term);
}
