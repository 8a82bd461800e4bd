/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/export/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"

static int write_all(int fd, const char *bytes, size_t length)
{
	while (length) {
		ssize_t written = write(fd, bytes, length);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -errno;
		bytes += written;
		length -= (size_t)written;
	}
	return 0;
}

/* Never through a link, or into a file that is there: the directory may belong to another user. */
static int make(const char *path, const char *bytes, size_t length)
{
	OWN_FD int fd = -1;
	int r;

	if (unlink(path) < 0 && errno != ENOENT)
		return -errno;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	r = write_all(fd, bytes, length);
	/* The mask of the daemon may be narrower. */
	if (r == 0 && fchmod(fd, 0644) < 0)
		r = -errno;
	if (r < 0)
		unlink(path);
	return r;
}

int file_replace(const char *path, const char *bytes, size_t length)
{
	char fresh[PATH_MAX + 8];
	int r;

	snprintf(fresh, sizeof(fresh), "%s.tmp", path);
	r = make(fresh, bytes, length);
	if (r == 0 && rename(fresh, path) < 0) {
		r = -errno;
		unlink(fresh);
	}
	return r;
}

/* ---- a file that grows ------------------------------------------------------------ */

/* Earlier files that are kept. */
#define FILES 4

static int name(char text[static PATH_MAX + 24], const char *path, unsigned int number)
{
	return number ? snprintf(text, PATH_MAX + 24, "%s.%u", path, number)
		      : snprintf(text, PATH_MAX + 24, "%s", path);
}

/* The last one goes, each other one takes the next number. */
static int rotate(const char *path)
{
	char from[PATH_MAX + 24], to[PATH_MAX + 24];

	for (unsigned int number = FILES; number > 0; number--) {
		name(from, path, number - 1);
		name(to, path, number);
		if (rename(from, to) < 0 && errno != ENOENT)
			return -errno;
	}
	return 0;
}

/* A file that is there keeps its mode, which the administrator may have changed. */
static int open_to_append(const char *path, off_t *length)
{
	const int flags = O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC;
	OWN_FD int fd = open(path, flags);
	struct stat found;

	if (fd < 0 && errno == ENOENT) {
		fd = open(path, flags | O_CREAT | O_EXCL, 0640);
		/* The mask of the daemon may be narrower. */
		if (fd >= 0 && fchmod(fd, 0640) < 0)
			return -errno;
	}
	if (fd < 0 || fstat(fd, &found) < 0)
		return -errno;
	if (!S_ISREG(found.st_mode))
		return -EINVAL;
	*length = found.st_size;
	return TAKE_FD(fd);
}

int file_append(const char *path, const char *bytes, size_t length, uint64_t most)
{
	OWN_FD int fd = -1;
	off_t before;
	int r;

	fd = open_to_append(path, &before);
	if (fd >= 0 && before && (uint64_t)before + length > most) {
		r = rotate(path);
		if (r < 0)
			return r;
		close(TAKE_FD(fd));
		fd = open_to_append(path, &before);
	}
	if (fd < 0)
		return fd;
	r = write_all(fd, bytes, length);
	/* A reader may have seen the begin of a line: it gets the whole line later. */
	if (r < 0 && ftruncate(fd, before) < 0)
		return r;
	return r;
}

/* ---- messages ---------------------------------------------------------------------- */

const char *file_remedy(int error)
{
	switch (-error) {
	case EROFS:
		return "a service can write only where its unit allows it: see the drop-in files.conf in netflowd(8)";
	case EACCES:
	case EPERM:
		return "make its directory writable for netflowd's user: see the drop-in files.conf in netflowd(8)";
	case ENOENT:
		return "make its directory; for a service, the drop-in files.conf does: see netflowd(8)";
	case ENOSPC:
	case EDQUOT:
		return "make room on its disk";
	default:
		return "netflowd tries again at the next interval";
	}
}
