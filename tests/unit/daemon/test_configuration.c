/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files, drop-ins and the command line: which value wins, where it came from, and what is refused. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/array.h"
#include "daemon/configuration.h"
#include "tests/unit/test.h"

static char directory[] = "/tmp/netflowd-configuration-XXXXXX";
static char path[PATH_MAX], error[CONFIG_ERROR_MAX];
static const char *const main_file = path;

static int begin(void **state)
{
	(void)state;
	strcpy(directory + sizeof(directory) - 7, "XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof(path), "%s/main.conf", directory);
	return 0;
}

static int end(void **state)
{
	char command[PATH_MAX];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", directory);
	return system(command);
}

EACH_TEST(begin, end);

/* Write a file below the directory. */
static void put(const char *name, const char *text)
{
	char whole[PATH_MAX];
	FILE *file;

	snprintf(whole, sizeof(whole), "%s/%s", directory, name);
	file = fopen(whole, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void make_drop_ins(void)
{
	char whole[PATH_MAX + 8];

	snprintf(whole, sizeof(whole), "%s.d", path);
	assert_int_equal(mkdir(whole, 0755), 0);
}

static int read_all(struct configuration **configuration, const char *const *set, size_t sets)
{
	const struct configuration_arguments arguments = {
		.file = &main_file, .files = 1, .set = set, .sets = sets};

	return configuration_read(configuration, &arguments, error);
}

/* The printed line of a setting and the comment above it. */
static void check_printed(const struct configuration *configuration, const char *comment,
			  const char *line)
{
	char *text, wanted[2 * PATH_MAX];
	size_t size;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	configuration_print(configuration, to);
	fclose(to);
	snprintf(wanted, sizeof(wanted), "\n# %s\n%s\n", comment, line);
	if (!strstr(text, wanted))
		fail_msg("\"%s\" is not in:\n%s", wanted, text);
	free(text);
}

static void check_refused(int result, const char *place, const char *says)
{
	OWN_CONFIGURATION struct configuration *configuration = NULL;

	assert_int_equal(read_all(&configuration, NULL, 0), result);
	assert_null(configuration);
	if (!strstr(error, place) || !strstr(error, says))
		fail_msg("\"%s\" does not say \"%s\" and \"%s\"", error, place, says);
}

/* ---- sources ------------------------------------------------------------- */

TEST(test_later_sources_win)
{
	static const char *const set[] = {"records.recent=4"};
	OWN_CONFIGURATION struct configuration *configuration = NULL;
	const struct config *values;
	char comment[PATH_MAX + 32];

	put("main.conf", "# drops\n[records]\nrate = 1 ; few\nrecent = 1\n[drops]\nkeys = 1\n");
	make_drop_ins();
	put("main.conf.d/20-b.conf", "[records]\nrecent = 3\n");
	put("main.conf.d/10-a.conf", "\n[records]\nrate = 2\nrecent = 2\n");
	put("main.conf.d/notes.txt", "not a drop-in");
	put("main.conf.d/.30-c.conf", "not a drop-in");
	assert_int_equal(read_all(&configuration, set, 1), 0);
	values = configuration_values(configuration);
	assert_int_equal(values->backend.drop_keys, 1);
	assert_int_equal(values->backend.drop_rate, 2);
	assert_int_equal(values->records_recent, 4);
	assert_int_equal(configuration_files(configuration), 3);
	snprintf(comment, sizeof(comment), "%s:6", path);
	check_printed(configuration, comment, "keys = 1");
	snprintf(comment, sizeof(comment), "%s.d/10-a.conf:3", path);
	check_printed(configuration, comment, "rate = 2");
	check_printed(configuration, "--set", "recent = 4");
	check_printed(configuration, "default", "idle = 10");
}

/* The file that pauses netflowd is beside the first one. */
TEST(test_pause_file)
{
	OWN_CONFIGURATION struct configuration *configuration = NULL;
	char wanted[PATH_MAX], deep[400];
	const char *const files[] = {deep};
	const struct configuration_arguments arguments = {.file = files, .files = 1};

	put("main.conf", "");
	assert_int_equal(read_all(&configuration, NULL, 0), 0);
	snprintf(wanted, sizeof(wanted), "%.*s/pause", (int)(strrchr(main_file, '/') - main_file),
		 main_file);
	assert_string_equal(configuration_values(configuration)->pause_file, wanted);
	memset(deep, 'd', sizeof(deep));
	strcpy(deep + sizeof(deep) - 8, "/a.conf");
	configuration_free(&configuration);
	assert_int_equal(configuration_read(&configuration, &arguments, error), -ENAMETOOLONG);
}

/* What --print-config prints is a file with the same settings. */
TEST(test_printed_is_read)
{
	OWN_CONFIGURATION struct configuration *first = NULL;
	OWN_CONFIGURATION struct configuration *second = NULL;
	char *text;
	size_t size;
	FILE *to;

	put("main.conf", "[slots]\ndevices = eth0, eth1\nattach = kprobe\n[probes]\n"
			 "disable = napi_poll\n[latency]\nslow = 1500us\n");
	assert_int_equal(read_all(&first, NULL, 0), 0);
	to = open_memstream(&text, &size);
	assert_non_null(to);
	configuration_print(first, to);
	fclose(to);
	put("main.conf", text);
	free(text);
	assert_int_equal(read_all(&second, NULL, 0), 0);
	assert_memory_equal(configuration_values(first), configuration_values(second),
			    sizeof(struct config));
}

TEST(test_several_files)
{
	char other[PATH_MAX];
	const char *const files[] = {path, other};
	const struct configuration_arguments arguments = {.file = files, .files = 2};
	OWN_CONFIGURATION struct configuration *configuration = NULL;

	snprintf(other, sizeof(other), "%s/other.conf", directory);
	put("main.conf", "[records]\nrate = 1\n[drops]\nkeys = 1\n");
	put("other.conf", "[records]\nrate = 2\n");
	assert_int_equal(configuration_read(&configuration, &arguments, error), 0);
	assert_int_equal(configuration_values(configuration)->backend.drop_keys, 1);
	assert_int_equal(configuration_values(configuration)->backend.drop_rate, 2);
}

/* ---- refused ------------------------------------------------------------- */

TEST(test_refused)
{
	static const char *const set[] = {"drops.keys=0"};
	OWN_CONFIGURATION struct configuration *configuration = NULL;
	char long_line[1000] = "";

	check_refused(-ENOENT, path, "No such file");
	put("main.conf", "[records]\nrecent = 10\nrte = 5\n");
	check_refused(-EINVAL, "main.conf:3:",
		      "there is no setting records.rte (did you mean records.rate?)");
	put("main.conf", "[drops]\n\n\nkeys = none\n");
	check_refused(-EINVAL, "main.conf:4:", "drops.keys = none: must be a whole number");
	put("main.conf", "[drops]\nkeys\n");
	check_refused(-EINVAL, "main.conf:2:", "must be [section] or key = value");
	put("main.conf", "[drops\nkeys = 3\n");
	check_refused(-EINVAL, "main.conf:1:", "must be [section] or key = value");
	memset(long_line, 'x', sizeof(long_line) - 1);
	put("main.conf", long_line);
	check_refused(-EINVAL, "main.conf:1:", "the line has more than ");
	memcpy(long_line, "[drops]\nkeys = ", 15);
	put("main.conf", long_line);
	check_refused(-EINVAL, "main.conf:2:", "can be given with --set");
	put("main.conf", "keys = 3\n[drops]\n");
	check_refused(-EINVAL, "main.conf:1:", "keys is before the first [section]");
	put("main.conf", "");
	assert_int_equal(read_all(&configuration, set, 1), -EINVAL);
	assert_non_null(strstr(error, "drops.keys = 0"));
}

/* A broken drop-in is named, not the file before it. */
TEST(test_refused_drop_in)
{
	put("main.conf", "[drops]\nkeys = 10\n");
	make_drop_ins();
	put("main.conf.d/a.conf", "[drops]\nkeys = 11\n");
	put("main.conf.d/b.conf", "[drops]\nkeys = 11\n[slots]\nlimit = 1\n");
	check_refused(-EINVAL, "main.conf.d/b.conf:4:", "slots.limit = 1");
}

TEST(test_directory_as_file)
{
	assert_int_equal(mkdir(path, 0755), 0);
	check_refused(-EISDIR, path, "Is a directory");
}

/* A comment of any length, and settings that are indented as in other programs' files. */
TEST(test_long_comments_and_blanks)
{
	OWN_CONFIGURATION struct configuration *configuration = NULL;
	char text[4096] = "# ";

	memset(text + 2, 'x', 2000);
	strcat(text, " = y\n[drops]\n  keys = 10\n[records]\n\trate = 7\n  ; ");
	memset(text + strlen(text), 'z', 1000);
	strcat(text, "\n  recent = 8\nrtae = 1\n");
	put("main.conf", text);
	check_refused(-EINVAL, "main.conf:8:", "did you mean records.rate?");
	*strstr(text, "rtae") = '#';
	put("main.conf", text);
	assert_int_equal(read_all(&configuration, NULL, 0), 0);
	assert_int_equal(configuration_values(configuration)->backend.drop_keys, 10);
	assert_int_equal(configuration_values(configuration)->backend.drop_rate, 7);
	assert_int_equal(configuration_values(configuration)->records_recent, 8);
}
