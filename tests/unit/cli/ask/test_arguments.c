/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line: options, commands, and the errors of wrong ones. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/ask/arguments.h"
#include "cli/command/command.h"
#include "common/array.h"
#include "tests/unit/test.h"

#define WORDS_MAX 8

/* Parses the words, which end with NULL, as options of `command`, or as global options if it is NULL. */
static int parse(struct arguments *arguments, const struct command *command,
		 const char *const *words, int *next, struct arguments_error *error)
{
	char *argv[WORDS_MAX + 1];
	int argc = 0;

	for (; words[argc]; argc++)
		argv[argc] = (char *)words[argc];
	*next = 0;
	arguments_init(arguments);
	return arguments_parse(arguments, command ? command->arguments : NULL,
			       command ? command->name : NULL, argc, argv, next, error);
}

TEST(test_defaults)
{
	static const char *const words[] = {NULL};
	struct arguments_error error;
	struct arguments arguments;
	int next;

	assert_int_equal(parse(&arguments, &command_drops, words, &next, &error), 0);
	assert_string_equal(arguments.socket, "/run/netflowd/io.netflowd");
	assert_int_equal(arguments.timeout_ms, 10000);
	assert_null(arguments.by);
	assert_int_equal(arguments.top, -1);
	assert_null(arguments.netns);
	assert_false(arguments.json);
}

TEST(test_values)
{
	static const char *const words[] = {"--by",	 "dev",	 "--top=5", "--json",
					    "--timeout", "0.25", "word",    NULL};
	struct arguments_error error;
	struct arguments arguments;
	int next;

	assert_int_equal(parse(&arguments, &command_drops, words, &next, &error), 0);
	assert_string_equal(arguments.by, "dev");
	assert_int_equal(arguments.top, 5);
	assert_true(arguments.json);
	assert_int_equal(arguments.timeout_ms, 250);
	assert_int_equal(next, 6);
}

TEST(test_durations)
{
	static const struct {
		const char *text;
		int64_t ns; /* -1: invalid */
	} cases[] = {
		{"5ms", 5000000},
		{"250us", 250000},
		{"250µs", 250000},
		{"1.5s", 1500000000},
		{"800ns", 800},
		{"0ns", 0},
		{"1min", 60000000000},
		{"5 ms", 5000000},
		{"5", -1},
		{"ms", -1},
		{"-5ms", -1},
		{"5m30s", 330000000000},
		{"2000000000s", -1},
		{"", -1},
		{".ms", -1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *const words[] = {"--over", cases[i].text, NULL};
		struct arguments_error error = {};
		struct arguments arguments;
		int next, ret = parse(&arguments, &command_slow, words, &next, &error);

		assert_int_equal(ret, cases[i].ns < 0 ? -EINVAL : 0);
		assert_int_equal(arguments.over_ns, cases[i].ns);
		assert_int_equal(!*error.s, !ret);
	}
}

TEST(test_seconds)
{
	static const struct {
		const char *text;
		int64_t ms;
	} cases[] = {{"1", 1000}, {"0.25", 250}, {"500ms", 500}, {"1.5s", 1500}, {"1h", 3600000}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *const words[] = {"--timeout", cases[i].text, NULL};
		struct arguments_error error;
		struct arguments arguments;
		int next;

		assert_int_equal(parse(&arguments, NULL, words, &next, &error), 0);
		assert_int_equal(arguments.timeout_ms, cases[i].ms);
	}
}

TEST(test_ends)
{
	static const char *const dashes[] = {"--json", "--", "--top", NULL};
	static const char *const dash[] = {"-", NULL};
	static const char *const help[] = {"-h", NULL};
	struct arguments_error error;
	struct arguments arguments;
	int next;

	assert_int_equal(parse(&arguments, NULL, dashes, &next, &error), 0);
	assert_int_equal(next, 2);
	assert_int_equal(parse(&arguments, NULL, dash, &next, &error), 0);
	assert_int_equal(next, 0);
	assert_int_equal(parse(&arguments, NULL, help, &next, &error), 0);
	assert_true(arguments.help);
}

TEST(test_refused)
{
	static const struct {
		const char *words[3];
		const char *error;
	} cases[] = {
		{{"--recrods"}, "unknown option --recrods of drops (did you mean --records?)"},
		{{"--jsn"}, "unknown option --jsn of drops (did you mean --json?)"},
		{{"--xyzzyxyzzy"}, "unknown option --xyzzyxyzzy of drops"},
		{{"--jso=1"}, "unknown option --jso=1 of drops (did you mean --json?)"},
		{{"-x"}, "unknown option -x of drops"},
		{{"-hx"}, "unknown option -hx of drops"},
		{{"--json=yes"}, "--json does not accept a value"},
		{{"--top"}, "--top needs a value: --top N"},
		{{"--dev="}, "--dev needs a value: --dev DEV"},
		{{"--top", "0"}, "--top must be a number from 1 to 1048576, not '0'"},
		{{"--top", "-1"}, "--top must be a number from 1 to 1048576, not '-1'"},
		{{"--top", "1x"}, "--top must be a number from 1 to 1048576, not '1x'"},
		{{"--top", ""}, "--top must be a number from 1 to 1048576, not ''"},
		{{"--top", "99999999999999999999"},
		 "--top must be a number from 1 to 1048576, not '99999999999999999999'"},
		{{"--timeout", "0"},
		 "--timeout must be a number of seconds from 0.001 to 3600, such as 0.5 or 500ms, not '0'"},
		{{"--timeout", "2h"},
		 "--timeout must be a number of seconds from 0.001 to 3600, such as 0.5 or 500ms, not '2h'"},
		{{"--timeout", "nan"},
		 "--timeout must be a number of seconds from 0.001 to 3600, such as 0.5 or 500ms, not 'nan'"},
		{{"--timeout", "."},
		 "--timeout must be a number of seconds from 0.001 to 3600, such as 0.5 or 500ms, not '.'"},
		{{"--by", "locaton"},
		 "--by must be reason, location, dev, proto, netns, cgroup or flow, or several with commas between, not 'locaton' (did you mean location?)"},
		{{"--by", "q"},
		 "--by must be reason, location, dev, proto, netns, cgroup or flow, or several with commas between, not 'q'"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct arguments_error error = {};
		struct arguments arguments;
		int next;

		assert_int_equal(parse(&arguments, &command_drops, cases[i].words, &next, &error),
				 -EINVAL);
		assert_string_equal(error.s, cases[i].error);
	}
}

/* Limits are named with their unit; a single word is named without "or". */
TEST(test_limits)
{
	static const struct {
		const struct command *command;
		const char *words[3];
		const char *error;
	} cases[] = {
		{&command_slow,
		 {"--over", "2h"},
		 "--over must be a duration from 0 to 1h with its unit, such as 250us, 5ms, 1.5s, 10min or 1h30m, not '2h'"},
		{&command_alerts,
		 {"--for", "0s"},
		 "--for must be a duration from 1ns to 365d with its unit, such as 250us, 5ms, 1.5s, 10min or 1h30m, not '0s'"},
		{&command_export,
		 {"--format", "pcap"},
		 "--format must be trace, json or ndjson, not 'pcap'"},
		{&command_top,
		 {"--interval", "0.05"},
		 "--interval must be a number of seconds from 0.1 to 3600, such as 0.5 or 500ms, not '0.05'"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct arguments_error error = {};
		struct arguments arguments;
		int next;

		assert_int_equal(parse(&arguments, cases[i].command, cases[i].words, &next, &error),
				 -EINVAL);
		assert_string_equal(error.s, cases[i].error);
	}
}

/* An option of any length ends the sentence, not the program. */
TEST(test_long)
{
	char word[5000] = "--";
	const char *const unknown[] = {word, NULL};
	const char *const value[] = {"--top", word, NULL};
	struct arguments_error error;
	struct arguments arguments;
	int next;

	memset(word + 2, 'a', sizeof(word) - 3);
	assert_int_equal(parse(&arguments, &command_drops, unknown, &next, &error), -EINVAL);
	assert_true(strlen(error.s) < sizeof(error.s));
	assert_int_equal(parse(&arguments, &command_drops, value, &next, &error), -EINVAL);
	assert_true(strlen(error.s) < sizeof(error.s));
}

TEST(test_commands)
{
	const char *nearest = NULL;

	assert_ptr_equal(command_find("drops", &nearest), &command_drops);
	assert_null(command_find("drop", &nearest));
	assert_string_equal(nearest, "drops");
	assert_null(command_find("latancy", &nearest));
	assert_string_equal(nearest, "latency");
	assert_null(command_find("xyzzyxyzzy", &nearest));
	assert_null(nearest);
	assert_null(command_find("", &nearest));
}

/* Runs the program with its output in /dev/null, so that it does not mix with the test's. */
static int run_quietly(int argc, char *const argv[])
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
	int status;

	assert_true(null >= 0 && out >= 0 && err >= 0);
	fflush(NULL);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	status = command_main(argc, argv);
	fflush(NULL);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	close(null);
	close(out);
	close(err);
	return status;
}

/* The exit status of the whole program, as far as it runs without a daemon. */
TEST(test_status)
{
	static const struct {
		const char *words[5];
		int status;
	} cases[] = {
		{{"netflowctl"}, REPORT_USAGE},
		{{"netflowctl", "sttus"}, REPORT_USAGE},
		{{"netflowctl", "status", "extra"}, REPORT_USAGE},
		{{"netflowctl", "--jsn", "status"}, REPORT_USAGE},
		{{"netflowctl", "drops", "--by", "x"}, REPORT_USAGE},
		{{"netflowctl", "drops", "--records", "--by=dev"}, REPORT_USAGE},
		{{"netflowctl", "drops", "--follow", "--top=1"}, REPORT_USAGE},
		{{"netflowctl", "drops", "--limit=1"}, REPORT_USAGE},
		{{"netflowctl", "top", "--json"}, REPORT_USAGE},
		{{"netflowctl", "help", "nothing"}, REPORT_USAGE},
		{{"netflowctl", "help", "drops", "latency"}, REPORT_USAGE},
		{{"netflowctl", "help", "drops"}, REPORT_FINE},
		{{"netflowctl", "drops", "--help"}, REPORT_FINE},
		{{"netflowctl", "--help"}, REPORT_FINE},
		{{"netflowctl", "version"}, REPORT_FINE},
		{{"netflowctl", "--socket", "/nonexistent/s", "status"}, REPORT_UNREACHABLE},
		{{"netflowctl", "top", "--socket=/nonexistent/s"}, REPORT_UNREACHABLE},
		{{"netflowctl", "drops", "--follow", "--socket=/nonexistent/s"},
		 REPORT_UNREACHABLE},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int argc = 0;

		while (argc < 5 && cases[i].words[argc])
			argc++;
		assert_int_equal(run_quietly(argc, (char *const *)cases[i].words), cases[i].status);
	}
}
