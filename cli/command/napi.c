/* SPDX-License-Identifier: GPL-2.0-or-later */
/* netflowctl napi: whether NAPI polls and receive softirqs keep up, per device and CPU. */
#include <string.h>

#include "cli/ask/field.h"
#include "cli/ask/options.h"
#include "cli/command/command.h"
#include "cli/show/coverage.h"
#include "cli/show/napi_tables.h"
#include "cli/show/period.h"

#define METHOD "io.netflowd.GetNapi"

static const char *const about[] = {"napi", NULL};

static const struct argument arguments[] = {
	OPTION_DEVICE("show only the polls of this device"),
	OPTION_ALL,
	OPTION_PERIOD,
	{},
};

static enum report_status print(struct session *session, struct page *page, const json_t *reply,
				void *data)
{
	size_t most = session->arguments.all ? SIZE_MAX : OPTION_ROWS_SHOWN;
	uint64_t shown = json_array_size(json_object_get(reply, "napi"));
	size_t cpus = json_array_size(json_object_get(reply, "cpus"));
	int r = napi_put_polls(page, reply, session->arguments.device);

	(void)data;
	session_put_rest(page, shown, field_count_or(reply, "matched", shown));
	page_end(page);
	if (!r)
		r = napi_put_cpus(page, reply, most);
	session_put_rest(page, cpus < most ? cpus : most, cpus);
	period_put(page, reply, about);
	return coverage_print(session, page, r, about);
}

static enum report_status run(struct session *session)
{
	const char *device = session->arguments.device;
	/* The daemon knows the backlog, which has no name, only without a selection. */
	json_t *limit = device ? NULL : session_rows_limit(session);

	return session_show(session, METHOD, session_parameters("limit", limit, NULL), 0, print,
			    NULL);
}

const struct command command_napi = {
	.name = "napi",
	.summary = "show NAPI polls and receive softirqs per device and CPU",
	.arguments = arguments,
	.notes =
		"The table shows the 40 devices and CPUs with the most polls; --all shows all, and --json prints all.\n"
		"A poll that used its full budget left packets waiting.\n"
		"(backlog) is a CPU's own queue, which lo, veth and RPS use.\n"
		"processed, dropped and squeezed come from /proc/net/softnet_stat and count since boot.\n"
		"The waits, from raising the softirq to running it, count since the daemon started.\n",
	.run = run,
};
