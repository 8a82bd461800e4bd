/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/options.h"

#include <errno.h>
#include <string.h>

#include "common/nearest.h"
#include "common/wrap.h"
#include "daemon/configuration.h"
#include "daemon/daemon.h"

/* Where the meaning of an option begins in the help, and where its lines end. */
#define HELP_COLUMN 26
#define HELP_WIDTH 100

const struct option_row option_table[OPTION_COUNT] = {
	[OPTION_CONFIG] =
		{"config", "FILE",
		 "read settings from this INI file and from FILE.d/*.conf, not from " CONFIGURATION_FILE
		 "; can be given again"},
	[OPTION_SET] = {"set", "KEY=VALUE",
			"set one setting, overriding all files; can be given again"},
	[OPTION_PRINT_CONFIG] = {"print-config", NULL,
				 "print all settings and where each comes from, as a file"},
	[OPTION_PRINT_DEFAULT_CONFIG] =
		{"print-default-config", NULL,
		 "print the configuration file that packages install: every setting, its meaning and its default, in comments"},
	[OPTION_CHECK_CONFIG] = {"check-config", NULL,
				 "check the settings and the alert rules, and exit"},
	[OPTION_RUNTIME_DIR] =
		{"runtime-dir", "DIR",
		 "directory of the socket and the lock file (default " DAEMON_RUNTIME_DIR ")"},
	[OPTION_REPLAY] =
		{"replay", "FILE",
		 "serve what a recording shows (of netflowctl record or trace-cmd record), not this host; needs no privileges, but a --runtime-dir of its own"},
	[OPTION_RECORD] =
		{"record", "FILE",
		 "do not start the daemon: record trace events of the packet path into FILE, for trace-cmd and KernelShark, until SIGINT or SIGTERM; requires root"},
	[OPTION_BUFFER] =
		{"buffer", "KIB",
		 "ring buffer of --record for each CPU, 64 to 1048576 KiB (4096, or less, so that all CPUs together have at most 256 MiB)"},
	[OPTION_EXCLUDE] =
		{"exclude", "DEVICES",
		 "devices whose packets --record does not follow: names or patterns, like 'veth* docker0'; their drops are recorded"},
	[OPTION_HELP_ALERTS] = {"help-alerts", NULL, "list the keys of an alert rule"},
	[OPTION_HELP_METRICS] = {"help-metrics", NULL,
				 "list the metrics for Prometheus: name, type, labels, meaning"},
	[OPTION_HELP_CAPABILITIES] = {"help-capabilities", NULL,
				      "list the capabilities that the running daemon keeps"},
	[OPTION_VERSION] = {"version", NULL, "print the version and the build ID"},
	[OPTION_HELP] = {"help", NULL, "list the options and the settings; also -h"},
};

static int refuse_unknown(const char *word, const char *given, char *error)
{
	struct nearest nearest;

	nearest_init(&nearest, word);
	for (size_t i = 0; i < OPTION_COUNT; i++)
		nearest_consider(&nearest, option_table[i].name);
	snprintf(error, OPTIONS_ERROR_MAX, "there is no option %.60s%s; see netflowd --help", given,
		 nearest_hint("--", nearest.best).s);
	return -EINVAL;
}

/* The option of this name (of `len` bytes); OPTION_COUNT if there is none. */
static enum option_id find(const char *name, size_t len)
{
	enum option_id id = 0;

	while (id < OPTION_COUNT && (strlen(option_table[id].name) != len ||
				     strncmp(option_table[id].name, name, len) != 0))
		id++;
	return id;
}

int options_next(int argc, char *const argv[], int *next, enum option_id *id, const char **value,
		 char *error)
{
	const char *given = argv[*next], *word = given + 2, *equals;
	enum option_id found;

	if (!strcmp(given, "-h"))
		word = option_table[OPTION_HELP].name;
	else if (given[0] != '-') {
		snprintf(
			error, OPTIONS_ERROR_MAX,
			"unexpected argument %.60s: netflowd has options only; see netflowd --help",
			given);
		return -EINVAL;
	} else if (given[1] != '-')
		return refuse_unknown(given + 1, given, error);
	equals = strchr(word, '=');
	found = find(word, equals ? (size_t)(equals - word) : strlen(word));
	if (found == OPTION_COUNT)
		return refuse_unknown(word, given, error);
	if (option_table[found].value && !equals && *next + 1 == argc) {
		snprintf(error, OPTIONS_ERROR_MAX, "%s requires a value; see netflowd --help",
			 given);
		return -EINVAL;
	}
	if (!option_table[found].value && equals) {
		snprintf(error, OPTIONS_ERROR_MAX,
			 "--%s does not accept a value; see netflowd --help",
			 option_table[found].name);
		return -EINVAL;
	}
	++*next;
	*id = found;
	*value = equals ? equals + 1 : option_table[found].value ? argv[(*next)++] : NULL;
	return 0;
}

void options_help(FILE *to)
{
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		const struct option_row *row = &option_table[i];
		int width = fprintf(to, "  --%s%s%s", row->name, row->value ? " " : "",
				    row->value ? row->value : "");

		fprintf(to, "%*s", HELP_COLUMN - width, "");
		wrap_text(to, row->help, HELP_COLUMN, "                          ", HELP_WIDTH);
	}
}
