/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file that a command writes in addition to the standard output, or instead of it. */
#ifndef CLI_FILE_OUTPUT_H
#define CLI_FILE_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "common/cleanup.h"

struct output {
	FILE *file; /* open for writing */
	char *path;
	char *temporary; /* the file's name until output_close(); NULL if it is written in place */
};

/*
 * Open `path`, or the standard output for "-".  With `whole`, a regular file gets its name only in output_close(), so
 * that no program finds half of it, and an older file stays until then.  Otherwise the file is truncated at once.
 * 0 or a negative errno.
 */
int output_open(struct output *output, const char *path, bool whole);

/*
 * Flush the file, sync and rename it if it has a temporary name, and close it.  0 or a negative errno, also of earlier
 * writes.
 */
int output_close(struct output *output);

/* Close the file and remove it if it still has a temporary name.  Does nothing with a zeroed struct. */
void output_drop(struct output *output);
#define OWN_OUTPUT CLEANUP(output_drop)

#endif
