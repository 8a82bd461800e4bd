/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/process/unix_socket.h"

#include <errno.h>
#include <grp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static int remove_stale(const char *path)
{
	struct stat found;

	if (lstat(path, &found) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(found.st_mode))
		return -EEXIST;
	return unlink(path) < 0 ? -errno : 0;
}

int unix_socket_bind(struct unix_socket *file, int fd, const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct stat made;
	mode_t mask;
	int r;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	strcpy(address.sun_path, path);
	r = remove_stale(path);
	if (r < 0)
		return r;
	mask = umask(0177);
	r = bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
	umask(mask);
	if (r < 0)
		return r;
	if (lstat(path, &made) < 0)
		return -errno;
	strcpy(file->path, path);
	file->device = made.st_dev;
	file->inode = made.st_ino;
	file->bound = true;
	return 0;
}

/*
 * First the group, then the mode, so that no other group has access in between.  A process of that group makes a socket
 * of that group, and may lack the right to change it.
 */
int unix_socket_share(const struct unix_socket *file, const char *name)
{
	const struct group *group = name ? getgrnam(name) : NULL;
	struct stat made;

	if (!group)
		return 0;
	if (lstat(file->path, &made) < 0 ||
	    (made.st_gid != group->gr_gid && lchown(file->path, (uid_t)-1, group->gr_gid) < 0))
		return -errno;
	return chmod(file->path, 0660) < 0 ? -errno : 0;
}

void unix_socket_remove(struct unix_socket *file)
{
	struct stat found;

	if (file->bound && lstat(file->path, &found) == 0 && found.st_dev == file->device &&
	    found.st_ino == file->inode)
		unlink(file->path);
	file->bound = false;
}
