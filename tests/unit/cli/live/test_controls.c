/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The keys of the live view: what each changes, and how a device's name is typed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/live/controls.h"
#include "cli/terminal/screen.h"
#include "cli/terminal/term.h"
#include "tests/unit/test.h"

static void press(struct controls *controls, const char *keys)
{
	for (; *keys; keys++)
		controls_press(controls, (unsigned char)*keys);
}

TEST(test_views)
{
	struct controls controls = {};

	press(&controls, "3");
	assert_int_equal(controls.view.shown, VIEW_LATENCY);
	press(&controls, "\t\t");
	assert_int_equal(controls.view.shown, VIEW_LEDGER);
	press(&controls, "\t");
	assert_int_equal(controls.view.shown, VIEW_OVERVIEW);
	controls_press(&controls, SCREEN_KEY_BACK_TAB);
	assert_int_equal(controls.view.shown, VIEW_LEDGER);

	controls.view.scroll = 4;
	controls.view.help = true;
	press(&controls, "2");
	assert_int_equal(controls.view.shown, VIEW_DROPS);
	assert_int_equal(controls.view.scroll, 0);
	assert_false(controls.view.help);
}

TEST(test_switches)
{
	struct controls controls = {};

	press(&controls, "h p");
	assert_true(controls.view.help);
	assert_false(controls.view.paused); /* the blank and p */
	press(&controls, "?p");
	assert_false(controls.view.help);
	assert_true(controls.view.paused);

	controls_press(&controls, SCREEN_KEY_UP);
	assert_int_equal(controls.view.scroll, 0);
	controls_press(&controls, SCREEN_KEY_DOWN);
	controls_press(&controls, SCREEN_KEY_DOWN);
	controls_press(&controls, SCREEN_KEY_UP);
	assert_int_equal(controls.view.scroll, 1);

	press(&controls, "x0678~");
	controls_press(&controls, SCREEN_KEY_OTHER);
	assert_false(controls.quit);
	press(&controls, "q");
	assert_true(controls.quit);
	assert_false(controls.restart);
}

TEST(test_device)
{
	struct controls controls = {.message = "no such device: eht0"};

	assert_null(controls_device(&controls));
	press(&controls, "/q1");
	assert_string_equal(controls.message, "");
	assert_true(controls.typing);
	assert_false(controls.quit);
	controls_press(&controls, SCREEN_KEY_BACKSPACE);
	controls_press(&controls, SCREEN_KEY_BACKSPACE);
	controls_press(&controls, SCREEN_KEY_BACKSPACE);
	press(&controls, " lo");
	assert_string_equal(controls.typed, "lo");
	assert_null(controls_device(&controls));
	controls_press(&controls, SCREEN_KEY_ENTER);
	assert_string_equal(controls_device(&controls), "lo");
	assert_true(controls.restart);
	assert_false(controls.typing);

	/* The same name, and a name that is given up, change nothing. */
	controls.restart = false;
	press(&controls, "/lo\n/eth0");
	controls_press(&controls, SCREEN_KEY_ESCAPE);
	assert_string_equal(controls_device(&controls), "lo");
	assert_false(controls.restart);

	press(&controls, "/\n");
	assert_null(controls_device(&controls));
	assert_true(controls.restart);
}

/* A name of any length is cut, typed or given with --dev. */
TEST(test_long_device)
{
	struct controls controls = {};
	char name[1000];

	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	controls_choose(&controls, name);
	assert_int_equal(strlen(controls_device(&controls)), CONTROLS_TEXT_MAX - 1);
	controls_choose(&controls, NULL);
	assert_null(controls_device(&controls));
	press(&controls, "/");
	press(&controls, name);
	controls_press(&controls, SCREEN_KEY_ENTER);
	assert_int_equal(strlen(controls_device(&controls)), CONTROLS_TEXT_MAX - 1);
}

static void assert_foot(const struct controls *controls, const char *expected)
{
	const struct term term = {};
	OWN_PAGE struct page *page = NULL;
	OWN_FREE char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(page_new(&page, &term), 0);
	controls_put_foot(controls, page);
	assert_int_equal(page_write(page, out), 0);
	fclose(out);
	assert_string_equal(text, expected);
}

TEST(test_foot)
{
	struct controls controls = {};

	assert_foot(&controls, "q quit  h help  1-5 views  / device  space pause\n");
	press(&controls, "/et");
	assert_foot(&controls, "device: et_\n");
	controls_press(&controls, SCREEN_KEY_ESCAPE);
	strcpy(controls.message, "no such device: eht0");
	assert_foot(&controls, "no such device: eht0\n");
}
