/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line: options, commands, what wrong ones are answered with. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/ask/arguments.h"
#include "cli/command/command.h"
#include "common/array.h"

#define WORDS_MAX 8

/* Parse the words, NULL at the end, as options of `command` (NULL: only the global ones). */
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

static void test_defaults(void **state)
{
	static const char *const words[] = {NULL};
	struct arguments_error error;
	struct arguments arguments;
	int next;

	(void)state;
	assert_int_equal(parse(&arguments, &command_drops, words, &next, &error), 0);
	assert_string_equal(arguments.socket, "/run/netflowd/io.netflowd");
	assert_int_equal(arguments.timeout_ms, 10000);
	assert_null(arguments.by);
	assert_int_equal(arguments.top, -1);
	assert_null(arguments.netns);
	assert_false(arguments.json);
}

static void test_values(void **state)
{
	static const char *const words[] = {"--by",	 "dev",	 "--top=5", "--json",
					    "--timeout", "0.25", "word",    NULL};
	struct arguments_error error;
	struct arguments arguments;
	int next;

	(void)state;
	assert_int_equal(parse(&arguments, &command_drops, words, &next, &error), 0);
	assert_string_equal(arguments.by, "dev");
	assert_int_equal(arguments.top, 5);
	assert_true(arguments.json);
	assert_int_equal(arguments.timeout_ms, 250);
	assert_int_equal(next, 6);
}

static void test_durations(void **state)
{
	static const struct {
		const char *text;
		int64_t ns; /* -1: refused */
	} cases[] = {
		{"5ms", 5000000},    {"250us", 250000}, {"250µs", 250000},     {"1.5s", 1500000000},
		{"800ns", 800},	     {"0ns", 0},	{"1min", 60000000000}, {"5 ms", 5000000},
		{"5", -1},	     {"ms", -1},	{"-5ms", -1},	       {"5m", -1},
		{"2000000000s", -1}, {"", -1},		{".ms", -1},
	};

	(void)state;
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

static void test_ends(void **state)
{
	static const char *const dashes[] = {"--json", "--", "--top", NULL};
	static const char *const dash[] = {"-", NULL};
	static const char *const help[] = {"-h", NULL};
	struct arguments_error error;
	struct arguments arguments;
	int next;

	(void)state;
	assert_int_equal(parse(&arguments, NULL, dashes, &next, &error), 0);
	assert_int_equal(next, 2);
	assert_int_equal(parse(&arguments, NULL, dash, &next, &error), 0);
	assert_int_equal(next, 0);
	assert_int_equal(parse(&arguments, NULL, help, &next, &error), 0);
	assert_true(arguments.help);
}

static void test_refused(void **state)
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
		{{"--json=yes"}, "--json takes no value"},
		{{"--top"}, "--top needs a value: --top N"},
		{{"--dev="}, "--dev needs a value: --dev D"},
		{{"--top", "0"}, "--top takes a number from 1 to 1000000, not '0'"},
		{{"--top", "-1"}, "--top takes a number from 1 to 1000000, not '-1'"},
		{{"--top", "1x"}, "--top takes a number from 1 to 1000000, not '1x'"},
		{{"--top", ""}, "--top takes a number from 1 to 1000000, not ''"},
		{{"--top", "99999999999999999999"},
		 "--top takes a number from 1 to 1000000, not '99999999999999999999'"},
		{{"--timeout", "0"}, "--timeout takes seconds from 0.001 to 3600, not '0'"},
		{{"--timeout", "1e3"}, "--timeout takes seconds from 0.001 to 3600, not '1e3'"},
		{{"--timeout", "nan"}, "--timeout takes seconds from 0.001 to 3600, not 'nan'"},
		{{"--timeout", "."}, "--timeout takes seconds from 0.001 to 3600, not '.'"},
		{{"--by", "locaton"},
		 "--by knows no 'locaton' (did you mean location?); it takes reason, location, "
		 "dev, "
		 "proto, netns, flow"},
		{{"--by", "q"},
		 "--by knows no 'q'; it takes reason, location, dev, proto, netns, flow"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct arguments_error error = {};
		struct arguments arguments;
		int next;

		assert_int_equal(parse(&arguments, &command_drops, cases[i].words, &next, &error),
				 -EINVAL);
		assert_string_equal(error.s, cases[i].error);
	}
}

/* An option as long as anybody likes ends the sentence, not the program. */
static void test_long(void **state)
{
	char word[5000] = "--";
	const char *const unknown[] = {word, NULL};
	const char *const value[] = {"--top", word, NULL};
	struct arguments_error error;
	struct arguments arguments;
	int next;

	(void)state;
	memset(word + 2, 'a', sizeof(word) - 3);
	assert_int_equal(parse(&arguments, &command_drops, unknown, &next, &error), -EINVAL);
	assert_true(strlen(error.s) < sizeof(error.s));
	assert_int_equal(parse(&arguments, &command_drops, value, &next, &error), -EINVAL);
	assert_true(strlen(error.s) < sizeof(error.s));
}

static void test_commands(void **state)
{
	const char *nearest = NULL;

	(void)state;
	assert_ptr_equal(command_find("drops", &nearest), &command_drops);
	assert_null(command_find("drop", &nearest));
	assert_string_equal(nearest, "drops");
	assert_null(command_find("latancy", &nearest));
	assert_string_equal(nearest, "latency");
	assert_null(command_find("xyzzyxyzzy", &nearest));
	assert_null(nearest);
	assert_null(command_find("", &nearest));
}

/* Run it with its output out of the way of the test's own. */
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

/* The whole program, as far as it goes without a daemon. */
static void test_status(void **state)
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

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int argc = 0;

		while (argc < 5 && cases[i].words[argc])
			argc++;
		assert_int_equal(run_quietly(argc, (char *const *)cases[i].words), cases[i].status);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults), cmocka_unit_test(test_values),
		cmocka_unit_test(test_ends),	 cmocka_unit_test(test_durations),
		cmocka_unit_test(test_refused),	 cmocka_unit_test(test_long),
		cmocka_unit_test(test_commands), cmocka_unit_test(test_status),
	};

	return cmocka_run_group_tests_name("arguments", tests, NULL, NULL);
}
