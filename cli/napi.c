/* SPDX-License-Identifier: GPL-2.0-or-later */
/* netflowctl napi: how the receive softirq keeps up, per device and CPU. */
#include "cli/command.h"
#include "cli/coverage.h"
#include "cli/field.h"
#include "cli/napi.h"
#include "cli/options.h"

#include <string.h>

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
	int ret;

	status = session_call(session, METHOD, NULL, 0, &reply);
	if (status)
		return status;
	if (session->arguments.json)
		return session_print_json(reply, false);
	status = session_page(session, &page);
	if (status)
		return status;
	ret = napi_put_polls(page, reply, session->arguments.device);
	page_end(page);
	if (!ret)
		ret = napi_put_cpus(page, reply);
	status = coverage_ask(session, page, about);
	printed = session_print(page, ret);
	return status ? status : printed;
}

const struct command command_napi = {
	.name = "napi",
	.summary = "polls and receive softirqs, per device and CPU",
	.arguments = arguments,
	.notes = "A poll that used its full budget left packets waiting. (backlog) is a CPU's own "
		 "queue:\n"
		 "lo, veth, RPS. processed, dropped and squeezed are /proc/net/softnet_stat's, "
		 "since boot;\n"
		 "the wait from raising the softirq to running it is since the daemon's start.\n",
	.run = run,
};
