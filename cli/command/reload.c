/* SPDX-License-Identifier: GPL-2.0-or-later */
/* netflowctl reload: let the daemon read its settings and alert rules again. */
#include "cli/ask/field.h"
#include "cli/command/command.h"

static void put_keys(struct page *page, const char *title, const json_t *keys)
{
	const json_t *key;
	size_t i;

	if (!json_array_size(keys))
		return;
	page_put(page, PAGE_PLAIN, "%s", title);
	json_array_foreach(keys, i, key)
		page_put(page, PAGE_PLAIN, "%s%s", i ? ", " : " ", json_string_value(key));
	page_line(page, PAGE_PLAIN, ".");
}

static enum report_status print(struct session *session, struct page *page, const json_t *reply,
				void *data)
{
	const json_t *applied = json_object_get(reply, "applied");
	const json_t *restart = json_object_get(reply, "restart");

	(void)session;
	(void)data;
	page_line(page, PAGE_PLAIN, "The alert rules were read again.");
	put_keys(page, "New values in force:", applied);
	put_keys(page, "New values that need a restart:", restart);
	if (!json_array_size(applied) && !json_array_size(restart))
		page_line(page, PAGE_PLAIN, "No setting has changed.");
	return session_print(page, 0);
}

static enum report_status run(struct session *session)
{
	return session_show(session, "io.netflowd.Reload", NULL, 0, print, NULL);
}

const struct command command_reload = {
	.name = "reload",
	.summary = "read the settings and the alert rules again",
	.notes =
		"The settings are those of the daemon's configuration files. The output names those whose new values are in force, and those that need a restart.\n"
		"If a file is broken, nothing changes, and the output says what to correct.\n"
		"reload requires root.\n",
	.run = run,
};
