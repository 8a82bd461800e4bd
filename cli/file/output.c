/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/file/output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_temporary(struct output *output)
{
	mode_t mask = umask(0);
	int fd;

	umask(mask);
	if (asprintf(&output->temporary, "%s.XXXXXX", output->path) < 0) {
		output->temporary = NULL;
		return -ENOMEM;
	}
	fd = mkostemp(output->temporary, O_CLOEXEC);
	if (fd < 0) {
		fd = -errno;
		free(output->temporary);
		output->temporary = NULL;
		return fd;
	}
	/* mkostemp() creates the file for its owner only; give it the mode of any other new file. */
	fchmod(fd, 0666 & ~mask);
	return fd;
}

/* Only a regular file may be replaced.  A device or a pipe must be written in place. */
static bool replaceable(const char *path)
{
	struct stat status;

	return stat(path, &status) || S_ISREG(status.st_mode);
}

int output_open(struct output *output, const char *path, bool whole)
{
	OWN_OUTPUT struct output new = {};
	int fd;

	if (!strcmp(path, "-")) {
		*output = (struct output){.file = stdout};
		return 0;
	}
	new.path = strdup(path);
	if (!new.path)
		return -ENOMEM;
	if (whole && replaceable(path)) {
		fd = open_temporary(&new);
	} else {
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
		fd = fd < 0 ? -errno : fd;
	}
	if (fd < 0)
		return fd;
	new.file = fdopen(fd, "w");
	if (!new.file) {
		close(fd);
		return -ENOMEM;
	}
	*output = new;
	new = (struct output){};
	return 0;
}

static int written(FILE *file, bool sync)
{
	errno = 0;
	if (fflush(file) || ferror(file))
		return errno ? -errno : -EIO;
	if (sync && fsync(fileno(file)))
		return -errno;
	return 0;
}

int output_close(struct output *output)
{
	int r = written(output->file, output->temporary);

	if (!r && output->temporary) {
		if (rename(output->temporary, output->path)) {
			r = -errno;
		} else {
			free(output->temporary);
			output->temporary = NULL;
		}
	}
	output_drop(output);
	return r;
}

void output_drop(struct output *output)
{
	if (output->file && output->file != stdout)
		fclose(output->file);
	if (output->temporary)
		unlink(output->temporary);
	free(output->temporary);
	free(output->path);
	*output = (struct output){};
}
