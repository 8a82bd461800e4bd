/* SPDX-License-Identifier: GPL-2.0-or-later */
/* netflowctl resume: end a pause. */
#include "cli/ask/field.h"
#include "cli/command/command.h"
#include "cli/show/pause.h"

static enum report_status print(struct session *session, struct page *page, const json_t *reply,
				void *data)
{
	(void)session;
	(void)data;
	page_line(page, PAGE_PLAIN, "%s",
		  field_true(reply, "resumed") ? "The pause has ended."
					       : "There was no pause by netflowctl.");
	pause_put(page, json_object_get(reply, "paused"));
	return session_print(page, 0);
}

static enum report_status run(struct session *session)
{
	return session_show(session, "io.netflowd.Resume", NULL, 0, print, NULL);
}

const struct command command_resume = {
	.name = "resume",
	.summary = "end a pause: attach the probes again",
	.notes =
		"A pause by the file /etc/netflowd/pause goes on until the file is removed; the output says so.\n"
		"resume requires root.\n",
	.run = run,
};
