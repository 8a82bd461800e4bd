/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The thread that writes the history: what its status says of a file, from the first moment on. */
#include "daemon/history/writer.h"
#include "tests/unit/daemon/history/scratch.h"

#define BEGUN INT64_C(1795305600)

EACH_TEST(make_scratch, remove_scratch);

/* A daemon that has just started has written nothing yet: its history is as old as the file, not empty. */
TEST(test_status_shows_what_the_file_has)
{
	OWN_SERIES struct series *series = drops_of("NO_SOCKET");
	struct archive *archive = open_archive(&week);
	struct batch *batch = new_batch(BEGUN, BEGUN + 10);
	struct writer *writer = NULL;
	struct writer_status status;

	add_drops(batch, series, 4217);
	write_batch(archive, batch);
	archive_free(&archive);

	assert_int_equal(writer_new(&writer, scratch, &week), 0);
	assert_int_equal(writer_wait(writer, 0, UINT64_MAX), 0);
	writer_get_status(writer, &status);
	assert_int_equal(status.phase, WRITER_WRITING);
	assert_int_equal(status.written, 0);
	assert_int_equal(status.archive.oldest_us, BEGUN * US);
	assert_true(status.archive.file_bytes > 0);
	writer_free(&writer);
}

/* Of an empty one it says no time. */
TEST(test_a_new_file_has_no_beginning)
{
	struct writer *writer = NULL;
	struct writer_status status;

	assert_int_equal(writer_new(&writer, scratch, &week), 0);
	assert_int_equal(writer_wait(writer, 0, UINT64_MAX), 0);
	writer_get_status(writer, &status);
	assert_int_equal(status.phase, WRITER_WRITING);
	assert_int_equal(status.archive.oldest_us, 0);
	writer_free(&writer);
}
