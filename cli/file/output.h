/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file that a command writes besides, or instead of, the standard output. */
#ifndef CLI_FILE_OUTPUT_H
#define CLI_FILE_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "common/cleanup.h"

struct output {
	FILE *file; /* to be written to */
	char *path;
	char *temporary; /* NULL when it is written in place */
};

/*
 * Open `path` to be written, "-" being the standard output; its former content
 * is lost.  `whole`: under another name until output_close(), so that nobody
 * finds half a file.  0 or a negative errno.
 */
int output_open(struct output *output, const char *path, bool whole);

/* Write it out and give it its name.  0 or a negative errno, also of the writes before. */
int output_close(struct output *output);

/* Forget it; a file that was not closed and has a temporary name is removed.  Zeroes are none. */
void output_drop(struct output *output);
#define OWN_OUTPUT CLEANUP(output_drop)

#endif
