/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/kernel/netns_scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "common/array.h"
#include "common/cleanup.h"

/* ---- cgroups --------------------------------------------------------------- */

/* The kernel adds this to the path of a cgroup that was removed (proc_cgroup_show()). */
static void cut_deleted(char *path)
{
	static const char deleted[] = " (deleted)";
	size_t len = strlen(path);

	if (len > strlen(deleted) && !strcmp(path + len - strlen(deleted), deleted))
		path[len - strlen(deleted)] = '\0';
}

/* The path in the cgroup2 hierarchy, also on a hybrid host, which has others too.  The caller frees it; NULL: none. */
static char *read_cgroup(int process)
{
	OWN_FD int fd = openat(process, "cgroup", O_RDONLY | O_CLOEXEC);
	OWN_FILE FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	OWN_FREE char *line = NULL;
	size_t room = 0;

	if (!file)
		return NULL;
	(void)TAKE_FD(fd);
	while (getline(&line, &room, file) > 0) {
		if (strncmp(line, "0::/", strlen("0::/")) != 0)
			continue;
		line[strcspn(line, "\n")] = '\0';
		cut_deleted(line);
		return strdup(line + strlen("0::"));
	}
	return NULL;
}

/* Shorten a path to the part that another one has in common with it, in whole names. */
static void keep_common(char *path, const char *other)
{
	size_t same = 0, i = 0;

	for (; path[i] && path[i] == other[i]; i++)
		if (path[i] == '/')
			same = i;
	if ((!path[i] || path[i] == '/') && (!other[i] || other[i] == '/'))
		same = i;
	path[same ? same : 1] = '\0';
}

/* ---- processes --------------------------------------------------------------- */

static int open_process(int proc, const char *name)
{
	return openat(proc, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* The cookie of the namespace of a process.  -ESTALE: the process has left it, or has ended. */
static int read_cookie(const struct netns_scan *scan, int process, uint32_t inode, uint64_t *cookie)
{
	OWN_FD int fd = openat(process, "ns/net", O_RDONLY | O_CLOEXEC);
	struct stat file;

	if (fd < 0 || fstat(fd, &file) < 0 || (uint32_t)file.st_ino != inode)
		return -ESTALE;
	return scan->cookie(fd, cookie);
}

/* The first process of a namespace. */
static int begin(const struct netns_scan *scan, struct netns_scan_target *target, int process)
{
	int r = read_cookie(scan, process, target->inode, &target->cookie);

	if (r == -ESTALE)
		return r;
	target->proven = r == 0;
	/* The kernel is too old, or this process may not enter namespaces: nothing is proven. */
	target->unsure = r < 0 && r != -ENOPROTOOPT && r != -EPERM;
	return 0;
}

static void add(const struct netns_scan *scan, struct netns_scan_target *target, int process,
		int pid)
{
	OWN_FREE char *path = NULL;

	if (!target->first) {
		if (begin(scan, target, process) < 0)
			return;
		target->first = pid;
	}
	target->last = pid;
	path = read_cgroup(process);
	/* A process that has ended since is in no cgroup. */
	if (path && target->path)
		keep_common(target->path, path);
	else if (path)
		target->path = TAKE_PTR(path);
}

static struct netns_scan_target *find(const struct netns_scan *scan, uint32_t inode)
{
	size_t i = LOWER_BOUND(target, scan->targets, scan->count, target->inode < inode);

	return i < scan->count && scan->targets[i].inode == inode ? &scan->targets[i] : NULL;
}

/* 1: seen; 0: it ended; -EACCES: hidden. */
static int visit(const struct netns_scan *scan, int proc, const char *name)
{
	OWN_FD int process = open_process(proc, name);
	struct netns_scan_target *target;
	struct stat file;

	if (process < 0)
		return 0;
	if (fstatat(process, "ns/net", &file, 0) < 0)
		return errno == EACCES || errno == EPERM ? -EACCES : 0;
	target = find(scan, (uint32_t)file.st_ino);
	if (target)
		add(scan, target, process, atoi(name));
	return 1;
}

/* ---- the walk ------------------------------------------------------------------ */

static bool has_cookie_still(const struct netns_scan *scan, const struct netns_scan_target *target,
			     int proc, int pid)
{
	OWN_FD int process = -1;
	uint64_t cookie;
	char name[16];

	snprintf(name, sizeof(name), "%d", pid);
	process = open_process(proc, name);
	return process >= 0 && read_cookie(scan, process, target->inode, &cookie) == 0 &&
	       cookie == target->cookie;
}

/* What the only process of a namespace shows is from one moment, and proven already. */
static void verify(const struct netns_scan *scan, int proc)
{
	for (size_t i = 0; i < scan->count; i++) {
		struct netns_scan_target *target = &scan->targets[i];

		if (target->proven && target->first != target->last &&
		    !has_cookie_still(scan, target, proc, target->first) &&
		    !has_cookie_still(scan, target, proc, target->last))
			target->unsure = true;
	}
}

static int walk(struct netns_scan *scan, DIR *dir)
{
	size_t seen = 0, hidden = 0;
	const struct dirent *file;

	while ((file = readdir(dir))) {
		int r;

		if (atomic_load(&scan->stop))
			return -ECANCELED;
		if (file->d_name[0] < '1' || file->d_name[0] > '9')
			continue;
		r = visit(scan, dirfd(dir), file->d_name);
		seen += r > 0;
		hidden += r < 0;
	}
	/* A security module may hide a few.  Without CAP_SYS_PTRACE all but the own ones are hidden. */
	if (hidden > seen)
		return -EACCES;
	verify(scan, dirfd(dir));
	return 0;
}

int netns_scan_run(struct netns_scan *scan)
{
	DIR *dir = opendir(scan->proc);
	int r;

	if (!dir)
		return -errno;
	r = walk(scan, dir);
	closedir(dir);
	return r;
}
