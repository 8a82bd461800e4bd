/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/kernel/cgroup_paths.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "common/cleanup.h"
#include "common/time.h"
#include "daemon/kernel/cgroup_walk.h"

/* An id without a path, and a hierarchy that is not mounted, are looked for again after these times. */
#define MISS_NS TIME_NS_PER_SECOND
#define MOUNT_NS (10 * TIME_NS_PER_SECOND)
/* The shortest time from the beginning of one walk to the next, however many ids are looked up. */
#define WALK_NS (TIME_NS_PER_SECOND / 10)

/* FILEID_KERNFS in the kernel's include/linux/exportfs.h, 5.5 and later. */
#define FILEID_KERNFS 0xfe

/* The cache: sets of a few entries.  A new id replaces the least recently used entry of its set. */
#define WAYS 4
#define SETS (CGROUP_PATHS_MAX / WAYS)

struct entry {
	uint64_t id; /* 0: free */
	uint64_t used_ns;
	uint64_t asked_ns;  /* when the search for its path began */
	uint64_t missed_ns; /* when that search ended without a path; 0: it has not */
	char *path;
};

struct cgroup_paths {
	const char *mountinfo;
	uint64_t mount_ns; /* when the mount was last looked for; 0: never */
	int mount;	   /* the mounted directory; -1: none found */
	char mount_path[PATH_MAX];
	bool walking; /* the kernel does not open cgroups by id for this process */
	struct cgroup_walk *walk;
	uint64_t begun_ns;  /* when the last walk began; 0: never */
	uint64_t walked_ns; /* when the last complete walk began; 0: never */
	struct entry sets[SETS][WAYS];
};

/* ---- the mount ---------------------------------------------------------- */

static bool is_cgroup2(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC;
}

/* mountinfo escapes white space and backslashes as in "\040" (mangle_path() in fs/seq_file.c). */
static void unescape(char *text)
{
	char *to = text;

	for (char *from = text; *from; to++) {
		unsigned int byte;

		if (*from == '\\' && sscanf(from + 1, "%3o", &byte) == 1) {
			*to = (char)byte;
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

/* Open the mount that a line describes, if it is a cgroup2; -1 otherwise. */
static int open_line(char *line, bool *whole)
{
	char *separator = strstr(line, " - cgroup2 "), *root, *point, *save;
	OWN_FD int fd = -1;

	if (!separator)
		return -1;
	*separator = '\0';
	/* id, parent, device */
	strtok_r(line, " ", &save);
	strtok_r(NULL, " ", &save);
	strtok_r(NULL, " ", &save);
	root = strtok_r(NULL, " ", &save);
	point = strtok_r(NULL, " ", &save);
	if (!point)
		return -1;
	unescape(point);
	fd = open(point, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* Another file system may be mounted over it. */
	if (fd < 0 || !is_cgroup2(fd))
		return -1;
	*whole = strcmp(root, "/") == 0;
	return TAKE_FD(fd);
}

/* Open a mount of the whole hierarchy, or of a part of it if there is no other; -1: no mount. */
static int open_mount(const char *mountinfo)
{
	OWN_FILE FILE *file = mountinfo ? fopen(mountinfo, "re") : NULL;
	OWN_FREE char *line = NULL;
	OWN_FD int part = -1;
	size_t room = 0;

	while (file && getline(&line, &room, file) > 0) {
		bool whole = false;
		OWN_FD int fd = open_line(line, &whole);

		if (fd >= 0 && whole)
			return TAKE_FD(fd);
		if (fd >= 0 && part < 0)
			part = TAKE_FD(fd);
	}
	return TAKE_FD(part);
}

/* Write the path of an open file to a buffer of PATH_MAX bytes.  Returns 0 or a negative errno. */
static int path_of(int fd, char *path)
{
	char link[64];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, PATH_MAX);
	if (len < 0)
		return -errno;
	if (len == PATH_MAX)
		return -ENAMETOOLONG;
	path[len] = '\0';
	return 0;
}

static bool has_mount(struct cgroup_paths *paths, uint64_t now)
{
	if (paths->mount >= 0)
		return true;
	if (paths->mount_ns && now - paths->mount_ns < MOUNT_NS)
		return false;
	paths->mount_ns = now;
	paths->mount = open_mount(paths->mountinfo);
	if (paths->mount >= 0 && path_of(paths->mount, paths->mount_path) < 0) {
		close(paths->mount);
		paths->mount = -1;
	}
	return paths->mount >= 0;
}

/* ---- paths from the kernel ------------------------------------------------ */

/* -ESTALE: there is no such cgroup; -EPERM: the kernel does not open cgroups for this process. */
static int open_id(int mount, uint64_t id)
{
	struct {
		struct file_handle handle;
		unsigned char id[sizeof(id)];
	} file = {.handle = {.handle_bytes = sizeof(id), .handle_type = FILEID_KERNFS}};
	int fd;

	memcpy(file.handle.f_handle, &id, sizeof(id));
	fd = open_by_handle_at(mount, &file.handle, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	return errno == EPERM || errno == EACCES || errno == ENOSYS || errno == EOPNOTSUPP
		       ? -EPERM
		       : -ESTALE;
}

/* The part of `path` below the mount. */
static const char *below_mount(const struct cgroup_paths *paths, const char *path)
{
	size_t len = strlen(paths->mount_path);

	if (len == 1 || strncmp(path, paths->mount_path, len) != 0)
		return path; /* outside the mounted part: it begins at the hierarchy's root */
	if (!path[len])
		return "/";
	return path[len] == '/' ? path + len : path;
}

/* The kernel adds this to the path of a cgroup that was removed after it was opened. */
static void cut_deleted(char *path)
{
	static const char deleted[] = " (deleted)";
	size_t len = strlen(path);

	if (len > strlen(deleted) && strcmp(path + len - strlen(deleted), deleted) == 0 &&
	    access(path, F_OK) < 0)
		path[len - strlen(deleted)] = '\0';
}

/* The caller frees the path.  Errors are those of open_id(). */
static int path_by_handle(const struct cgroup_paths *paths, uint64_t id, char **path)
{
	OWN_FD int fd = open_id(paths->mount, id);
	char text[PATH_MAX], *copy;

	if (fd < 0)
		return fd;
	if (path_of(fd, text) < 0)
		return -ESTALE;
	cut_deleted(text);
	copy = strdup(below_mount(paths, text));
	if (!copy)
		return -ESTALE;
	*path = copy;
	return 0;
}

/* ---- the cache ---------------------------------------------------------- */

static struct entry *set_of(struct cgroup_paths *paths, uint64_t id)
{
	/* Fibonacci hashing, because ids are consecutive numbers. */
	return paths->sets[(id * 0x9e3779b97f4a7c15ULL >> 32) % SETS];
}

static struct entry *cached(struct cgroup_paths *paths, uint64_t id)
{
	struct entry *set = set_of(paths, id);

	for (size_t i = 0; i < WAYS; i++)
		if (set[i].id == id)
			return set + i;
	return NULL;
}

static struct entry *cache(struct cgroup_paths *paths, uint64_t id, uint64_t now)
{
	struct entry *set = set_of(paths, id), *oldest = set;

	for (size_t i = 1; i < WAYS; i++)
		if (set[i].used_ns < oldest->used_ns)
			oldest = set + i;
	free(oldest->path);
	*oldest = (struct entry){.id = id, .asked_ns = now};
	return oldest;
}

/* ---- paths from a walk ---------------------------------------------------- */

/* Only ids that are in the cache, because they were looked up, get their path. */
static void visit(void *data, uint64_t id, const char *path)
{
	struct entry *entry = cached(data, id);

	if (entry && !entry->path)
		entry->path = strdup(path);
}

/* Each look-up continues the walk, or begins one if there is none. */
static void walk_on(struct cgroup_paths *paths, uint64_t now)
{
	if (!paths->walk) {
		if (paths->begun_ns && now - paths->begun_ns < WALK_NS)
			return;
		if (cgroup_walk_new(&paths->walk, paths->mount) < 0)
			return;
		paths->begun_ns = now;
	}
	if (cgroup_walk_step(paths->walk, visit, paths)) {
		cgroup_walk_free(&paths->walk);
		paths->walked_ns = paths->begun_ns;
	}
}

static void search_by_walking(struct cgroup_paths *paths, struct entry *entry, uint64_t now)
{
	walk_on(paths, now);
	/* A walk that began before the look-up may have passed the cgroup already. */
	if (!entry->path && paths->walked_ns >= entry->asked_ns)
		entry->missed_ns = now;
}

/* ---- paths -------------------------------------------------------------- */

static void search(struct cgroup_paths *paths, struct entry *entry, uint64_t now)
{
	int r;

	if (entry->missed_ns) {
		entry->missed_ns = 0;
		entry->asked_ns = now;
	}
	if (!paths->walking) {
		r = path_by_handle(paths, entry->id, &entry->path);
		if (r == -ESTALE)
			entry->missed_ns = now;
		paths->walking = r == -EPERM;
	}
	if (paths->walking)
		search_by_walking(paths, entry, now);
}

int cgroup_paths_new(struct cgroup_paths **paths, const char *mountinfo)
{
	struct cgroup_paths *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->mountinfo = mountinfo;
	p->mount = -1;
	*paths = p;
	return 0;
}

void cgroup_paths_free(struct cgroup_paths **paths)
{
	struct cgroup_paths *p = *paths;

	if (!p)
		return;
	cgroup_walk_free(&p->walk);
	if (p->mount >= 0)
		close(p->mount);
	for (size_t i = 0; i < SETS; i++)
		for (size_t j = 0; j < WAYS; j++)
			free(p->sets[i][j].path);
	free(p);
	*paths = NULL;
}

const char *cgroup_paths_find(struct cgroup_paths *paths, uint64_t id, uint64_t now,
			      char path[static PATH_MAX])
{
	struct entry *entry;

	if (!id || !has_mount(paths, now))
		return NULL;
	entry = cached(paths, id);
	if (!entry)
		entry = cache(paths, id, now);
	entry->used_ns = now;
	if (!entry->path && (!entry->missed_ns || now - entry->missed_ns >= MISS_NS))
		search(paths, entry, now);
	if (!entry->path)
		return NULL;
	snprintf(path, PATH_MAX, "%s", entry->path);
	return path;
}
