/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/live/controls.h"

#include <string.h>

#include "cli/terminal/screen.h"
#include "common/array.h"

#define CTRL_D '\004'

const char *controls_device(const struct controls *controls)
{
	return *controls->device ? controls->device : NULL;
}

void controls_choose(struct controls *controls, const char *device)
{
	char chosen[CONTROLS_TEXT_MAX];

	snprintf(chosen, sizeof(chosen), "%s", device ? device : "");
	if (!strcmp(chosen, controls->device))
		return;
	memcpy(controls->device, chosen, sizeof(chosen));
	controls->restart = true;
}

/* ---- a key each -------------------------------------------------------------------------- */

static void quit(struct controls *controls, int key)
{
	(void)key;
	controls->quit = true;
}

static void show(struct controls *controls, size_t view)
{
	controls->view.shown = (enum view_id)(view % VIEW_COUNT);
	controls->view.help = false;
	controls->view.scroll = 0;
}

static void show_number(struct controls *controls, int key)
{
	show(controls, (size_t)(key - '1'));
}

static void show_next(struct controls *controls, int key)
{
	(void)key;
	show(controls, controls->view.shown + 1);
}

static void show_previous(struct controls *controls, int key)
{
	(void)key;
	show(controls, controls->view.shown + VIEW_COUNT - 1);
}

static void sort(struct controls *controls, int key)
{
	(void)key;
	view_sort(&controls->view);
}

static void scroll_up(struct controls *controls, int key)
{
	(void)key;
	if (controls->view.scroll)
		controls->view.scroll--;
}

/* view_put() corrects what is beyond the last row. */
static void scroll_down(struct controls *controls, int key)
{
	(void)key;
	controls->view.scroll++;
}

static void toggle_help(struct controls *controls, int key)
{
	(void)key;
	controls->view.help = !controls->view.help;
}

static void toggle_pause(struct controls *controls, int key)
{
	(void)key;
	controls->view.paused = !controls->view.paused;
}

static void ask_device(struct controls *controls, int key)
{
	(void)key;
	controls->typing = true;
	*controls->typed = '\0';
}

static const struct {
	int key;
	void (*press)(struct controls *controls, int key);
} keys[] = {
	{'q', quit},
	{'Q', quit},
	{CTRL_D, quit},
	{'1', show_number},
	{'2', show_number},
	{'3', show_number},
	{'4', show_number},
	{'5', show_number},
	{'\t', show_next},
	{SCREEN_KEY_BACK_TAB, show_previous},
	{'s', sort},
	{SCREEN_KEY_UP, scroll_up},
	{SCREEN_KEY_DOWN, scroll_down},
	{'h', toggle_help},
	{'?', toggle_help},
	{' ', toggle_pause},
	{'p', toggle_pause},
	{'/', ask_device},
};

/* ---- typing a name ----------------------------------------------------------------------- */

static void type(struct controls *controls, int key)
{
	size_t len = strlen(controls->typed);

	if (key == SCREEN_KEY_ENTER) {
		controls->typing = false;
		controls_choose(controls, controls->typed);
	} else if (key == SCREEN_KEY_ESCAPE) {
		controls->typing = false;
	} else if (key == SCREEN_KEY_BACKSPACE) {
		if (len)
			controls->typed[len - 1] = '\0';
	} else if (key > ' ' && key < 0x100 && len + 1 < sizeof(controls->typed)) {
		controls->typed[len] = (char)key;
		controls->typed[len + 1] = '\0';
	}
}

void controls_press(struct controls *controls, int key)
{
	*controls->message = '\0';
	if (controls->typing) {
		type(controls, key);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (keys[i].key == key)
			keys[i].press(controls, key);
}

void controls_put_foot(const struct controls *controls, struct page *page)
{
	if (controls->typing)
		page_put(page, PAGE_TITLE, "device: %s_", controls->typed);
	else if (*controls->message)
		page_put(page, PAGE_BAD, "%s", controls->message);
	else
		view_put_keys(&controls->view, page);
	page_end(page);
}
