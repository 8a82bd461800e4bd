/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/build_id.h"
#include "common/log.h"
#include "common/value.h"
#include "common/version.h"
#include "daemon/alert/keys.h"
#include "daemon/alert/rules.h"
#include "daemon/config.h"
#include "daemon/configuration.h"
#include "daemon/core/names.h"
#include "daemon/daemon.h"
#include "daemon/default_config.h"
#include "daemon/metrics/families.h"
#include "daemon/options.h"
#include "daemon/probe/bpf/reasons.h"
#include "daemon/probe/exclusion.h"
#include "daemon/probe/tracefs/record.h"
#include "daemon/process/privilege.h"
#include "daemon/settings.h"

enum exit_code {
	EXIT_FINE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
};

enum action { RUN, PRINT_CONFIG, CHECK_CONFIG };

struct arguments {
	const char *runtime_dir;
	const char *replay; /* a recording; NULL: this host */
	const char *record; /* the file of a recording; NULL: none is made */
	uint64_t buffer_kib;
	struct exclusion excluded;
	enum action action;
	/* Each has room for all arguments. */
	const char **file, **set;
	size_t files, sets;
};

static void print_version(void)
{
	struct build_id id = build_id();

	printf("netflowd " NETFLOWD_VERSION "%s%s%s\n", id.s[0] ? " (build " : "", id.s,
	       id.s[0] ? ")" : "");
}

static void print_help(void)
{
	printf("Usage: netflowd [OPTION]...\n"
	       "Attach probes to the kernel's packet path and serve what they see to netflowctl.\n\n");
	options_help(stdout);
	printf("\nSettings (a duration is a whole number and its unit: ns, us, ms, s, min, h, d):\n");
	setting_help(stdout);
}

static void print_alerts_help(void)
{
	printf("A rule file is INI. Each rule is a section [alert NAME] with these keys:\n\n");
	alert_keys_help(stdout);
	printf("\nThe shipped rules are part of netflowd. A file in the directory of alerts.rules replaces\n"
	       "the shipped file of the same name; an empty file removes its rules. A rule there\n"
	       "replaces the shipped rule of the same name.\n");
}

/* Returns as take(). */
static int take_buffer(struct arguments *arguments, const char *value)
{
	uint64_t kib;

	if (value_count(value, RECORD_BUFFER_MAX_KIB, &kib) < 0 || kib < RECORD_BUFFER_MIN_KIB) {
		log_error("--buffer must be a number of KiB from %d to %d, not '%.60s'",
			  RECORD_BUFFER_MIN_KIB, RECORD_BUFFER_MAX_KIB, value);
		return EXIT_USAGE + 1;
	}
	arguments->buffer_kib = kib;
	return 0;
}

/* Returns as take(). */
static int take_exclusion(struct arguments *arguments, const char *value)
{
	char error[EXCLUSION_ERROR_MAX];

	if (exclusion_parse(&arguments->excluded, value, error) == 0)
		return 0;
	log_error("--exclude: %s", error);
	return EXIT_USAGE + 1;
}

/* Apply one option.  Returns 0 to go on, otherwise an exit code plus one. */
static int take(struct arguments *arguments, enum option_id id, const char *value)
{
	switch (id) {
	case OPTION_CONFIG:
		arguments->file[arguments->files++] = value;
		return 0;
	case OPTION_SET:
		arguments->set[arguments->sets++] = value;
		return 0;
	case OPTION_PRINT_CONFIG:
		arguments->action = PRINT_CONFIG;
		return 0;
	case OPTION_CHECK_CONFIG:
		arguments->action = CHECK_CONFIG;
		return 0;
	case OPTION_RUNTIME_DIR:
		arguments->runtime_dir = value;
		return 0;
	case OPTION_REPLAY:
		arguments->replay = value;
		return 0;
	case OPTION_RECORD:
		arguments->record = value;
		return 0;
	case OPTION_BUFFER:
		return take_buffer(arguments, value);
	case OPTION_EXCLUDE:
		return take_exclusion(arguments, value);
	case OPTION_PRINT_DEFAULT_CONFIG:
		return default_config_print(stdout), EXIT_FINE + 1;
	case OPTION_HELP_ALERTS:
		return print_alerts_help(), EXIT_FINE + 1;
	case OPTION_HELP_METRICS:
		return metrics_help(stdout), EXIT_FINE + 1;
	case OPTION_HELP_CAPABILITIES:
		return privilege_help(stdout), EXIT_FINE + 1;
	case OPTION_VERSION:
		return print_version(), EXIT_FINE + 1;
	case OPTION_HELP:
	case OPTION_COUNT:
		break;
	}
	return print_help(), EXIT_FINE + 1;
}

/* Returns 0 to go on, otherwise an exit code plus one. */
static int parse(int argc, char **argv, struct arguments *arguments)
{
	int next = 1, r = 0;

	while (next < argc && r == 0) {
		char error[OPTIONS_ERROR_MAX];
		enum option_id id;
		const char *value;

		if (options_next(argc, argv, &next, &id, &value, error) < 0) {
			log_error("%s", error);
			return EXIT_USAGE + 1;
		}
		r = take(arguments, id, value);
	}
	return r;
}

static int run(const struct configuration *configuration,
	       const struct configuration_arguments *sources, const struct arguments *arguments)
{
	struct daemon *daemon = NULL;
	char error[512];
	int r;

	if (!arguments->replay && privilege_check(error, sizeof(error)) < 0) {
		log_error("%s", error);
		return EXIT_FAILED;
	}
	r = daemon_new(&daemon, configuration, sources, arguments->runtime_dir, arguments->replay);
	if (r == 0)
		r = daemon_run(daemon);
	daemon_free(&daemon);
	return r == -EBADMSG ? EXIT_USAGE : r < 0 ? EXIT_FAILED : EXIT_FINE;
}

static int check(const struct configuration *configuration)
{
	const char *directory = configuration_values(configuration)->alert_rules;
	size_t files = configuration_files(configuration);
	OWN_NAMES struct names *names = NULL;
	OWN_RULES struct alert_rules *rules = NULL;
	int r = names_new(&names);

	if (r < 0) {
		log_error("%s", strerror(-r));
		return EXIT_FAILED;
	}
	/* A kernel whose reasons cannot be read leaves those of the knowledge. */
	r = alert_rules_read(&rules, directory, bpf_reasons_of_kernel(names) < 0 ? NULL : names);
	if (r < 0) {
		log_error("cannot read the alert rules: %s", strerror(-r));
		return EXIT_FAILED;
	}
	alert_rules_log_faults(rules);
	if (rules->faults)
		return EXIT_USAGE;
	printf("the settings are valid; read from %zu file%s\n"
	       "the alert rules are valid; read %zu\n",
	       files, files == 1 ? "" : "s", rules->count);
	return EXIT_FINE;
}

/* Settings and files of settings have no meaning for a recording: it needs no daemon. */
static int make_recording(const struct arguments *arguments)
{
	char error[REFUSAL_MAX];

	if (arguments->files || arguments->sets || arguments->action != RUN) {
		log_error("--record cannot be used with options for settings; see netflowd --help");
		return EXIT_USAGE;
	}
	if (!*arguments->record) {
		log_error("--record requires the name of a file");
		return EXIT_USAGE;
	}
	if (record(arguments->record, arguments->buffer_kib, &arguments->excluded, error) == 0)
		return EXIT_FINE;
	log_error("%s", error);
	return EXIT_FAILED;
}

static int act(const struct arguments *arguments)
{
	const struct configuration_arguments sources = {.file = arguments->file,
							.files = arguments->files,
							.set = arguments->set,
							.sets = arguments->sets};
	OWN_CONFIGURATION struct configuration *configuration = NULL;
	char error[CONFIG_ERROR_MAX];

	if (arguments->record)
		return make_recording(arguments);
	if (arguments->buffer_kib || arguments->excluded.names) {
		log_error("--%s requires --record FILE",
			  arguments->buffer_kib ? "buffer" : "exclude");
		return EXIT_USAGE;
	}
	if (configuration_read(&configuration, &sources, error) < 0) {
		log_error("%s", error);
		return EXIT_USAGE;
	}
	switch (arguments->action) {
	case PRINT_CONFIG:
		configuration_print(configuration, stdout);
		return EXIT_FINE;
	case CHECK_CONFIG:
		return check(configuration);
	case RUN:
		break;
	}
	return run(configuration, &sources, arguments);
}

int main(int argc, char **argv)
{
	struct arguments arguments = {.runtime_dir = DAEMON_RUNTIME_DIR};
	int r;

	arguments.file = calloc((size_t)argc, sizeof(*arguments.file));
	arguments.set = calloc((size_t)argc, sizeof(*arguments.set));
	if (!arguments.file || !arguments.set) {
		log_error("out of memory");
		r = EXIT_FAILED;
	} else {
		r = parse(argc, argv, &arguments);
		r = r ? r - 1 : act(&arguments);
	}
	free(arguments.file);
	free(arguments.set);
	return r;
}
