/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of commands, in the order of the help; names are matched exactly. */
#include <string.h>

#include "cli/command/command.h"
#include "common/nearest.h"

const struct command *const commands[] = {
	&command_status,
	&command_drops,
	&command_latency,
	&command_slow,
	&command_slots,
	&command_napi,
	&command_alerts,
	&command_incidents,
	&command_report,
	&command_top,
	&command_record,
	&command_replay,
	&command_diff,
	&command_probes,
	&command_explain,
	&command_export,
	&command_pause,
	&command_resume,
	&command_reload,
	&command_complete,
	&command_help,
	&command_version,
	NULL,
};

const struct command *command_find(const char *name, const char **nearest)
{
	struct nearest search;

	nearest_init(&search, name);
	for (const struct command *const *command = commands; *command; command++) {
		if (!strcmp((*command)->name, name))
			return *command;
		nearest_consider(&search, (*command)->name);
	}
	*nearest = search.best;
	return NULL;
}

enum report_status command_unknown(const char *name, const char *nearest)
{
	report("unknown command %.60s%s; `netflowctl help` lists the commands", name,
	       nearest_hint("", nearest).s);
	return REPORT_USAGE;
}
