/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/nearest.h"
#include "daemon/alert/keys.h"
#include "daemon/config.h"
#include "daemon/daemon.h"
#include "daemon/process/privilege.h"
#include "daemon/settings.h"

#define RUNTIME_DIR "/run/netflowd"

enum exit_code {
	EXIT_FINE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
};

struct arguments {
	struct config config;
	const char *runtime_dir;
};

static void print_help(void)
{
	printf("Usage: netflowd [OPTION]...\n"
	       "Attach probes to the kernel's packet path and serve what they see to netflowctl.\n"
	       "\n"
	       "  --config FILE        read settings from an INI file\n"
	       "  --set KEY=VALUE      set one setting, overriding all files\n"
	       "  --runtime-dir DIR    directory of the socket and the lock file (default " RUNTIME_DIR
	       ")\n"
	       "  --help-alerts        list the keys of an alert rule\n"
	       "  --help-capabilities  list the capabilities that the running daemon keeps\n"
	       "  --version            print the version\n"
	       "  --help               print this help\n"
	       "\n"
	       "Settings (a duration is a whole number and its unit: ns, us, ms, s, min, h, d):\n");
	setting_help(stdout);
}

static void print_alerts_help(void)
{
	printf("A rule file is INI. Each rule is a section [alert NAME] with these keys:\n\n");
	alert_keys_help(stdout);
	printf("\nThe shipped rules are part of netflowd. A file in the directory of alerts.rules replaces\n"
	       "the shipped file of the same name; an empty file removes its rules.\n");
}

/* getopt_long() refused `given`: an unknown option, or one without its value. */
static void unknown_option(const char *given, const struct option *options)
{
	const char *word = given + strspn(given, "-");
	struct nearest nearest;

	nearest_init(&nearest, word);
	for (; options->name; options++) {
		if (!strcmp(options->name, word)) {
			log_error("%s requires a value; see netflowd --help", given);
			return;
		}
		nearest_consider(&nearest, options->name);
	}
	log_error("there is no option %s%s; see netflowd --help", given,
		  nearest_hint("--", nearest.best).s);
}

/* Returns 0 to go on, otherwise an exit code plus one. */
static int parse(int argc, char **argv, struct arguments *arguments)
{
	static const struct option options[] = {
		{"config", required_argument, NULL, 'c'},
		{"set", required_argument, NULL, 's'},
		{"runtime-dir", required_argument, NULL, 'r'},
		{"version", no_argument, NULL, 'V'},
		{"help", no_argument, NULL, 'h'},
		{"help-alerts", no_argument, NULL, 'a'},
		{"help-capabilities", no_argument, NULL, 'p'},
		{NULL, 0, NULL, 0},
	};
	char error[CONFIG_ERROR_MAX];
	int option, r = 0;

	opterr = 0;
	/* Files come first, so that --set overrides them in any order of arguments. */
	for (int pass = 0; pass < 2; pass++) {
		optind = 1;
		while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
			if (option == 'c' && pass == 0)
				r = config_read(&arguments->config, optarg, error);
			else if (option == 's' && pass == 1)
				r = config_set(&arguments->config, optarg, error);
			else if (option == 'r')
				arguments->runtime_dir = optarg;
			else if (option == 'V')
				return printf("netflowd " NETFLOWD_VERSION "\n"), EXIT_FINE + 1;
			else if (option == 'a')
				return print_alerts_help(), EXIT_FINE + 1;
			else if (option == 'p')
				return privilege_help(stdout), EXIT_FINE + 1;
			else if (option == 'h')
				return print_help(), EXIT_FINE + 1;
			else if (option == '?')
				return unknown_option(argv[optind - 1], options), EXIT_USAGE + 1;
			if (r < 0) {
				log_error("%s", error);
				return EXIT_USAGE + 1;
			}
		}
	}
	if (optind < argc) {
		log_error("unexpected argument %s: netflowd has options only; see netflowd --help",
			  argv[optind]);
		return EXIT_USAGE + 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct arguments arguments = {.runtime_dir = RUNTIME_DIR};
	struct daemon *daemon = NULL;
	char error[512];
	int r;

	config_init(&arguments.config);
	r = parse(argc, argv, &arguments);
	if (r)
		return r - 1;
	if (privilege_check(error, sizeof(error)) < 0) {
		log_error("%s", error);
		return EXIT_FAILED;
	}
	r = daemon_new(&daemon, &arguments.config, arguments.runtime_dir);
	if (r == 0)
		r = daemon_run(daemon);
	daemon_free(&daemon);
	return r < 0 ? EXIT_FAILED : EXIT_FINE;
}
