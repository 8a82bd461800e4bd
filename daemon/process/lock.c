/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/process/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"

static int make_directory(const char *directory, char *error, size_t size)
{
	int r;

	if (!mkdir(directory, 0755) || errno == EEXIST)
		return 0;
	r = -errno;
	snprintf(error, size, "cannot create the directory %s: %s", directory, strerror(-r));
	return r;
}

static void name_holder(int fd, const char *path, char *error, size_t size)
{
	char pid[32] = "";
	ssize_t n = pread(fd, pid, sizeof(pid) - 1, 0);

	if (n > 0)
		pid[strcspn(pid, "\n")] = '\0';
	snprintf(
		error, size,
		"another netflowd is running: process %s holds %s; query it with netflowctl, or stop it first",
		pid[0] ? pid : "(unknown)", path);
}

int lock_take(const char *directory, char *error, size_t size)
{
	char path[PATH_MAX];
	OWN_FD int fd = -1;
	int r = make_directory(directory, error, size);

	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "%s/lock", directory);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0) {
		r = -errno;
		snprintf(error, size, "cannot open %s: %s", path, strerror(-r));
		return r;
	}
	if (flock(fd, LOCK_EX | LOCK_NB)) {
		if (errno == EWOULDBLOCK) {
			name_holder(fd, path, error, size);
			return -EEXIST;
		}
		r = -errno;
		snprintf(error, size, "cannot lock %s: %s", path, strerror(-r));
		return r;
	}
	if (ftruncate(fd, 0) || dprintf(fd, "%d\n", (int)getpid()) < 0) {
		r = -errno;
		snprintf(error, size, "cannot write %s: %s", path, strerror(-r));
		return r;
	}
	return TAKE_FD(fd);
}
