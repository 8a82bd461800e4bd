/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of the log: their form, and the limit of each kind. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "tests/unit/test.h"

static int before, file;

/* Standard error goes to a file from now on. */
static void capture(void)
{
	char name[] = "/tmp/netflowd-log-XXXXXX";

	before = dup(STDERR_FILENO);
	file = mkstemp(name);
	assert_true(before >= 0 && file >= 0);
	unlink(name);
	dup2(file, STDERR_FILENO);
}

static char *captured(void)
{
	char *text = calloc(1, 1 << 20);

	dup2(before, STDERR_FILENO);
	close(before);
	assert_non_null(text);
	assert_true(pread(file, text, (1 << 20) - 1, 0) >= 0);
	close(file);
	return text;
}

static unsigned int count(const char *text, const char *word)
{
	unsigned int n = 0;

	for (; (text = strstr(text, word)); text += strlen(word))
		n++;
	return n;
}

TEST(test_form)
{
	char *text, stream[64];
	struct stat own;

	unsetenv("JOURNAL_STREAM");
	capture();
	errno = ENOSPC;
	log_warning("a warning of %d", 7);
	assert_int_equal(errno, ENOSPC);
	/* The journal of another process, which this one inherited. */
	setenv("JOURNAL_STREAM", "1:2", 1);
	assert_false(log_is_journal());
	log_info("for the terminal");
	fstat(STDERR_FILENO, &own);
	snprintf(stream, sizeof(stream), "%lu:%lu", (unsigned long)own.st_dev,
		 (unsigned long)own.st_ino);
	setenv("JOURNAL_STREAM", stream, 1);
	assert_true(log_is_journal());
	log_error("for the journal");
	unsetenv("JOURNAL_STREAM");
	text = captured();
	assert_string_equal(
		text, "netflowd: a warning of 7\nnetflowd: for the terminal\n<3>for the journal\n");
	free(text);
}

TEST(test_limit_of_a_kind)
{
	char *text;

	capture();
	for (int i = 0; i < LOG_BURST + 50; i++)
		log_warning("flood %d", i);
	log_warning("another kind");
	usleep(1100000);
	log_warning("flood %d", -1);
	text = captured();
	assert_int_equal(count(text, "flood "), LOG_BURST + 1);
	assert_int_equal(count(text, "another kind"), 1);
	assert_int_equal(count(text, "lines like the next one were not logged"), 1);
	free(text);
}
