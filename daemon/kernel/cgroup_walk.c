/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/kernel/cgroup_walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"

/* The cost of one step, in entries of directories read.  Opening a directory costs DIRECTORY_COST. */
#define STEP_COST 1024
#define DIRECTORY_COST 16

struct level {
	DIR *dir;
	size_t path_len; /* of its path, without a trailing slash */
};

struct cgroup_walk {
	int root;
	unsigned int depth; /* open directories: the used part of levels[] */
	struct level levels[CGROUP_WALK_DEPTH_MAX];
	char path[PATH_MAX];
};

int cgroup_walk_new(struct cgroup_walk **walk, int root)
{
	struct cgroup_walk *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->root = root;
	*walk = w;
	return 0;
}

static void leave(struct cgroup_walk *walk)
{
	closedir(walk->levels[--walk->depth].dir);
}

void cgroup_walk_free(struct cgroup_walk **walk)
{
	if (!*walk)
		return;
	while ((*walk)->depth)
		leave(*walk);
	free(*walk);
	*walk = NULL;
}

/* libc has no function for openat2(2). */
static int open_below(int dir, const char *name)
{
	const struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH,
	};

	return (int)syscall(SYS_openat2, dir, name, &how, sizeof(how));
}

/* The id of a cgroup is the inode number of its directory (kernfs_ino() in linux/kernfs.h). */
static void enter(struct cgroup_walk *walk, int from, const char *name, size_t path_len,
		  cgroup_walk_visit visit, void *data)
{
	OWN_FD int fd = open_below(from, name);
	struct stat directory;
	DIR *dir;

	/* The directory may have been removed since its name was read. */
	if (fd < 0 || fstat(fd, &directory) < 0)
		return;
	visit(data, directory.st_ino, path_len ? walk->path : "/");
	if (walk->depth == CGROUP_WALK_DEPTH_MAX)
		return;
	dir = fdopendir(fd);
	if (!dir)
		return;
	(void)TAKE_FD(fd);
	walk->levels[walk->depth++] = (struct level){.dir = dir, .path_len = path_len};
}

static bool append(struct cgroup_walk *walk, const struct level *level, const char *name,
		   size_t *path_len)
{
	size_t len = strlen(name);

	if (level->path_len + 1 + len >= sizeof(walk->path))
		return false;
	walk->path[level->path_len] = '/';
	memcpy(walk->path + level->path_len + 1, name, len + 1);
	*path_len = level->path_len + 1 + len;
	return true;
}

int cgroup_walk_step(struct cgroup_walk *walk, cgroup_walk_visit visit, void *data)
{
	int cost = 0;

	if (!walk->depth) {
		walk->path[0] = '\0';
		enter(walk, walk->root, ".", 0, visit, data);
	}
	while (walk->depth && cost < STEP_COST) {
		const struct level *level = walk->levels + walk->depth - 1;
		struct dirent *file = readdir(level->dir);
		size_t path_len;

		cost++;
		if (!file) {
			leave(walk);
			continue;
		}
		if (file->d_type != DT_DIR || !strcmp(file->d_name, ".") ||
		    !strcmp(file->d_name, ".."))
			continue;
		if (!append(walk, level, file->d_name, &path_len))
			continue;
		cost += DIRECTORY_COST;
		enter(walk, dirfd(level->dir), file->d_name, path_len, visit, data);
	}
	return !walk->depth;
}
