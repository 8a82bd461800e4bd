/* SPDX-License-Identifier: GPL-2.0-or-later */
/* netflowctl report: what happened in a period, as one page for the ticket of an incident. */
#include "cli/ask/report.h"

#include <errno.h>
#include <string.h>

#include "cli/ask/options.h"
#include "cli/command/command.h"
#include "cli/file/output.h"
#include "cli/report/write.h"

static const struct argument arguments[] = {
	OPTION("html", TEXT, html, .value = "FILE",
	       .help = "write an HTML page to FILE; -: standard output"),
	OPTION_PERIOD,
	{},
};

static enum report_status write_page(const char *path, const struct model *model)
{
	OWN_OUTPUT struct output output = {};
	int r = output_open(&output, path, true);

	if (!r)
		r = report_write(output.file, model);
	if (!r)
		r = output_close(&output);
	if (!r)
		return REPORT_FINE;
	report("cannot write %s: %s", path, strerror(-r));
	return REPORT_FAILED;
}

static enum report_status run(struct session *session)
{
	const struct arguments *given = &session->arguments;
	OWN_MODEL struct model model = {};
	enum report_status status;

	if (given->json) {
		report("report writes a page for people; for JSON use `netflowctl export --format json`");
		return REPORT_USAGE;
	}
	if (!given->html) {
		report("report needs a file: `netflowctl report --html FILE`; - is the standard output");
		return REPORT_USAGE;
	}
	status = model_ask(session, &model);
	return status ? status : write_page(given->html, &model);
}

const struct command command_report = {
	.name = "report",
	.summary =
		"write a page for an incident: drops over time, causes, latency, alerts, coverage",
	.arguments = arguments,
	.notes =
		"Without --since it is about one hour, the last one or that before --until; without a history, about the time since netflowd started.\n"
		"The page is one file without scripts and loads nothing, so it can be attached to a ticket.\n"
		"FILE appears when it is complete; an older one stays until then.\n",
	.run = run,
};
