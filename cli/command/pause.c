/* SPDX-License-Identifier: GPL-2.0-or-later */
/* netflowctl pause: detach probes for a while. */
#include "cli/show/pause.h"

#include "cli/ask/field.h"
#include "cli/ask/options.h"
#include "cli/command/command.h"

#define PAUSE_MAX_NS (365LL * 86400 * 1000000000)

static const struct argument arguments[] = {
	OPTION("for", DURATION, for_ns, .value = "TIME", .min = 1, .max = PAUSE_MAX_NS,
	       .help = "end the pause after TIME, such as 10m or 2h; at most 365d (until resume)"),
	OPTION_FLAG(all, "detach all probes: drops and ring slots are not counted either"),
	{},
};

static enum report_status print(struct session *session, struct page *page, const json_t *reply,
				void *data)
{
	const char *why = field_text_or(reply, "not_kept", NULL);

	(void)session;
	(void)data;
	pause_put(page, json_object_get(reply, "paused"));
	if (why)
		page_line(
			page, PAGE_WARN,
			"A restart of netflowd ends this pause: it cannot be written to history.directory: %s.",
			why);
	return session_print(page, 0);
}

static enum report_status run(struct session *session)
{
	const struct arguments *given = &session->arguments;

	return session_show(session, "io.netflowd.Pause",
			    session_parameters("for_ns", session_number(given->for_ns), "all",
					       json_boolean(given->all), NULL),
			    0, print, NULL);
}

const struct command command_pause = {
	.name = "pause",
	.summary = "detach the probes that follow packets, for a time or until resume",
	.arguments = arguments,
	.notes =
		"Drops and ring slots are counted exactly during a pause, unless --all is given.\n"
		"The pause lasts over a restart of netflowd and of the host. A second pause replaces the first.\n"
		"While the file /etc/netflowd/pause exists, netflowd is paused too. An empty file detaches the stage probes. The line `all` in it detaches all probes; the line `until 2026-11-25T03:00:00+01:00` ends the pause.\n"
		"pause requires root.\n",
	.run = run,
};
