/* SPDX-License-Identifier: GPL-2.0-or-later */
/* netflowctl napi: how the receive softirq keeps up, per device and CPU. */
#include <string.h>

#include "cli/ask/field.h"
#include "cli/ask/options.h"
#include "cli/command/command.h"
#include "cli/show/coverage.h"
#include "cli/show/napi_tables.h"

#define METHOD "io.netflowd.GetNapi"

static const char *const about[] = {"napi", NULL};

static const struct argument arguments[] = {
	OPTION_DEVICE("only the device of this name"),
	{},
};

static enum report_status run(struct session *session)
{
	OWN_PAGE struct page *page = NULL;
	OWN_JSON json_t *reply = NULL;
	enum report_status status, printed;
	int r;

	status = session_call(session, METHOD, NULL, 0, &reply);
	if (status)
		return status;
	if (session->arguments.json)
		return session_print_json(reply, false);
	status = session_page(session, &page);
	if (status)
		return status;
	r = napi_put_polls(page, reply, session->arguments.device);
	page_end(page);
	if (!r)
		r = napi_put_cpus(page, reply);
	status = coverage_ask(session, page, about);
	printed = session_print(page, r);
	return status ? status : printed;
}

const struct command command_napi = {
	.name = "napi",
	.summary = "polls and receive softirqs, per device and CPU",
	.arguments = arguments,
	.notes =
		"A poll that used its full budget left packets waiting. (backlog) is a CPU's own queue:\n"
		"lo, veth, RPS. processed, dropped and squeezed are /proc/net/softnet_stat's, since boot;\n"
		"the wait from raising the softirq to running it is since the daemon's start.\n",
	.run = run,
};
